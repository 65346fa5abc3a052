// Package awscred finds the keys that sign requests to Amazon's services,
// where users of the AWS CLI keep them, and signs requests with them.
//
// # Usage
//
//	chain := awscred.New(os.Getenv)
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
// for keys at a time; the others wait for what it finds.
//
// # Failure
//
// Errors are faults: Auth where keys are missing or were refused, Invalid where
// the settings are wrong, Unavailable where a service does not answer, and
// Unsupported for a way that needs a person. A context that ends gives its own
// error. No error holds a secret.
package awscred

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Credentials sign requests. Their text form does not show them.
type Credentials struct {
	ID, Secret, Session string
	// Expires is when the keys stop being good; zero if that is not said.
	Expires time.Time
}

// String implements fmt.Stringer.
func (Credentials) String() string { return "[redacted]" }

// GoString implements fmt.GoStringer, so that %#v shows no secret.
func (c Credentials) GoString() string { return c.String() }

func (c Credentials) complete() bool { return c.ID != "" && c.Secret != "" }

// Times of keys that expire.
const (
	refreshEarly = 5 * time.Minute  // before they expire
	refreshAgain = time.Minute      // after an attempt that failed while they are still good
	unsaidLife   = 15 * time.Minute // of the keys of a process that does not say
	margin       = 30 * time.Second // a request may travel this long
)

// Chain finds keys and keeps those that expire until shortly before they do.
// Keys that do not expire are looked for again with each call, so that a
// changed file counts at once.
type Chain struct {
	env func(string) string
	now func() time.Time
	// web reaches public services; direct does not use a proxy, because the
	// services of the machine itself are not behind it.
	web, direct *http.Client

	turn    chan struct{} // holds one item while nobody looks
	current Credentials   // owned by who holds the turn, as is again
	again   time.Time     // when to look for new ones
}

// New makes a chain. env reads the environment, usually os.Getenv. It reads
// nothing yet.
func New(env func(string) string) *Chain {
	c := &Chain{
		env: env, now: time.Now, turn: make(chan struct{}, 1),
		web: newClient(http.ProxyFromEnvironment), direct: newClient(nil),
	}
	c.turn <- struct{}{}
	return c
}

// newClient makes a client that follows no redirect, because its headers hold
// tokens, and keeps no connection, because it is used a few times a day.
func newClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: proxy, DisableKeepAlives: true, TLSHandshakeTimeout: connectTime,
			DialContext: (&net.Dialer{Timeout: connectTime}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       answerTime,
	}
}

// Get returns keys that are good for now.
func (c *Chain) Get(ctx context.Context) (Credentials, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return Credentials{}, context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	if c.current.complete() && c.now().Before(c.again) {
		return c.current, nil
	}
	fresh, err := c.resolve(ctx)
	now := c.now()
	if err != nil {
		if c.current.complete() && now.Before(c.current.Expires.Add(-margin)) {
			c.again = now.Add(refreshAgain)
			return c.current, nil
		}
		return Credentials{}, err
	}
	if fresh.Expires.IsZero() {
		c.current = Credentials{}
		return fresh, nil
	}
	life := fresh.Expires.Sub(now)
	c.current, c.again = fresh, fresh.Expires.Add(-min(refreshEarly, max(life/2, 0)))
	return fresh, nil
}
