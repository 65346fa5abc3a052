package awscred

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// start is when all tests happen.
var start = time.Now().UTC().Truncate(time.Second)

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
	must.Report(t, err)
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
		a.sts(t, w, r, until)
	case path == "/federation/credentials":
		a.note("sso " + r.URL.RawQuery + " " + r.Header.Get("X-Amz-Sso_bearer_token"))
		fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"SSO","secretAccessKey":"s","sessionToken":"t","expiration":%d}}`, start.Add(life).UnixMilli())
	case path == "/pod":
		a.note("pod " + r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"AccessKeyId":"POD","SecretAccessKey":"s","Token":"t","Expiration":%q}`, until)
	case path == "/latest/api/token" && r.Method == "PUT":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
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

func (a *amazon) sts(t *testing.T, w http.ResponseWriter, r *http.Request, until string) {
	must.Report(t, r.ParseForm())
	who := "unsigned"
	if auth := r.Header.Get("Authorization"); auth != "" {
		_, rest, _ := strings.Cut(auth, "Credential=")
		who, _, _ = strings.Cut(rest, "/")
	}
	f := r.Form
	n := a.note(strings.Join(strings.Fields(fmt.Sprint(f.Get("Action"), " ", f.Get("RoleArn"), " by ", who, " ", f.Get("WebIdentityToken"), " ", f.Get("ExternalId"), " ", f.Get("DurationSeconds"), " ", session.ReplaceAllString(f.Get("RoleSessionName"), "deft-now"))), " "))
	if f.Get("RoleArn") == "arn:closed" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse xmlns="x"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not &quot;yours&quot;</Message></Error></ErrorResponse>`)
		return
	}
	action := f.Get("Action")
	fmt.Fprintf(w, `<%sResponse xmlns="x"><%sResult><Credentials><AccessKeyId>ROLE-%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>a&amp;b</SessionToken><Expiration>%s</Expiration></Credentials></%sResult></%sResponse>`, action, action, n, until, action, action)
}

func (a *amazon) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(a.home, name)
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// session is the name that roles get.
var session = regexp.MustCompile(`^deft-[0-9]{10}$`)

// environment is the environment of a test, whose services are all a's.
func (a *amazon) environment(t *testing.T, pairs map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	all := map[string]string{
		"HOME": a.home, "AWS_CONFIG_FILE": "HOME/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "HOME/.aws/credentials",
		"AWS_ENDPOINT_URL_STS": a.URL, "AWS_ENDPOINT_URL_SSO": a.URL, "AWS_EC2_METADATA_DISABLED": "true",
	}
	maps.Copy(all, pairs)
	for name, v := range all {
		t.Setenv(name, strings.NewReplacer("URL", a.URL, "HOME", a.home).Replace(v))
	}
}

// login writes the same files as `aws sso login`.
func (a *amazon) login(t *testing.T, key, text string) {
	t.Helper()
	sum := sha1.Sum([]byte(key))
	a.write(t, filepath.Join(".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"), text)
}

// configFile and keys are a user's files in ~/.aws; HOME in them is the test's.
var (
	//go:embed testdata/config
	configFile string
	//go:embed testdata/credentials
	keys string
)

func (a *amazon) files(t *testing.T) {
	t.Helper()
	a.write(t, ".aws/config", strings.ReplaceAll(configFile, "HOME", a.home))
	a.write(t, ".aws/credentials", keys)
	a.write(t, "jwt", "web-token\n")
	later := start.Add(time.Hour).Format(time.RFC3339)
	a.login(t, "corp", `{"accessToken":"corp-token","expiresAt":"`+later+`"}`)
	a.login(t, "https://old.example.com/start", `{"accessToken":"old-token","expiresAt":"`+later+`"}`)
	a.login(t, "away", `{"accessToken":"stale","expiresAt":"2026-11-01T11:00:00Z"}`)
}

// TestSources finds keys in each place.
func TestSources(t *testing.T) {
	own := llm.AWS{AccessKeyID: "SELF", SecretAccessKey: "s", SessionToken: "own"}
	role := func(a llm.AWS, session string) llm.AWS { a.Role, a.SessionName = "arn:given", session; return a }
	env := map[string]string{"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "s"}
	const none = "/nonexistent"
	for name, tt := range map[string]struct {
		given llm.AWS
		env   map[string]string
		id    string
		asked []string
	}{
		"environment":      {llm.AWS{}, env, "E", nil},
		"default":          {llm.AWS{}, nil, "ID", nil},
		"profile":          {llm.AWS{}, map[string]string{"AWS_PROFILE": "plain"}, "W", nil},
		"role":             {llm.AWS{}, map[string]string{"AWS_PROFILE": "role"}, "ROLE-1", []string{"AssumeRole arn:one by W ext 900 me"}},
		"role of role":     {llm.AWS{}, map[string]string{"AWS_PROFILE": "twice"}, "ROLE-2", []string{"AssumeRole arn:one by W ext 900 me", "AssumeRole arn:two by ROLE-1 900 deft-now"}},
		"role of pod":      {llm.AWS{}, map[string]string{"AWS_PROFILE": "ecs", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod"}, "ROLE-2", []string{"pod ", "AssumeRole arn:ecs by POD 900 deft-now"}},
		"EKS":              {llm.AWS{}, map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/jwt", "AWS_ROLE_ARN": "arn:pod", "AWS_ROLE_SESSION_NAME": "p"}, "ROLE-1", []string{"AssumeRoleWithWebIdentity arn:pod by unsigned web-token p"}},
		"SSO":              {llm.AWS{}, map[string]string{"AWS_PROFILE": "sso"}, "SSO", []string{"sso account_id=12&role_name=dev+ops corp-token"}},
		"SSO, older":       {llm.AWS{}, map[string]string{"AWS_PROFILE": "old"}, "SSO", []string{"sso account_id=12&role_name=dev old-token"}},
		"container":        {llm.AWS{}, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret"}, "POD", []string{"pod secret"}},
		"EC2":              {llm.AWS{}, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL/"}, "EC2", []string{"instance"}},
		"a region":         {llm.AWS{Region: "eu-west-1"}, env, "E", nil},
		"given keys":       {own, env, "SELF", nil},
		"given profile":    {llm.AWS{Profile: "plain"}, env, "W", nil},
		"profile and keys": {llm.AWS{Profile: "plain", AccessKeyID: "SELF", SecretAccessKey: "s"}, env, "W", nil},
		"given role":       {role(own, "me"), env, "ROLE-1", []string{"AssumeRole arn:given by SELF 900 me"}},
		"role of others":   {role(llm.AWS{Profile: "plain"}, ""), env, "ROLE-1", []string{"AssumeRole arn:given by E 900 deft-now"}},
		"role that it is": {
			role(llm.AWS{}, ""), map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/jwt", "AWS_ROLE_ARN": "arn:given"},
			"ROLE-1", []string{"AssumeRoleWithWebIdentity arn:given by unsigned web-token deft-now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAmazon(t)
			a.files(t)
			a.environment(t, tt.env)
			got, err := newChain(tt.given).cache.Get(t.Context())
			if err != nil || got.AccessKeyID != tt.id {
				t.Fatalf("%q, %v (%s)", got.AccessKeyID, err, fault.HintOf(err))
			}
			if diff := cmp.Diff(tt.asked, a.asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailures checks the errors of missing keys.
func TestFailures(t *testing.T) {
	const none = "/nonexistent"
	for name, tt := range map[string]struct {
		env        map[string]string
		broken     int
		kind       fault.Kind
		says, hint string
	}{
		"nothing":      {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONFIG_FILE": none}, 0, fault.Auth, "no AWS credentials", "aws sso login"},
		"no service":   {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"}, 0, fault.Auth, "no AWS credentials", "AWS_PROFILE"},
		"no profile":   {map[string]string{"AWS_PROFILE": "nobody"}, 0, fault.Auth, `"nobody" does not exist`, "AWS_PROFILE"},
		"closed":       {map[string]string{"AWS_PROFILE": "closed"}, 0, fault.Auth, `not "yours"`, "aws configure"},
		"busy":         {map[string]string{"AWS_PROFILE": "role"}, 503, fault.Unavailable, "503", ""},
		"unreached":    {map[string]string{"AWS_PROFILE": "role", "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}, 0, fault.Unavailable, "127.0.0.1:1", ""},
		"MFA":          {map[string]string{"AWS_PROFILE": "mfa"}, 0, fault.Unsupported, "MFA", "export-credentials --profile mfa"},
		"no SSO login": {map[string]string{"AWS_PROFILE": "away"}, 0, fault.Auth, "has expired", "aws sso login --profile away"},
		"pod is busy":  {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/pod"}, 503, fault.Unavailable, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAmazon(t)
			a.files(t)
			a.set(tt.broken, time.Hour)
			a.environment(t, tt.env)
			_, err := newChain(llm.AWS{}).cache.Get(t.Context())
			if err == nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%s: %v; hint %q", fault.KindOf(err), err, fault.HintOf(err))
			}
		})
	}
}

// TestKept fetches keys that expire once for all callers with the same settings, and reads
// those of a file each time.
func TestKept(t *testing.T) {
	a := startAmazon(t)
	a.files(t)
	a.environment(t, map[string]string{"AWS_PROFILE": "role"})
	one := Shared(llm.AWS{Region: "eu-north-1"})
	if Shared(llm.AWS{Region: "eu-north-1"}) != one || Shared(llm.AWS{AccessKeyID: "a"}) == Shared(llm.AWS{AccessKeyID: "b"}) {
		t.Error("callers with the same settings share nothing, or others do")
	}
	for range 2 {
		if got, err := one.cache.Get(t.Context()); err != nil || got.AccessKeyID != "ROLE-1" {
			t.Errorf("%q, %v", got.AccessKeyID, err)
		}
	}
	plain := newChain(llm.AWS{Profile: "plain"})
	for _, id := range []string{"W", "X"} {
		a.write(t, ".aws/credentials", strings.Replace(keys, "=W", "="+id, 1))
		if got, err := plain.cache.Get(t.Context()); err != nil || got.AccessKeyID != id {
			t.Errorf("%q, want %s, %v", got.AccessKeyID, id, err)
		}
	}
}

// TestProcess runs a script as credential_process, for its keys and for a role's: it gets no
// keys of language models.
func TestProcess(t *testing.T) {
	a := startAmazon(t)
	script := a.write(t, "give keys", `[ -z "$LLM_API_KEY$OPENAI_API_KEY" ] && [ "$KEPT" = yes ] && echo run >>"$0.runs" && echo '{"Version":1,"AccessKeyId":"P","SecretAccessKey":"s"}'`+"\n")
	a.write(t, ".aws/config", "[profile helper]\ncredential_process = /bin/sh '"+script+"'\n[profile far]\nrole_arn = arn:far\nsource_profile = helper\nexternal_id = ext\n")
	a.environment(t, map[string]string{"LLM_API_KEY": "k", "OPENAI_API_KEY": "k", "KEPT": "yes"})
	for profile, want := range map[string]string{"helper": "P", "far": "ROLE-1"} {
		c := newChain(llm.AWS{Profile: profile})
		for range 2 { // the second time the same
			if got, err := c.cache.Get(t.Context()); err != nil || got.AccessKeyID != want {
				t.Errorf("%s: %q, %v", profile, got.AccessKeyID, err)
			}
		}
	}
	if runs, err := os.ReadFile(script + ".runs"); string(runs) != "run\nrun\n" || err != nil {
		t.Errorf("the program ran %q, %v", runs, err)
	}
	if diff := cmp.Diff([]string{"AssumeRole arn:far by P ext 900 deft-now"}, a.asked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestCancel ends a call whose service does not answer.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	a := startAmazon(t)
	a.files(t)
	a.environment(t, map[string]string{"AWS_PROFILE": "role", "AWS_ENDPOINT_URL_STS": srv.URL})
	if _, err := newChain(llm.AWS{}).cache.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSign checks the example of AWS's documentation of Signature Version 4.
func TestSign(t *testing.T) {
	t.Parallel()
	c := newChain(llm.AWS{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	must.Succeed(t, c.Sign(t.Context(), req, nil, "us-east-1", "iam", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)))
	if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7") {
		t.Error(got)
	}
}
