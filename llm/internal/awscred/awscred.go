// Package awscred signs requests to Amazon's services with the credentials that Amazon's
// SDK finds where the AWS CLI does: the environment, profiles with keys, roles, IAM Identity
// Center or a credential_process, web identities as of EKS, containers, and EC2 instances.
//
// # Usage
//
//	chain := awscred.Shared(cfg.AWS)
//	err := chain.Sign(ctx, req, body, region, "bedrock", time.Now())
//
// # Concurrency
//
// A Chain is safe for concurrent use and starts no goroutine. One call looks for credentials
// at a time; the others wait for its result.
//
// # Failure
//
// Errors are faults: Auth if credentials are missing or refused, Unavailable if a service
// does not answer, and Unsupported for a method that needs a person. The error of a context
// that ended is returned unchanged. No error contains a secret.
package awscred

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/memo"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

const (
	answerTime      = 30 * time.Second // bounds a request for credentials
	processValidity = 15 * time.Minute // of the keys of a credential_process that does not say
)

// Chain finds credentials, and keeps expiring ones until shortly before they end. Others
// are looked up with each call, so that a changed file takes effect at once.
type Chain struct {
	given llm.AWS
	cache *tokencache.Cache[aws.Credentials]
}

var chains = memo.New[llm.AWS, *Chain](64)

// Shared returns the chain of all callers with the same settings: credentials are fetched
// once for all models. Settings override the environment
// (https://docs.litellm.ai/docs/providers/bedrock, "Authentication").
func Shared(given llm.AWS) *Chain {
	c, _ := chains.Get(given, func() (*Chain, error) { return newChain(given), nil }) // which cannot fail
	return c
}

func newChain(given llm.AWS) *Chain {
	c := &Chain{given: given}
	c.cache = tokencache.New(func(ctx context.Context) (aws.Credentials, time.Time, error) {
		cr, err := c.find(ctx)
		switch {
		case cr.CanExpire:
		case cr.Source == processcreds.ProviderName: // a program is not run for each call
			cr.Expires = time.Now().Add(processValidity)
		default:
			cr.Expires = time.Time{}
		}
		return cr, cr.Expires, c.explain(ctx, err)
	}, time.Now)
	return c
}

// Sign signs a request with Signature Version 4.
func (c *Chain) Sign(ctx context.Context, req *http.Request, body []byte, region, service string, at time.Time) error {
	cr, err := c.cache.Get(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, cr, req, hex.EncodeToString(sum[:]), service, region, at)
}

// find looks for credentials, and assumes the role of the settings with them.
func (c *Chain) find(ctx context.Context) (aws.Credentials, error) {
	session := "deft-" + strconv.FormatInt(time.Now().Unix(), 10)
	options := []func(*config.LoadOptions) error{
		config.WithRegion(c.given.Region), config.WithDefaultRegion("us-east-1"),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // callers try again
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(answerTime)),
		config.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = cmp.Or(o.RoleSessionName, session) }),
		config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = cmp.Or(o.RoleSessionName, session) }),
	}
	switch g := c.given; {
	case g.Profile != "" && g.Role == "":
		options = append(options, config.WithSharedConfigProfile(g.Profile))
	case g.AccessKeyID != "" || g.SecretAccessKey != "":
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(
			g.AccessKeyID.Reveal(), g.SecretAccessKey.Reveal(), g.SessionToken.Reveal())))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Credentials{}, err
	}
	for _, source := range cfg.ConfigSources {
		if shared, ok := source.(config.SharedConfig); ok && c.usesProfile() {
			if provider := fromProcess(cfg, &shared, session); provider != nil {
				cfg.Credentials = provider
			}
		}
	}
	if c.given.Role != "" && !c.identified() {
		cfg.Credentials = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), c.given.Role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = cmp.Or(c.given.SessionName, os.Getenv("AWS_ROLE_SESSION_NAME"), session)
		})
	}
	return cfg.Credentials.Retrieve(ctx)
}

// usesProfile reports whether the SDK looks into a profile, and not at keys or a web identity.
func (c *Chain) usesProfile() bool {
	if c.given.Profile != "" && c.given.Role == "" {
		return true
	}
	return c.given.AccessKeyID == "" && c.given.SecretAccessKey == "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") == ""
}

// identified reports whether the web identity of the environment is for the role of the
// settings already.
func (c *Chain) identified() bool {
	return c.given.AccessKeyID == "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" &&
		os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && os.Getenv("AWS_ROLE_ARN") == c.given.Role
}

// explain returns the fault for an error of the SDK.
func (c *Chain) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	profile := cmp.Or(c.given.Profile, os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"), "default")
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return fault.New(fault.Auth, `the AWS profile "`+profile+`" does not exist`).Hint("check AWS_PROFILE; `aws configure list-profiles` lists the profiles")
	}
	if _, ok := errors.AsType[config.AssumeRoleTokenProviderNotSetError](err); ok {
		return fault.New(fault.Unsupported, `the AWS profile "`+profile+`" requires a code of an MFA device`).
			Hint("export keys with: eval \"$(aws configure export-credentials --profile " + profile + " --format env)\"")
	}
	_, expired := errors.AsType[*ssocreds.InvalidTokenError](err)
	if expired || strings.Contains(err.Error(), "cached SSO token") { // of an sso-session, without a type
		return fault.New(fault.Auth, `the login for the AWS profile "`+profile+`" has expired`).Hint("run: aws sso login --profile " + profile)
	}
	if unavailable(err) {
		return fault.New(fault.Unavailable, "no AWS credentials: "+tokencache.Line(err.Error()))
	}
	return fault.New(fault.Auth, "there are no AWS credentials: "+tokencache.Line(err.Error())).
		Hint("set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; or run `aws configure` or `aws sso login`")
}

// unavailable reports whether the same question may be answered later. Most machines have no
// metadata service, so its silence means that there are no credentials.
func unavailable(err error) bool {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && op.ServiceID == "ec2imds" {
		return false
	}
	var res interface{ HTTPStatusCode() int }
	if errors.As(err, &res) && (res.HTTPStatusCode() >= 500 || res.HTTPStatusCode() == http.StatusTooManyRequests) {
		return true
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(api.ErrorCode(), "Throttl") {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}

// Region is the region of the environment or of the selected profile, or "". It makes no
// request.
func Region(ctx context.Context, given llm.AWS) string {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithSharedConfigProfile(given.Profile))
	if err != nil { // reported when credentials are looked up
		return ""
	}
	return CleanRegion(cfg.Region)
}

// CleanRegion returns a region that can be part of a host name, or "".
func CleanRegion(region string) string {
	region = strings.TrimSpace(region)
	if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	return region
}

// Domain is the domain of the services of a region.
func Domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}
