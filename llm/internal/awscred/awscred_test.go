package awscred

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
)

// start is when all tests happen.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// amazon stands for all services: it answers by path and form, and keeps its
// requests.
type amazon struct {
	*httptest.Server
	home string
	mu   sync.Mutex
	seen []string
	// broken makes all answers a status.
	broken int
	life   time.Duration // of keys
}

func startAmazon(t *testing.T) *amazon {
	t.Helper()
	a := &amazon{home: t.TempDir(), life: time.Hour}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(t, w, r) }))
	t.Cleanup(a.Close)
	return a
}

// note keeps a line and says how many there are.
func (a *amazon) note(line string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, line)
	return len(a.seen)
}

func (a *amazon) set(broken int, life time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken, a.life = broken, life
}

func (a *amazon) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.seen
	a.seen = nil
	return out
}

func (a *amazon) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	a.mu.Lock()
	broken, life := a.broken, a.life
	a.mu.Unlock()
	until := start.Add(life).Format(time.RFC3339)
	if broken != 0 {
		a.note("broken")
		w.WriteHeader(broken)
		return
	}
	switch path := r.URL.Path; {
	case r.Method == "POST" && path == "/":
		a.sts(t, w, r, string(body), until)
	case path == "/federation/credentials":
		a.note("sso " + r.URL.RawQuery + " " + r.Header.Get("X-Amz-Sso_bearer_token"))
		fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"SSO","secretAccessKey":"s","sessionToken":"t","expiration":%d}}`, start.Add(life).UnixMilli())
	case path == "/token":
		a.note("oidc " + string(body))
		fmt.Fprint(w, `{"accessToken":"fresh","refreshToken":"next","expiresIn":3600}`)
	case path == "/pod":
		a.note("pod " + r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"AccessKeyId":"POD","SecretAccessKey":"s","Token":"t","Expiration":%q}`, until)
	case path == "/latest/api/token" && r.Method == "PUT" && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "21600":
		fmt.Fprint(w, "session")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
		w.WriteHeader(http.StatusUnauthorized)
	case path == "/latest/meta-data/iam/security-credentials/":
		fmt.Fprint(w, "the-role\n")
	case path == "/latest/meta-data/iam/security-credentials/the-role":
		a.note("instance")
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"EC2","SecretAccessKey":"s","Token":"t","Expiration":%q}`, until)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *amazon) sts(t *testing.T, w http.ResponseWriter, r *http.Request, body, until string) {
	if err := r.ParseForm(); err != nil {
		t.Error(err)
	}
	who := "unsigned"
	if auth := r.Header.Get("Authorization"); auth != "" {
		_, rest, _ := strings.Cut(auth, "Credential=")
		who, _, _ = strings.Cut(rest, "/")
		at, err := time.Parse(StampForm, r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		again := r.Clone(r.Context())
		again.Header.Del("Authorization")
		Sign(again, []byte(body), Credentials{ID: who, Secret: "s", Session: r.Header.Get("X-Amz-Security-Token")}, "us-east-1", "sts", at)
		if again.Header.Get("Authorization") != auth {
			t.Errorf("the signature does not fit: %s", auth)
		}
	}
	f := r.Form
	n := a.note(strings.Join(strings.Fields(fmt.Sprint(f.Get("Action"), " ", f.Get("RoleArn"), " by ", who, " ", f.Get("WebIdentityToken"), " ", f.Get("ExternalId"), " ", f.Get("DurationSeconds"), " ", f.Get("RoleSessionName"))), " "))
	if f.Get("RoleArn") == "arn:closed" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse xmlns="x"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not &quot;yours&quot;</Message></Error></ErrorResponse>`)
		return
	}
	fmt.Fprintf(w, `<R xmlns="x"><Result><Credentials><AccessKeyId>ROLE-%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>a&amp;b</SessionToken><Expiration>%s</Expiration></Credentials></Result></R>`, n, until)
}

