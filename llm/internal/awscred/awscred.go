// Package awscred finds the credentials of Amazon's services where the AWS CLI
// does, and signs requests with them.
//
// # Usage
//
//	chain := awscred.Shared(os.Getenv)
//	c, err := chain.Get(ctx)
//	awscred.Sign(req, body, c, region, "bedrock", time.Now())
//
// # Where keys are looked for
//
// In the order of the AWS CLI
// (https://docs.aws.amazon.com/cli/latest/userguide/cli-chap-authentication.html):
// the environment; a role of the profile, assumed with the keys of another
// profile or source; a web identity token file, as EKS mounts it; IAM Identity
// Center (SSO); keys in the shared files; a credential_process; the container's
// credentials service of ECS and EKS; the metadata service of EC2, in its
// second version only.
//
// # Concurrency
//
// A Chain is safe for concurrent use and starts no goroutine. One call looks
// for credentials at a time; the others wait for its result.
//
// # Failure
//
// Errors are faults: Auth if credentials are missing or refused, Invalid for
// wrong settings, Unavailable if a service does not answer, and Unsupported for
// a method that needs a person. The error of a context that ended is returned
// unchanged. No error contains a secret.
package awscred

import (
	"context"
	"net/http"
	"time"

	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// Credentials sign requests. They format as "[redacted]".
type Credentials struct {
	ID, Secret, Session string
	// Expires is when the keys expire; zero if unknown.
	Expires time.Time
}

// String implements fmt.Stringer.
func (Credentials) String() string { return "[redacted]" }

// GoString implements fmt.GoStringer, so that %#v shows no secret.
func (c Credentials) GoString() string { return c.String() }

func (c Credentials) complete() bool { return c.ID != "" && c.Secret != "" }

// margin is how long a request may take to arrive.
const margin = 30 * time.Second

// Chain finds credentials and keeps those that expire until shortly before they
// do. Others are looked up with each call, so that a changed file takes effect
// at once.
type Chain struct {
	env func(string) string
	now func() time.Time
	// web reaches public services, direct the services of the machine itself.
	web, direct *http.Client
	cache       *tokencache.Cache[Credentials]
}

// Variables are the environment variables that a Chain reads.
var Variables = []string{
	"HOME", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
	"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
	"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ENDPOINT_URL",
	"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SSO", "AWS_ENDPOINT_URL_SSO_OIDC", givenRole, givenSession,
}

var chains tokencache.Shared[*Chain]

// Shared returns the chain of all callers with the same environment as now:
// credentials are fetched once for all models.
func Shared(env func(string) string) *Chain {
	frozen, key := tokencache.Snapshot(env, Variables)
	return chains.Get(key, func() *Chain { return New(frozen) })
}

// New returns a separate chain. env reads the environment, usually os.Getenv;
// New reads nothing.
func New(env func(string) string) *Chain {
	c := &Chain{env: env, now: time.Now, web: tokencache.NewClient(false), direct: tokencache.NewClient(true)}
	c.cache = tokencache.New(func(ctx context.Context) (Credentials, time.Time, error) {
		cr, err := c.resolve(ctx)
		return cr, cr.Expires, err
	}, func() time.Time { return c.now() })
	return c
}

// Get returns valid credentials.
func (c *Chain) Get(ctx context.Context) (Credentials, error) { return c.cache.Get(ctx) }
