// Package googlecred finds the default credentials of Google Cloud, and
// exchanges them for access tokens
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
// A Source is safe for concurrent use and starts no goroutine. One call fetches
// a token at a time; the others wait for its result.
//
// # Failure
//
// Errors are faults: Auth if credentials are missing or refused, Unavailable if
// a service does not answer, Unsupported for an unknown kind of file. The error
// of a context that ended is returned unchanged. No error contains a secret.
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

// Scope is the scope of access tokens.
const Scope = "https://www.googleapis.com/auth/cloud-platform"

// google is the name of the token services in errors.
const google = "Google"

// hint is the next step if there are no credentials.
const hint = "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run `gcloud auth application-default login`, or set VERTEXAI_ACCESS_TOKEN"

// token is an access token and its expiry.
type token struct {
	value string
	until time.Time
}

// grant fetches a token.
type grant func(ctx context.Context) (token, error)

// Source provides access tokens.
type Source struct {
	// Project is the project in the credentials, or "".
	Project string
	// File is the credentials file; "" for the service account of the machine.
	File  string
	cache *tokencache.Cache[string]
}

// finder has the dependencies of grants.
type finder struct {
	env func(string) string
	now func() time.Time
	// web reaches public services, direct the services of the machine itself.
	web, direct *http.Client
	shared      bool // tokens
}

// variables are the environment variables that a grant reads.
var variables = append([]string{"GCE_METADATA_HOST", "NO_GCE_CHECK"}, awscred.Variables...)

var caches tokencache.Shared[*tokencache.Cache[string]]

// Find reads the credentials file, if there is one, without making a request.
// env reads the environment, usually os.Getenv. Callers with the same
// credentials share their tokens.
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
		return nil, fault.New(fault.Auth, "read the Google Cloud credentials").Because(err).Hint(hint)
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

// wellKnown is the path of gcloud's file.
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

// source returns a source of tokens of g. data is the file.
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

// Token returns a valid access token.
func (s *Source) Token(ctx context.Context) (string, error) { return s.cache.Get(ctx) }

func broken(path string) error {
	return fault.New(fault.Auth, "not a credentials file of Google Cloud: "+path).Hint(hint)
}

// post sends a form and reads the token of the answer (RFC 6749 section 5). The
// answer's message is part of the error.
func (f *finder) post(ctx context.Context, at string, form url.Values) (token, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil || req.URL.Host == "" {
		return token{}, fault.New(fault.Auth, "the Google Cloud credentials have no usable token_uri or token_url").Hint(hint)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := tokencache.Fetch(ctx, f.web, req, google)
	if err != nil {
		return token{}, err
	}
	return f.read(a, google)
}

// read returns the token of an answer.
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

// failure reads the error of an answer: a code in the token protocol, an object
// in Google's other protocols.
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

// machine fetches a token from the metadata server, which answers only on
// Google's machines (https://cloud.google.com/compute/docs/metadata/overview).
func (f *finder) machine(ctx context.Context) (token, error) {
	const service = "the metadata server of Google Cloud"
	missing := fault.New(fault.Auth, "there are no Google Cloud credentials: no file, and "+service+" does not answer").Hint(hint)
	if strings.EqualFold(f.env("NO_GCE_CHECK"), "true") {
		return token{}, missing
	}
	limited, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	at := "http://" + cmp.Or(f.env("GCE_METADATA_HOST"), metadataHost) + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(Scope)
	req, err := http.NewRequestWithContext(limited, http.MethodGet, at, nil)
	if err != nil {
		return token{}, fault.New(fault.Invalid, "GCE_METADATA_HOST is not a host")
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
		return token{}, fault.New(fault.Auth, "the machine has no Google Cloud service account").Hint(hint)
	}
	return f.read(a, service)
}

// The address of the metadata server: resolving a missing name may be slow.
const (
	metadataHost = "169.254.169.254"
	metadataTime = 3 * time.Second
)

// unsupported is the error of an unknown kind of credentials.
func unsupported(what string) error {
	return fault.New(fault.Unsupported, fmt.Sprintf("Google Cloud credentials of %s are not supported", what)).
		Hint("use a service account's key, or set VERTEXAI_ACCESS_TOKEN to what `gcloud auth print-access-token` prints")
}
