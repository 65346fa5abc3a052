// Package googlecred finds the credentials of Google Cloud that programs use by
// default, and trades them for access tokens
// (https://cloud.google.com/docs/authentication/application-default-credentials).
//
// # Usage
//
//	src, err := googlecred.Find(os.Getenv)
//	token, err := src.Token(ctx)
//
// # What is found
//
// The file that GOOGLE_APPLICATION_CREDENTIALS names, else the one that
// `gcloud auth application-default login` writes, else the service account of
// the machine (Compute Engine, GKE, Cloud Run). A file holds the key of a
// service account, a user's login, a workload identity of another provider
// (from a file, a URL or AWS), or a service account to act as with one of
// these.
//
// # Concurrency
//
// A Source is safe for concurrent use and starts no goroutine. One call asks
// for a token at a time; the others wait for what it gets.
//
// # Failure
//
// Errors are faults: Auth where credentials are missing or were refused,
// Unavailable where a service does not answer, Unsupported for a kind of file
// that is not known. A context that ends gives its own error. No error holds a
// secret.
package googlecred

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/awscred"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// Scope is what tokens are asked for.
const Scope = "https://www.googleapis.com/auth/cloud-platform"

// google is the name of the token services in errors.
const google = "Google"

// hint is the way out where there are no credentials.
const hint = "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run `gcloud auth application-default login`, or set VERTEXAI_ACCESS_TOKEN"

// token is an access token and when it expires.
type token struct {
	value string
	until time.Time
}

// grant gets a token.
type grant func(ctx context.Context) (token, error)

// Source gives access tokens.
type Source struct {
	// Project is the project that the credentials name, or "".
	Project string
	// File is where they are from; "" for those of the machine.
	File  string
	cache *tokencache.Cache[string]
}

// finder holds what grants need.
type finder struct {
	env func(string) string
	now func() time.Time
	// web reaches public services, direct those of the machine itself.
	web, direct *http.Client
	shared      bool // tokens
}

// variables are those of the environment that a grant reads.
var variables = append([]string{"GCE_METADATA_HOST", "NO_GCE_CHECK"}, awscred.Variables...)

var caches tokencache.Shared[*tokencache.Cache[string]]

// Find reads the credentials file, if there is one, and makes no request. env
// reads the environment, usually os.Getenv. Those who find the same credentials
// share their tokens.
func Find(env func(string) string) (*Source, error) {
	f := newFinder(env)
	f.shared = true
	return f.find()
}

func newFinder(env func(string) string) *finder {
	return &finder{env: env, now: time.Now, web: tokencache.NewClient(false), direct: tokencache.NewClient(true)}
}

func (f *finder) find() (*Source, error) {
	path, given := f.env("GOOGLE_APPLICATION_CREDENTIALS"), true
	if path == "" {
		path, given = f.wellKnown(), false
	}
	if path == "" {
		return f.source(file{}, "", nil, f.machine), nil
	}
	data, err := tokencache.ReadFile(path)
	if !given && errors.Is(err, fs.ErrNotExist) {
		return f.source(file{}, "", nil, f.machine), nil
	}
	if err != nil {
		return nil, fault.New(fault.Auth, "read the credentials of Google Cloud").Because(err).Hint(hint)
	}
	var c file
	if json.Unmarshal(data, &c) != nil { // the cause may quote a secret
		return nil, broken(path)
	}
	g, err := f.grant(&c, path)
	if err != nil {
		return nil, err
	}
	return f.source(c, path, data, g), nil
}

// wellKnown is where gcloud keeps the file.
func (f *finder) wellKnown() string {
	const name = "application_default_credentials.json"
	if dir := f.env("CLOUDSDK_CONFIG"); dir != "" {
		return filepath.Join(dir, name)
	}
	if home := f.env("HOME"); home != "" {
		return filepath.Join(home, ".config", "gcloud", name)
	}
	return ""
}

