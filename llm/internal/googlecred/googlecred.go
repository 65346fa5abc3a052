// Package googlecred finds the default credentials of Google Cloud, and exchanges them for
// access tokens (https://cloud.google.com/docs/authentication/application-default-credentials).
//
// # Usage
//
//	src, err := googlecred.Find(os.Getenv)
//	token, err := src.Token(ctx)
//
// # What is found
//
// The file that GOOGLE_APPLICATION_CREDENTIALS names, else the one that
// `gcloud auth application-default login` writes, else the service account of the machine
// (Compute Engine, GKE, Cloud Run). golang.org/x/oauth2/google reads the file.
//
// # Concurrency
//
// A Source is safe for concurrent use and starts no goroutine. One call fetches a token at a
// time; the others wait for its result.
//
// # Failure
//
// Errors are faults: Auth if credentials are missing or refused, Unavailable if a service
// does not answer, Unsupported for an unknown kind of file. The error of a context that
// ended is returned unchanged. No error contains a secret.
package googlecred

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/memo"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// Scope is the scope of access tokens.
const Scope = "https://www.googleapis.com/auth/cloud-platform"

// answerTime bounds a request for a token.
const answerTime = 30 * time.Second

// hint is the next step if there are no credentials.
const hint = "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run `gcloud auth application-default login`, or set VERTEXAI_ACCESS_TOKEN"

// Source provides access tokens.
type Source struct {
	// Project is the project in the credentials, or "".
	Project string
	// File is the credentials file; "" for the service account of the machine.
	File  string
	cache *tokencache.Cache[string]
}

// caches have the tokens of each file's content and of each metadata server: callers with
// the same credentials share their tokens.
var caches = memo.New[[sha256.Size]byte, *tokencache.Cache[string]](64)

func shared(key string, fetch func(context.Context) (*oauth2.Token, error)) *tokencache.Cache[string] {
	c, _ := caches.Get(sha256.Sum256([]byte(key)), func() (*tokencache.Cache[string], error) { // which cannot fail
		return tokencache.New(func(ctx context.Context) (string, time.Time, error) {
			t, err := fetch(ctx)
			if err != nil {
				return "", time.Time{}, err
			}
			return t.AccessToken, t.Expiry, nil
		}, time.Now), nil
	})
	return c
}

// kinds are the kinds of files that are read.
var kinds = []google.CredentialsType{google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ImpersonatedServiceAccount}

// Find reads the credentials file, if there is one, without making a request. env reads the
// environment, usually os.Getenv.
func Find(env func(string) string) (*Source, error) {
	path, data, err := readFile(env)
	if err != nil {
		return nil, err
	}
	if data == nil {
		m := machine{cmp.Or(env("GCE_METADATA_HOST"), metadataHost), strings.EqualFold(env("NO_GCE_CHECK"), "true")}
		return &Source{cache: shared(fmt.Sprint("machine ", m), m.token)}, nil
	}
	f := file{data: data}
	var c struct {
		Type         google.CredentialsType `json:"type"`
		ProjectID    string                 `json:"project_id"`
		QuotaProject string                 `json:"quota_project_id"`
		Source       struct {
			Executable json.RawMessage `json:"executable"`
		} `json:"credential_source"`
	}
	broken := fault.New(fault.Auth, "not a credentials file of Google Cloud: "+path).Hint(hint) // the cause may quote a secret
	if json.Unmarshal(data, &c) != nil {
		return nil, broken
	}
	if !slices.Contains(kinds, c.Type) || c.Source.Executable != nil {
		return nil, fault.New(fault.Unsupported, fmt.Sprintf("Google Cloud credentials of type %q, or of a program, are not supported", c.Type)).
			Hint("use a service account's key, or set VERTEXAI_ACCESS_TOKEN to what `gcloud auth print-access-token` prints")
	}
	f.kind = c.Type
	if _, err := f.source(context.Background()); err != nil {
		return nil, broken
	}
	return &Source{Project: cmp.Or(c.ProjectID, c.QuotaProject), File: path, cache: shared(string(data), f.token)}, nil
}

// readFile reads the credentials file; data is nil if there is none.
func readFile(env func(string) string) (path string, data []byte, err error) {
	const name = "application_default_credentials.json"
	given := env("GOOGLE_APPLICATION_CREDENTIALS")
	switch dir, home := env("CLOUDSDK_CONFIG"), env("HOME"); {
	case given != "":
		path = given
	case dir != "":
		path = filepath.Join(dir, name)
	case home != "":
		path = filepath.Join(home, ".config", "gcloud", name)
	default:
		return "", nil, nil
	}
	data, err = os.ReadFile(path)
	switch {
	case err == nil:
		return path, data, nil
	case given == "" && errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	}
	return "", nil, fault.New(fault.Auth, "read the Google Cloud credentials").Because(err).Hint(hint)
}

// Token returns a valid access token.
func (s *Source) Token(ctx context.Context) (string, error) { return s.cache.Get(ctx) }

// file is the content of a credentials file.
type file struct {
	kind google.CredentialsType
	data []byte
}

func (f file) source(ctx context.Context) (oauth2.TokenSource, error) {
	c, err := google.CredentialsFromJSONWithType(ctx, f.data, f.kind, Scope)
	if err != nil {
		return nil, err
	}
	return c.TokenSource, nil
}

// token fetches a token.
func (f file) token(ctx context.Context) (*oauth2.Token, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	to := &transport{ctx: limited}
	source, err := f.source(context.WithValue(limited, oauth2.HTTPClient, client(to)))
	if err != nil {
		return nil, err
	}
	t, err := source.Token()
	switch {
	case err == nil && strings.ContainsAny(t.AccessToken, "\r\n"):
		return nil, fault.New(fault.Unavailable, "Google gave an answer without credentials")
	case err == nil:
		return t, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, to.explain(err)
}

// client makes a client that follows no redirect, because requests have secrets.
func client(to http.RoundTripper) *http.Client {
	return &http.Client{Transport: to, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// connection keeps no connection, because it is used a few times an hour, and reaches the
// services of the machine itself without a proxy.
var connection = &http.Transport{
	DisableKeepAlives: true, TLSHandshakeTimeout: 5 * time.Second, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
	Proxy: func(r *http.Request) (*url.URL, error) {
		if ip := net.ParseIP(r.URL.Hostname()); ip != nil && (ip.IsLinkLocalUnicast() || ip.IsLoopback()) {
			return nil, nil
		}
		return http.ProxyFromEnvironment(r)
	},
}

// transport ends requests with the context of a call, which x/oauth2 does not do for all,
// and remembers the last answer.
type transport struct {
	ctx    context.Context
	host   string
	status int
	failed error
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := connection.RoundTrip(r.WithContext(t.ctx))
	t.host, t.failed = r.URL.Host, err
	if err == nil {
		t.status = res.StatusCode
	}
	return res, err
}

// explain returns the fault for an error of a source. The text of other errors has the whole
// answer, which may quote a secret.
func (t *transport) explain(err error) error {
	if t.failed != nil {
		return fault.Wrap(t.failed, fault.Unavailable, "no credentials: cannot reach Google at "+t.host)
	}
	text := "Google gave no credentials"
	if t.status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", t.status)
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		var said struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		if json.Unmarshal(refused.Body, &said) == nil {
			text += ": " + tokencache.Line(said.Error+" "+said.Description)
		}
	}
	if t.status >= 500 || t.status == http.StatusTooManyRequests {
		return fault.New(fault.Unavailable, text)
	}
	return fault.New(fault.Auth, text).Hint(hint)
}
