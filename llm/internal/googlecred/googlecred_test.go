package googlecred

import (
	"context"
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
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// signer is the key of the service account; making one takes long.
var signer = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := signer()
	must.Succeed(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must.Succeed(t, err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// cloud stands for all services, and keeps its requests.
type cloud struct {
	*httptest.Server
	dir  string
	mu   sync.Mutex
	seen []string
}

func startCloud(t *testing.T, status int) *cloud {
	t.Helper()
	c := &cloud{dir: t.TempDir()}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := c.describe(t, r)
		c.mu.Lock()
		c.seen = append(c.seen, line)
		n := len(c.seen)
		c.mu.Unlock()
		switch {
		case strings.HasPrefix(r.URL.Path, "/computeMetadata/"):
			if status != http.StatusTeapot { // another cloud's answer
				w.Header().Set("Metadata-Flavor", "Google")
			}
		case r.URL.Path == "/azure":
			fmt.Fprint(w, `{"access_token":"azure-token"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case status != http.StatusOK:
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"no,\n not you"}`)
		case strings.HasPrefix(r.URL.Path, "/act/"):
			fmt.Fprintf(w, `{"accessToken":"acting-%d","expireTime":%q}`, n, time.Now().Add(time.Hour).Format(time.RFC3339))
		default:
			fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600,"token_type":"Bearer"}`, n)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// describe describes a request in one line.
func (c *cloud) describe(t *testing.T, r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	must.Report(t, err)
	form, err := url.ParseQuery(string(body))
	if err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		form = nil
	}
	out := r.Method + " " + r.URL.Path
	for _, h := range []string{"Authorization", "Metadata-Flavor", "X-Extra"} {
		if v := r.Header.Get(h); v != "" {
			out += " " + h + "=" + v
		}
	}
	for _, name := range []string{"refresh_token", "client_id", "client_secret", "audience", "subject_token_type", "options"} {
		if v := form.Get(name); v != "" {
			out += " " + name + "=" + v
		}
	}
	if v := form.Get("assertion"); v != "" {
		out += " signed by " + issuer(t, v)
	}
	if v := form.Get("subject_token"); v != "" {
		out += " subject_token=" + v
	}
	if form == nil && len(body) > 0 {
		out += " " + string(body)
	}
	return out
}

// issuer checks an assertion and says whose it is.
func issuer(t *testing.T, assertion string) string {
	key, _ := newKey(t)
	parts := strings.Split(assertion, ".")
	sig, err := base64.RawURLEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 3 {
		t.Errorf("assertion %q: %v", assertion, err)
		return ""
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	must.Report(t, rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], sig))
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	must.Report(t, err)
	var c struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	if err := json.Unmarshal(claims, &c); err != nil || c.Scope != Scope || c.Exp-c.Iat != 3600 || !strings.HasSuffix(c.Aud, "/token") {
		t.Errorf("claims %s, %v", claims, err)
	}
	return c.Iss
}

func (c *cloud) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// write writes a file of a text in which $URL and $DIR stand for the server and
// the test's directory.
func (c *cloud) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, []byte(strings.NewReplacer("$URL", c.URL, "$DIR", c.dir).Replace(text)), 0o600))
	return path
}

// account is the file of a service account.
func account(t *testing.T) string {
	t.Helper()
	_, text := newKey(t)
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "file-project", "client_email": "me@p.iam", "private_key_id": "kid",
		"token_uri": "$URL/token", "private_key": text,
	})
	must.Succeed(t, err)
	return string(b)
}

const (
	user     = `{"type":"authorized_user","client_id":"ci","client_secret":"cs","refresh_token":"rt","token_uri":"$URL/token","quota_project_id":"q"}`
	external = `{"type":"external_account","audience":"//iam.googleapis.com/locations/global/workforcePools/p/providers/x","subject_token_type":"jwt","token_url":"$URL/sts","workforce_pool_user_project":"up","credential_source":%s}`
)

// TestSources gets a token of each kind of credentials.
func TestSources(t *testing.T) {
	t.Parallel()
	const sts = "POST /sts audience=//iam.googleapis.com/locations/global/workforcePools/p/providers/x subject_token_type=jwt options={\"userProject\":\"up\"} "
	const body = ` {"lifetime":"3600s","scope":["https://www.googleapis.com/auth/cloud-platform"]}`
	for name, tt := range map[string]struct {
		file, at, project, token string
		env                      map[string]string
		asked                    []string
	}{
		"account":     {account(t), "", "file-project", "token-1", nil, []string{"POST /token signed by me@p.iam"}},
		"user":        {user, "", "q", "token-1", nil, []string{"POST /token refresh_token=rt client_id=ci client_secret=cs"}},
		"gcloud":      {user, ".config/gcloud/application_default_credentials.json", "q", "token-1", map[string]string{"HOME": "$DIR"}, []string{"POST /token refresh_token=rt client_id=ci client_secret=cs"}},
		"gcloud's":    {user, "own/application_default_credentials.json", "q", "token-1", map[string]string{"HOME": "$DIR", "CLOUDSDK_CONFIG": "$DIR/own"}, []string{"POST /token refresh_token=rt client_id=ci client_secret=cs"}},
		"acting":      {`{"type":"impersonated_service_account","service_account_impersonation_url":"$URL/act/x","source_credentials":` + user + `}`, "", "", "acting-2", nil, []string{"POST /token refresh_token=rt client_id=ci client_secret=cs", "POST /act/x Authorization=Bearer token-1" + body}},
		"file":        {fmt.Sprintf(external, `{"file":"$DIR/jwt"}`), "", "", "token-1", nil, []string{sts + "subject_token=from a file"}},
		"JSON file":   {fmt.Sprintf(external, `{"file":"$DIR/json","format":{"type":"json","subject_token_field_name":"t"}}`), "", "", "token-1", nil, []string{sts + "subject_token=from JSON"}},
		"URL":         {fmt.Sprintf(external, `{"url":"$URL/azure","headers":{"X-Extra":"1"},"format":{"type":"json","subject_token_field_name":"access_token"}}`), "", "", "token-2", nil, []string{"GET /azure X-Extra=1", sts + "subject_token=azure-token"}},
		"file, acts":  {strings.TrimSuffix(fmt.Sprintf(external, `{"file":"$DIR/jwt"}`), "}") + `,"service_account_impersonation_url":"$URL/act/y"}`, "", "", "acting-2", nil, []string{sts + "subject_token=from a file", "POST /act/y Authorization=Bearer token-1" + body}},
		"the machine": {"", "", "", "token-1", map[string]string{"HOME": "$DIR", "GCE_METADATA_HOST": "HOST"}, []string{"GET /computeMetadata/v1/instance/service-accounts/default/token Metadata-Flavor=Google"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCloud(t, http.StatusOK)
			c.write(t, "jwt", "from a file\n")
			c.write(t, "json", `{"t":"from JSON"}`)
			env := map[string]string{}
			for k, v := range tt.env {
				env[k] = strings.NewReplacer("$DIR", c.dir, "HOST", strings.TrimPrefix(c.URL, "http://")).Replace(v)
			}
			switch {
			case tt.at != "":
				c.write(t, tt.at, tt.file)
			case tt.file != "":
				env["GOOGLE_APPLICATION_CREDENTIALS"] = c.write(t, "key.json", tt.file)
			}
			s, err := findIn(env)
			must.Succeed(t, err)
			for range 2 { // the second is the first
				if got, err := s.Token(t.Context()); err != nil || got != tt.token {
					t.Fatalf("token %q, %v", got, err)
				}
			}
			if s.Project != tt.project || (s.File != "") != (tt.file != "") {
				t.Errorf("project %q, file %q", s.Project, s.File)
			}
			if diff := cmp.Diff(tt.asked, c.asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// findIn looks for credentials in an environment.
func findIn(env map[string]string) (*Source, error) {
	return Find(func(name string) string { return env[name] })
}

// TestFailures checks the errors of missing tokens.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file   string
		env    map[string]string
		status int
		kind   fault.Kind
		says   string
	}{
		"refused":       {user, nil, 403, fault.Auth, "Google gave no credentials (HTTP 403): invalid_grant no, not you"},
		"busy":          {user, nil, 503, fault.Unavailable, "HTTP 503"},
		"not acting":    {`{"type":"impersonated_service_account","service_account_impersonation_url":"$URL/act/x","source_credentials":` + fmt.Sprintf(external, `{"file":"$DIR/jwt"}`) + `}`, nil, 403, fault.Auth, "HTTP 403"},
		"not JSON":      {"x", nil, 200, fault.Auth, "not a credentials file"},
		"unknown":       {`{"type":"gdch"}`, nil, 200, fault.Unsupported, `"gdch"`},
		"key":           {`{"type":"service_account","client_email":"x","private_key":"x"}`, nil, 200, fault.Auth, "gave no credentials"},
		"half":          {`{"type":"authorized_user"}`, nil, 200, fault.Auth, "gave no credentials"},
		"program":       {fmt.Sprintf(external, `{"executable":{"command":"x"}}`), nil, 200, fault.Unsupported, "program"},
		"no source":     {fmt.Sprintf(external, `{}`), nil, 200, fault.Auth, "gave no credentials"},
		"no token":      {fmt.Sprintf(external, `{"file":"$DIR/jwt","format":{"type":"json","subject_token_field_name":"x"}}`), nil, 200, fault.Auth, "gave no credentials"},
		"no file":       {fmt.Sprintf(external, `{"file":"$DIR/nothing"}`), nil, 200, fault.Auth, "gave no credentials"},
		"URL is busy":   {fmt.Sprintf(external, `{"url":"$URL/other"}`), nil, 500, fault.Unavailable, "HTTP 500"},
		"no host":       {`{"type":"authorized_user","client_id":"c","refresh_token":"r","token_uri":"::"}`, nil, 200, fault.Auth, "gave no credentials"},
		"unreached":     {`{"type":"authorized_user","client_id":"c","refresh_token":"r","token_uri":"http://127.0.0.1:1/"}`, nil, 200, fault.Unavailable, "127.0.0.1:1"},
		"no machine":    {"", map[string]string{"GCE_METADATA_HOST": "127.0.0.1:1"}, 200, fault.Auth, "does not answer"},
		"switched off":  {"", map[string]string{"NO_GCE_CHECK": "true"}, 200, fault.Auth, "no Google Cloud credentials"},
		"other cloud":   {"", map[string]string{"GCE_METADATA_HOST": "HOST"}, http.StatusTeapot, fault.Auth, "does not answer"},
		"no account":    {"", map[string]string{"GCE_METADATA_HOST": "HOST"}, 404, fault.Auth, "no Google Cloud service account"},
		"metadata busy": {"", map[string]string{"GCE_METADATA_HOST": "HOST"}, 503, fault.Unavailable, "metadata server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCloud(t, tt.status)
			c.write(t, "jwt", "x")
			env := map[string]string{"HOME": c.dir}
			for k, v := range tt.env {
				env[k] = strings.ReplaceAll(v, "HOST", strings.TrimPrefix(c.URL, "http://"))
			}
			if tt.file != "" {
				env["GOOGLE_APPLICATION_CREDENTIALS"] = c.write(t, "key.json", tt.file)
			}
			s, err := findIn(env)
			if err == nil {
				_, err = s.Token(t.Context())
			}
			if err == nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", fault.KindOf(err), err)
			}
			if fault.KindOf(err) == fault.Auth && fault.HintOf(err) == "" {
				t.Errorf("no hint for %v", err)
			}
		})
	}
}

// TestShared checks that models with the same file fetch a token once.
func TestShared(t *testing.T) {
	t.Parallel()
	c := startCloud(t, http.StatusOK)
	path := c.write(t, "key.json", user)
	env := func(name string) string { return map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path}[name] }
	for i, want := range []string{"token-1", "token-1", "token-2"} {
		if i == 2 {
			c.write(t, "key.json", strings.Replace(user, `"rt"`, `"rt2"`, 1))
		}
		s, err := Find(env)
		must.Succeed(t, err)
		if got, err := s.Token(t.Context()); err != nil || got != want {
			t.Errorf("%d: %q, %v, want %s", i, got, err, want)
		}
	}
}

// TestCancel ends a call whose service does not answer.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	s, err := findIn(map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(srv.URL, "http://")})
	must.Succeed(t, err)
	if _, err := s.Token(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRedirect checks that a redirect does not take a secret elsewhere.
func TestRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "key.json")
	must.Succeed(t, os.WriteFile(path, []byte(strings.ReplaceAll(user, "$URL", srv.URL)), 0o600))
	s, err := findIn(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path})
	must.Succeed(t, err)
	if _, err := s.Token(t.Context()); !fault.Is(err, fault.Auth) {
		t.Error(err)
	}
}

// FuzzFile feeds a credentials file: none makes it panic or shows a secret.
func FuzzFile(f *testing.F) {
	f.Add([]byte(user))
	f.Add([]byte(`{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}`))
	f.Add([]byte(`{"type":"impersonated_service_account","service_account_impersonation_url":"u","source_credentials":{"type":"external_account"}}`))
	dir := f.TempDir()
	path := filepath.Join(dir, "key.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		must.Succeed(t, os.WriteFile(path, data, 0o600))
		s, err := findIn(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path})
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