func (a *amazon) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(a.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// chain is one whose services are all a's.
func (a *amazon) chain(pairs map[string]string) *Chain {
	all := map[string]string{"HOME": a.home, "AWS_ENDPOINT_URL": a.URL, "AWS_EC2_METADATA_DISABLED": "true"}
	maps.Copy(all, pairs)
	c := New(func(name string) string {
		if !slices.Contains(Variables, name) {
			panic(name + " is read, but not one of Variables")
		}
		return all[name]
	})
	c.now = func() time.Time { return start }
	return c
}

// config and keys are a user's files in ~/.aws; HOME in them is the test's.
var (
	//go:embed testdata/config
	config string
	//go:embed testdata/credentials
	keys string
)

func (a *amazon) files(t *testing.T) {
	t.Helper()
	a.write(t, ".aws/config", strings.ReplaceAll(config, "HOME", a.home))
	a.write(t, ".aws/credentials", keys)
	a.write(t, "jwt", "web-token\n")
	later := start.Add(time.Hour).Format(time.RFC3339)
	a.login(t, "corp", `{"accessToken":"corp-token","expiresAt":"`+later+`"}`)
	a.login(t, "https://old.example.com/start", `{"accessToken":"old-token","expiresAt":"2026-11-21T13:00:00UTC"}`)
	a.login(t, "stale", `{"accessToken":"stale","expiresAt":"2026-11-21T11:00:00Z","refreshToken":"r","clientId":"c","clientSecret":"x","registrationExpiresAt":"`+later+`","startUrl":"kept"}`)
	a.login(t, "away", `{"accessToken":"stale","expiresAt":"2026-11-21T11:00:00Z"}`)
}

// TestSources finds keys in each place.
func TestSources(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env   map[string]string
		id    string
		asked []string
	}{
		"environment":   {map[string]string{"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "s", "AWS_PROFILE": "role"}, "E", nil},
		"default":       {nil, "ID", nil},
		"profile":       {map[string]string{"AWS_PROFILE": "plain"}, "W", nil},
		"older name":    {map[string]string{"AWS_DEFAULT_PROFILE": "my own"}, "OWN", nil},
		"role":          {map[string]string{"AWS_PROFILE": "role"}, "ROLE-1", []string{"AssumeRole arn:one by W ext 900 me"}},
		"role of role":  {map[string]string{"AWS_PROFILE": "twice"}, "ROLE-2", []string{"AssumeRole arn:one by W ext 900 me", "AssumeRole arn:two by ROLE-1 deft-1795262400"}},
		"role of self":  {map[string]string{"AWS_PROFILE": "self"}, "ROLE-1", []string{"AssumeRole arn:self by SELF deft-1795262400"}},
		"role of pod":   {map[string]string{"AWS_PROFILE": "ecs", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod"}, "ROLE-2", []string{"pod ", "AssumeRole arn:ecs by POD deft-1795262400"}},
		"role of EC2":   {map[string]string{"AWS_PROFILE": "ec2", "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL"}, "ROLE-2", []string{"instance", "AssumeRole arn:ec2 by EC2 deft-1795262400"}},
		"EKS":           {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/jwt", "AWS_ROLE_ARN": "arn:pod", "AWS_ROLE_SESSION_NAME": "p"}, "ROLE-1", []string{"AssumeRoleWithWebIdentity arn:pod by unsigned web-token p"}},
		"EKS, profile":  {map[string]string{"AWS_PROFILE": "eks"}, "ROLE-1", []string{"AssumeRoleWithWebIdentity arn:eks by unsigned web-token deft-1795262400"}},
		"SSO":           {map[string]string{"AWS_PROFILE": "sso"}, "SSO", []string{"sso account_id=12&role_name=dev+ops corp-token"}},
		"SSO, older":    {map[string]string{"AWS_PROFILE": "old"}, "SSO", []string{"sso account_id=12&role_name=dev old-token"}},
		"SSO, renewed":  {map[string]string{"AWS_PROFILE": "stale"}, "SSO", []string{`oidc {"clientId":"c","clientSecret":"x","grantType":"refresh_token","refreshToken":"r"}`, "sso account_id=12&role_name=dev fresh"}},
		"container":     {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"}, "POD", []string{"pod secret"}},
		"pod's token":   {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "HOME/jwt"}, "POD", []string{"pod web-token"}},
		"EC2":           {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL/"}, "EC2", []string{"instance"}},
		"other STS URL": {map[string]string{"AWS_PROFILE": "self", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_STS": "URL"}, "ROLE-1", []string{"AssumeRole arn:self by SELF deft-1795262400"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAmazon(t)
			a.files(t)
			c := a.chain(a.filled(tt.env))
			got, err := c.Get(t.Context())
			if err != nil || got.ID != tt.id {
				t.Fatalf("%q, %v (%s)", got.ID, err, fault.HintOf(err))
			}
			if diff := cmp.Diff(tt.asked, a.asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if s := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(s, got.ID) {
				t.Errorf("the keys are shown: %s", s)
			}
		})
	}
}

// filled puts the server and the home into an environment.
func (a *amazon) filled(env map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range env {
		out[k] = strings.NewReplacer("URL", a.URL, "HOME", a.home).Replace(v)
	}
	return out
}

// TestFailures checks the errors of missing keys.
func TestFailures(t *testing.T) {
	t.Parallel()
	none := "/nonexistent"
	for name, tt := range map[string]struct {
		env        map[string]string
		broken     int
		kind       fault.Kind
		says, hint string
	}{
		"half":           {map[string]string{"AWS_ACCESS_KEY_ID": "E"}, 0, fault.Auth, "AWS_SECRET_ACCESS_KEY is not", "both"},
		"nothing":        {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONFIG_FILE": none}, 0, fault.Auth, `no keys in the environment, no profile "default" in the shared files, the metadata service of EC2 is switched off`, "aws sso login"},
		"no service":     {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"}, 0, fault.Auth, `the profile "default" has none, the metadata service of EC2 does not answer`, "AWS_PROFILE"},
		"no profile":     {map[string]string{"AWS_PROFILE": "nobody"}, 0, fault.Auth, `"nobody" does not exist`, "AWS_PROFILE"},
		"ring":           {map[string]string{"AWS_PROFILE": "ring"}, 0, fault.Invalid, "ring, gnir, ring", ""},
		"closed":         {map[string]string{"AWS_PROFILE": "closed"}, 0, fault.Auth, `HTTP 403, AccessDenied): not "yours"`, "arn:closed"},
		"busy":           {map[string]string{"AWS_PROFILE": "self"}, 503, fault.Unavailable, "AWS STS", ""},
		"unreached":      {map[string]string{"AWS_PROFILE": "self", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 0, fault.Unavailable, "cannot reach AWS STS at 127.0.0.1:1", ""},
		"no keys in env": {map[string]string{"AWS_PROFILE": "env"}, 0, fault.Auth, "no keys to assume its role", "credential_source"},
		"no source":      {map[string]string{"AWS_PROFILE": "odd"}, 0, fault.Invalid, "neither a source_profile", ""},
		"lost source":    {map[string]string{"AWS_PROFILE": "lost"}, 0, fault.Invalid, `"nobody"`, ""},
		"MFA":            {map[string]string{"AWS_PROFILE": "mfa"}, 0, fault.Unsupported, "MFA", "export-credentials --profile mfa"},
		"aws login":      {map[string]string{"AWS_PROFILE": "signin"}, 0, fault.Unsupported, "aws login", "credential_process"},
		"no SSO login":   {map[string]string{"AWS_PROFILE": "away"}, 0, fault.Auth, "has expired", "aws sso login --profile away"},
		"SSO is busy":    {map[string]string{"AWS_PROFILE": "stale"}, 500, fault.Unavailable, "OIDC", ""},
		"SSO refuses":    {map[string]string{"AWS_PROFILE": "sso"}, 401, fault.Auth, "HTTP 401", "aws sso login --profile sso"},
		"no role":        {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/jwt"}, 0, fault.Invalid, "no role", "AWS_ROLE_ARN"},
		"no token":       {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/nothing", "AWS_ROLE_ARN": "x"}, 0, fault.Auth, "web identity token", ""},
		"plain HTTP":     {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/x"}, 0, fault.Invalid, "without TLS", ""},
		"pod is gone":    {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/nothing"}, 0, fault.Auth, "HTTP 4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAmazon(t)
			a.files(t)
			a.set(tt.broken, time.Hour)
			_, err := a.chain(a.filled(tt.env)).Get(t.Context())
			if err == nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%s: %v; hint %q", fault.KindOf(err), err, fault.HintOf(err))
			}
		})
	}
}

// TestRefresh gets credentials concurrently, and again as time passes.
func TestRefresh(t *testing.T) {
	t.Parallel()
	a := startAmazon(t)
	a.files(t)
	c := a.chain(map[string]string{"AWS_PROFILE": "self"})
	get := func() string {
		got, err := c.Get(t.Context())
		if err != nil {
			t.Error(err)
		}
		return got.ID
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if id := get(); id != "ROLE-1" {
				t.Errorf("keys %s", id)
			}
		})
	}
	wg.Wait()
	at := func(passed time.Duration) { c.now = func() time.Time { return start.Add(passed) } }
	at(54 * time.Minute)
	if id := get(); id != "ROLE-1" || len(a.asked()) != 1 {
		t.Errorf("keys %s before it is time", id)
	}
	// The service is down while the old keys are still valid, and called again a
	// minute later.
	a.set(503, time.Hour)
	for _, m := range []int{56, 56, 58} {
		at(time.Duration(m) * time.Minute)
		if id := get(); id != "ROLE-1" {
			t.Errorf("keys %s while the service is away", id)
		}
	}
	if n := len(a.asked()); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
	at(time.Hour)
	if _, err := c.Get(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("with keys that have expired: %v", err)
	}
	a.set(0, 2*time.Hour)
	a.asked()
	if id := get(); id != "ROLE-1" {
		t.Errorf("new keys %s", id)
	}
	if got, err := c.Get(t.Context()); err != nil || !got.Expires.Equal(start.Add(2*time.Hour)) {
		t.Errorf("they expire at %v, %v", got.Expires, err)
	}
}

// TestCancel cancels a call that waits for another's result.
func TestCancel(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	}))
	defer srv.Close()
	defer close(release)
	a := startAmazon(t)
	a.files(t)
	c := a.chain(map[string]string{"AWS_PROFILE": "self", "AWS_ENDPOINT_URL": srv.URL})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the call that asks: %v", err)
		}
	})
	<-asked
	wg.Go(func() {
		if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the call that waits: %v", err)
		}
	})
	cancel()
	wg.Wait()
}

// TestShared checks that models with the same environment fetch credentials
// once.
func TestShared(t *testing.T) {
	t.Parallel()
	a := startAmazon(t)
	a.set(0, 2*time.Since(start).Abs()+time.Hour) // the clock is the real one
	a.files(t)
	env := map[string]string{"HOME": a.home, "AWS_ENDPOINT_URL": a.URL, "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "self"}
	read := func(name string) string { return env[name] }
	one, two := Shared(read), Shared(read)
	env["AWS_PROFILE"] = "plain"
	other := Shared(read)
	for _, c := range []*Chain{one, two} {
		if got, err := c.Get(t.Context()); err != nil || got.ID != "ROLE-1" {
			t.Errorf("%q, %v", got.ID, err)
		}
	}
	if got, err := other.Get(t.Context()); err != nil || got.ID != "W" {
		t.Errorf("another profile: %q, %v", got.ID, err)
	}
	if n := len(a.asked()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
