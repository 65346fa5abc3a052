package gemini_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/gemini"
)

// google is a token server and Vertex AI in one.
type google struct {
	*httptest.Server
	key    *rsa.PrivateKey
	asked  atomic.Int64 // for tokens
	life   int          // seconds of a token
	status int          // of the token server; 0 for 200
	last   chan *http.Request
	body   chan string
}

func startGoogle(t *testing.T) *google {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must.Succeed(t, err)
	g := &google{key: key, life: 3600, last: make(chan *http.Request, 100), body: make(chan string, 100)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			g.token(t, w, r)
			return
		}
		b, err := io.ReadAll(r.Body)
		must.Report(t, err)
		g.last <- r
		g.body <- string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Contains(r.URL.Path, "/anthropic/") {
			for _, e := range []string{
				`{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
			} {
				fmt.Fprintf(w, "data: %s\n\n", e)
			}
			return
		}
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", said(`{"text":"a"}`), done)
	}))
	t.Cleanup(g.Close)
	return g
}

// token gives a token for an assertion that the key has signed.
func (g *google) token(t *testing.T, w http.ResponseWriter, r *http.Request) {
	n := g.asked.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if g.status != 0 {
		w.WriteHeader(g.status)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
		return
	}
	switch r.FormValue("grant_type") {
	case "refresh_token":
		if r.FormValue("refresh_token") != "rt" || r.FormValue("client_id") != "ci" || r.FormValue("client_secret") != "cs" {
			t.Errorf("form %v", r.Form)
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		g.verify(t, r.FormValue("assertion"))
	default:
		t.Errorf("form %v", r.Form)
	}
	fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":%d,"token_type":"Bearer"}`, n, g.life)
}

func (g *google) verify(t *testing.T, assertion string) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Errorf("assertion %q", assertion)
		return
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	must.Report(t, err)
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	must.Report(t, rsa.VerifyPKCS1v15(&g.key.PublicKey, crypto.SHA256, sum[:], sig))
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	must.Report(t, err)
	var c struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	must.Report(t, json.Unmarshal(claims, &c))
	if c.Iss != "me@p.iam" || c.Scope != "https://www.googleapis.com/auth/cloud-platform" || c.Aud != g.URL+"/token" || c.Exp-c.Iat != 3600 {
		t.Errorf("claims %s", claims)
	}
}

// file writes a credentials file and returns its path.
func (g *google) file(t *testing.T, fields map[string]string) string {
	t.Helper()
	b, err := json.Marshal(fields)
	must.Succeed(t, err)
	path := filepath.Join(t.TempDir(), "key.json")
	must.Succeed(t, os.WriteFile(path, b, 0o600))
	return path
}

func (g *google) account(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(g.key)
	must.Succeed(t, err)
	return g.file(t, map[string]string{
		"type": "service_account", "project_id": "file-project", "client_email": "me@p.iam", "private_key_id": "kid", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
}

func environ(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

var hi = llm.Request{Messages: []event.Message{user("hi")}}

// TestServiceAccount checks that concurrent calls share one token.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	g := startGoogle(t)
	m, err := gemini.NewVertex(llm.Config{Model: "vertex_ai/gemini-2.5-pro", BaseURL: g.URL}, environ(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": g.account(t), "VERTEXAI_LOCATION": "europe-west4"}))
	must.Succeed(t, err)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := llm.Complete(t.Context(), m, hi, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := <-g.last
	if n := g.asked.Load(); n != 1 || r.Header.Get("Authorization") != "Bearer token-1" {
		t.Errorf("%d tokens, headers %v", n, r.Header)
	}
	if want := "/v1/projects/file-project/locations/europe-west4/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"; r.URL.String() != want {
		t.Errorf("URL %s, want %s", r.URL, want)
	}
	if strings.Contains(<-g.body, `"id"`) {
		t.Error("an id was sent")
	}
}

// TestExpiry checks that a token that is about to expire is renewed.
func TestExpiry(t *testing.T) {
	t.Parallel()
	g := startGoogle(t)
	g.life = 0
	path := g.file(t, map[string]string{"type": "authorized_user", "client_id": "ci", "client_secret": "cs", "refresh_token": "rt", "token_uri": g.URL + "/token", "quota_project_id": "q"})
	// A client that logs sees no exchange of tokens.
	watched := &http.Client{Transport: seeing(func(r *http.Request) {
		if r.URL.Path == "/token" {
			t.Error("a token was asked for with the client of the configuration")
		}
	})}
	m, err := gemini.NewVertex(llm.Config{Model: "vertex_ai/gemini-2.5-pro", BaseURL: g.URL, HTTPClient: watched}, environ(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path}))
	must.Succeed(t, err)
	for i := range 3 {
		if _, err := llm.Complete(t.Context(), m, hi, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := (<-g.last).Header.Get("Authorization"), fmt.Sprint("Bearer token-", i+1); got != want {
			t.Errorf("call %d: %s, want %s", i, got, want)
		}
	}
}

// seeing is a transport that shows each request.
type seeing func(*http.Request)

func (s seeing) RoundTrip(r *http.Request) (*http.Response, error) {
	s(r)
	return http.DefaultTransport.RoundTrip(r)
}

func TestNoToken(t *testing.T) {
	t.Parallel()
	g := startGoogle(t)
	account := g.account(t)
	for name, tt := range map[string]struct {
		env    map[string]string
		status int
		kind   fault.Kind
		retry  bool
		says   string
	}{
		"refused":       {map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": account}, 400, fault.Auth, false, "Invalid JWT Signature."},
		"in trouble":    {map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": account}, 503, fault.Unavailable, true, ""},
		"none":          {map[string]string{"VERTEXAI_PROJECT": "p", "HOME": t.TempDir(), "NO_GCE_CHECK": "true"}, 0, fault.Auth, false, "no Google Cloud credentials"},
		"no file":       {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}, 0, fault.Auth, false, "read the Google Cloud credentials"},
		"broken file":   {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "service_account", "private_key": "x"})}, 0, fault.Auth, false, "gave no credentials"},
		"another form":  {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "gdch_service_account"})}, 0, fault.Unsupported, false, "gdch_service_account"},
		"half a grant":  {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "authorized_user"})}, 0, fault.Auth, false, "gave no credentials"},
		"elliptic key":  {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"})}, 0, fault.Auth, false, "gave no credentials"},
		"host is gone":  {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "authorized_user", "client_id": "ci", "refresh_token": "rt", "token_uri": "http://no-such-host.invalid/token"})}, 0, fault.Unavailable, true, "cannot reach Google at no-such-host.invalid"},
		"no token host": {map[string]string{"VERTEXAI_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": g.file(t, map[string]string{"type": "authorized_user", "client_id": "ci", "refresh_token": "rt", "token_uri": "::"})}, 0, fault.Auth, false, "gave no credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			g.status = tt.status // the cases run one after another
			m, err := gemini.NewVertex(llm.Config{Model: "vertex_ai/gemini-2.5-pro", BaseURL: g.URL}, environ(tt.env))
			must.Succeed(t, err)
			_, err = llm.Complete(t.Context(), m, hi, nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Retryable != tt.retry || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("kind %s, %v", fault.KindOf(err), err)
			}
		})
	}
}