// source makes what g gives tokens to. data is the file.
func (f *finder) source(c file, path string, data []byte, g grant) *Source {
	ask := func() *tokencache.Cache[string] {
		return tokencache.New(func(ctx context.Context) (string, time.Time, error) {
			t, err := g(ctx)
			return t.value, t.until, err
		}, f.now)
	}
	s := &Source{Project: cmp.Or(c.ProjectID, c.QuotaProject), File: path}
	if !f.shared {
		s.cache = ask()
		return s
	}
	frozen, key := tokencache.Snapshot(f.env, variables, string(data))
	f.env = frozen
	s.cache = caches.Get(key, ask)
	return s
}

// Token returns an access token that is good for now.
func (s *Source) Token(ctx context.Context) (string, error) { return s.cache.Get(ctx) }

func broken(path string) error {
	return fault.New(fault.Auth, "the credentials file of Google Cloud is not one: "+path).Hint(hint)
}

// post sends a form and reads the token of the answer (RFC 6749 section 5). The
// answer's own words explain a refusal.
func (f *finder) post(ctx context.Context, at string, form url.Values) (token, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil || req.URL.Host == "" {
		return token{}, fault.New(fault.Auth, "the credentials of Google Cloud name no usable token_uri or token_url").Hint(hint)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := tokencache.Fetch(ctx, f.web, req, google)
	if err != nil {
		return token{}, err
	}
	return f.read(a, google)
}

// read takes the token of an answer.
func (f *finder) read(a tokencache.Answer, service string) (token, error) {
	var said struct {
		AccessToken string          `json:"access_token"`
		ExpiresIn   float64         `json:"expires_in"` // seconds
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	err := json.Unmarshal(a.Body, &said)
	if a.Status != http.StatusOK {
		code, message := failure(said.Error)
		return token{}, a.Refused(service, code, cmp.Or(said.Description, message)).Hint(hint)
	}
	if err != nil || said.AccessToken == "" || strings.ContainsAny(said.AccessToken, "\r\n") {
		return token{}, tokencache.Malformed(service)
	}
	life := time.Duration(min(max(said.ExpiresIn, 0), 86_400)) * time.Second
	return token{said.AccessToken, f.now().Add(life)}, nil
}

// failure reads the error of an answer, which is a code in the protocol of
// tokens, and an object in Google's other ones.
func failure(raw json.RawMessage) (code, message string) {
	var object struct{ Status, Message string }
	if json.Unmarshal(raw, &code) == nil {
		return code, ""
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Status, object.Message
	}
	return "", ""
}

// machine asks the metadata server, which only answers on Google's machines
// (https://cloud.google.com/compute/docs/metadata/overview).
func (f *finder) machine(ctx context.Context) (token, error) {
	const service = "the metadata server of Google Cloud"
	missing := fault.New(fault.Auth, "there are no credentials of Google Cloud: no file, and "+service+" does not answer").Hint(hint)
	if strings.EqualFold(f.env("NO_GCE_CHECK"), "true") {
		return token{}, missing
	}
	limited, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	at := "http://" + cmp.Or(f.env("GCE_METADATA_HOST"), metadataHost) + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(Scope)
	req, err := http.NewRequestWithContext(limited, http.MethodGet, at, nil)
	if err != nil {
		return token{}, fault.New(fault.Invalid, "GCE_METADATA_HOST is no host")
	}
	req.Header.Set("Metadata-Flavor", google)
	a, err := tokencache.Fetch(ctx, f.direct, req, service)
	switch {
	case ctx.Err() != nil:
		return token{}, context.Cause(ctx)
	case err != nil:
		return token{}, missing.Because(err)
	case a.Header.Get("Metadata-Flavor") != google: // another cloud's machine
		return token{}, missing
	case a.Status == http.StatusNotFound:
		return token{}, fault.New(fault.Auth, "the machine has no service account of Google Cloud").Hint(hint)
	}
	return f.read(a, service)
}

// The metadata server is asked by its address: names may be slow to not resolve.
const (
	metadataHost = "169.254.169.254"
	metadataTime = 3 * time.Second
)

// unsupported is the error of a kind of credentials that is not known.
func unsupported(what string) error {
	return fault.New(fault.Unsupported, fmt.Sprintf("credentials of Google Cloud of %s are not supported", what)).
		Hint("use a service account's key, or set VERTEXAI_ACCESS_TOKEN to what `gcloud auth print-access-token` prints")
}