func TestVertexRequirements(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		kind fault.Kind
		hint string
	}{
		"project":     {map[string]string{"VERTEXAI_ACCESS_TOKEN": "t"}, fault.Invalid, "VERTEXAI_PROJECT"},
		"credentials": {nil, fault.Auth, "GOOGLE_APPLICATION_CREDENTIALS"},
		"location":    {map[string]string{"VERTEXAI_PROJECT": "p", "VERTEXAI_LOCATION": "x.example.com/"}, fault.Invalid, "VERTEXAI_LOCATION"},
	} {
		_, err := gemini.NewVertex(llm.Config{Model: "vertex_ai/gemini-2.5-pro"}, environ(tt.env))
		if fault.KindOf(err) != tt.kind || !strings.Contains(fault.HintOf(err), tt.hint) {
			t.Errorf("%s: %v, hint %q", name, err, fault.HintOf(err))
		}
	}
}

func newClaude(cfg llm.Config, env func(string) string) (llm.Model, error) {
	cfg, err := gemini.VertexClaude(cfg, env)
	if err != nil {
		return nil, err
	}
	return anthropic.New(cfg)
}

// TestVertexClaude checks a whole request.
func TestVertexClaude(t *testing.T) {
	t.Parallel()
	g := startGoogle(t)
	env := environ(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": g.account(t)})
	m, err := newClaude(llm.Config{Model: "vertex_ai/claude-sonnet-4-5@20250929", BaseURL: g.URL, Headers: map[string]string{"X-Extra": "1"}}, env)
	must.Succeed(t, err)
	if i := m.Info(); i.Provider != "vertex_ai" || !i.Price.Known || i.ContextWindow != 200_000 {
		t.Errorf("%+v", i)
	}
	r := hi
	r.MaxOutputTokens = 10
	resp, err := llm.Complete(t.Context(), m, r, nil)
	if err != nil || event.JoinText(resp.Message.Content) != "a" {
		t.Fatal(resp, err)
	}
	req := <-g.last
	if want := "/v1/projects/file-project/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"; req.URL.Path != want {
		t.Errorf("path %s, want %s", req.URL.Path, want)
	}
	if req.Header.Get("Authorization") != "Bearer token-1" || req.Header.Get("X-Api-Key") != "" || req.Header.Get("X-Extra") != "1" {
		t.Errorf("headers %v", req.Header)
	}
	want := `{"anthropic_version":"vertex-2023-10-16","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stream":true}`
	if diff := cmp.Diff(want, <-g.body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	g.status = 400
	user := g.file(t, map[string]string{"type": "authorized_user", "client_id": "ci", "client_secret": "cs", "refresh_token": "rt", "token_uri": g.URL + "/token", "quota_project_id": "q"})
	other, err := newClaude(llm.Config{Model: "vertex_ai/claude-sonnet-4-5", BaseURL: g.URL}, environ(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": user}))
	must.Succeed(t, err)
	if _, err := llm.Complete(t.Context(), other, r, nil); fault.KindOf(err) != fault.Auth {
		t.Errorf("without a token: %v", err)
	}
}
