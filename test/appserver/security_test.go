package appserver_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// guarded is an App Server on SQLite, which requests of every kind are sent to.
type guarded struct {
	url, code string // its address, and its sign-in link
	host      string // that requests name; "" for the url's
	cookie    string // that requests have: of the owner's browser, after signIn
	owner     string // the same, also when a test has taken it from requests
	dir       string
	http      *http.Client
	cmd       *exec.Cmd
	said      chan string // all that it said, when it has ended
}

// prints is the output of a server when it is ready.
var prints = regexp.MustCompile(`(https?://\S+)/#login=(\S+)`)

// guard starts a server with variables and flags that ends with the test.
func guard(t *testing.T, env []string, flags ...string) *guarded {
	t.Helper()
	g := &guarded{dir: t.TempDir(), said: make(chan string, 1)}
	g.http = &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // the test's own certificate
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	g.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary.Path(), append([]string{"serve", "--data", g.dir, "--address", "127.0.0.1:0"}, flags...)...)
	g.cmd.Dir = g.dir
	g.cmd.Env = append([]string{"HOME=" + g.dir, "PATH=" + os.Getenv("PATH")}, env...)
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errs, err := g.cmd.StderrPipe()
	if err == nil {
		err = g.cmd.Start()
	}
	must.Succeed(t, err)
	ready := make(chan []string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if m := prints.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m
			}
		}
		close(ready)
		g.said <- all.String()
	}()
	t.Cleanup(func() {
		g.leave()
		g.http.CloseIdleConnections()
		_ = g.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		said := <-g.said
		_ = g.cmd.Wait()
		if strings.Contains(said, "panic") || t.Failed() {
			t.Errorf("the server said:\n%s", said[max(0, len(said)-6000):])
		}
	})
	m := <-ready
	if m == nil {
		t.Fatal("the server did not start")
	}
	g.url, g.code = m[1], m[2]
	return g
}

// leave deletes the owner's sandboxes, which would outlive the server for a while. The test
// may have ended the server.
func (g *guarded) leave() {
	ask := func(method, path string) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), method, g.url+path, nil)
		if err != nil {
			return nil
		}
		r.Host = g.host
		r.Header.Set("Cookie", g.owner)
		res, err := g.http.Do(r)
		if err != nil {
			return nil
		}
		return res
	}
	var all struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	res := ask("GET", "/api/v1/sandboxes/search?limit=100")
	if res == nil {
		return
	}
	defer res.Body.Close()
	if json.NewDecoder(res.Body).Decode(&all) != nil {
		return
	}
	for _, one := range all.Items {
		if deleted := ask("DELETE", "/api/v1/sandboxes/"+one.ID); deleted != nil {
			deleted.Body.Close()
		}
	}
}

// answer is a server's answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with headers ("Name: value"); body "" is none.
func (g *guarded) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, g.url+path, strings.NewReader(body))
	must.Succeed(t, err)
	r.Host = g.host
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.cookie != "" {
		r.Header.Set("Cookie", g.cookie)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	res, err := g.http.Do(r)
	must.Succeed(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must.Succeed(t, err)
	return answer{res.StatusCode, res.Header, string(raw)}
}

// want sends a request and holds its status.
func (g *guarded) want(t *testing.T, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	a := g.send(t, method, path, body, headers...)
	if a.status != status {
		t.Errorf("%s %s %v: %d, want %d: %.300s", method, path, headers, a.status, status, a.body)
	}
	return a
}

// signIn signs a browser in and returns the cookie as the server set it.
func (g *guarded) signIn(t *testing.T) *http.Cookie {
	t.Helper()
	a := g.want(t, 204, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`)
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	must.Succeed(t, err)
	g.cookie = c.Name + "=" + c.Value
	g.owner = g.cookie
	return c
}

// TestPagePolicy: the page runs the binary's scripts only, is in no frame, and talks to
// its own server only; other files are never taken for a page.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	for _, path := range []string{"/", "/conversations/1", "/robots.txt"} {
		a := g.send(t, "GET", path, "")
		policy := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cross-Origin-Opener-Policy") != "same-origin" || a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", path, a.header)
		}
	}
	a := g.want(t, 401, "GET", "/api/v1/app-conversations/search", "")
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("an answer of the API: %v", a.header)
	}
}

// TestForeignPages: pages of other origins, of other ports of this machine too, cannot act
// with the browser's session, read answers, or sign in; names that were pointed at this
// machine are not answered.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	for _, origin := range []string{"https://evil.example", "http://localhost:3000", "http://127.0.0.1:1", "null"} {
		g.want(t, 403, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`, "Origin: "+origin)
	}
	g.signIn(t)
	for _, origin := range []string{"https://evil.example", "http://localhost:3000", "http://127.0.0.1:1", "null"} {
		g.want(t, 403, "POST", "/api/v1/sandboxes", "", "Origin: "+origin)
		g.want(t, 403, "POST", "/api/v1/settings", "{}", "Origin: "+origin)
		g.want(t, 403, "DELETE", "/api/conversations/1", "", "Origin: "+origin)
		a := g.want(t, 200, "GET", "/api/v1/app-conversations/search", "", "Origin: "+origin)
		if a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("Vary") != "Origin" {
			t.Errorf("a page of %s may read the answer: %v", origin, a.header)
		}
		a = g.send(t, "OPTIONS", "/api/v1/sandboxes", "", "Origin: "+origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization")
		if a.status < 400 || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the preflight request of %s: %d, %v", origin, a.status, a.header)
		}
	}
	g.want(t, 403, "POST", "/api/v1/sandboxes", "", "Sec-Fetch-Site: cross-site")
	g.want(t, 403, "POST", "/api/v1/sandboxes", "", "Sec-Fetch-Site: same-site")
	if a := g.send(t, "POST", "/api/v1/sandboxes", "", "Origin: "+g.url, "Sec-Fetch-Site: same-origin"); a.status >= 300 {
		t.Errorf("its own page is refused: %d %s", a.status, a.body)
	}
	for _, host := range []string{"evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example"} {
		for _, path := range []string{"/", "/api/v1/settings", "/alive"} {
			a := g.want(t, 421, "GET", path, "", "Host: "+host)
			if !strings.Contains(a.body, "--public-url") {
				t.Errorf("it does not say what to do: %s", a.body)
			}
		}
	}
	g.want(t, 200, "GET", "/api/v1/app-conversations/search", "", "Host: localhost:3000")
}

// TestForeignSockets: a browser sends its cookie with the WebSocket of any page, so the
// server looks at the origin.
func TestForeignSockets(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	g.signIn(t)
	var sandbox struct {
		Key string `json:"session_api_key"`
	}
	must.Succeed(t, json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), &sandbox))
	const id = "/sockets/events/0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ path, header string }{
		{id, "Cookie: " + g.cookie},
		{id, "X-Session-API-Key: wrong"},
		{id + "?session_api_key=wrong", "Cookie: " + g.cookie},
	} {
		for _, origin := range []string{"https://evil.example", "null", g.url} {
			name, value, _ := strings.Cut(c.header, ": ")
			conn, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(g.url, "http")+c.path, &websocket.DialOptions{
				HTTPHeader: http.Header{"Origin": {origin}, name: {value}},
			})
			if res != nil && res.Body != nil {
				res.Body.Close()
			}
			if err != nil {
				continue // refused
			}
			_, raw, err := conn.Read(t.Context())
			conn.CloseNow()
			if err == nil {
				t.Errorf("a page of %s reads %.100q from %s with %s", origin, raw, c.path, name)
			}
		}
	}
	if sandbox.Key == "" {
		t.Error("the sandbox has no session key")
	}
}

// certificate makes files with a certificate for 127.0.0.1.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must.Succeed(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	must.Succeed(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		must.Succeed(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// TestCookies: the session is for the server's own host and pages only; over HTTPS the
// browser itself holds that.
func TestCookies(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	for name, c := range map[string]struct {
		flags  []string
		host   string
		cookie string
		secure bool
	}{
		"on this machine":     {nil, "", "deft_session", false},
		"HTTPS":               {[]string{"--tls-cert", cert, "--tls-key", key}, "", "__Host-deft_session", true},
		"HTTPS at a proxy":    {[]string{"--public-url", "https://deft.example.org"}, "deft.example.org", "__Host-deft_session", true},
		"of a proxy's header": {[]string{"--trusted-proxy", "127.0.0.1"}, "", "__Host-deft_session", true},
		"of anyone's header":  {[]string{"--trusted-proxy", "127.0.0.2"}, "", "deft_session", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, nil, c.flags...)
			if c.host != "" {
				_, port, _ := strings.Cut(strings.TrimPrefix(addressOf(t, g), "//"), ":")
				g.url, g.host = "http://127.0.0.1:"+port, c.host
			}
			a := g.want(t, 204, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`, "X-Forwarded-Proto: https")
			got, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
			must.Succeed(t, err)
			if got.Name != c.cookie || got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "/" || got.Domain != "" {
				t.Errorf("the cookie is %v", got)
			}
			g.want(t, 200, "GET", "/api/v1/app-conversations/search", "", "Cookie: "+got.Name+"="+got.Value, "X-Forwarded-Proto: https")
			g.want(t, 401, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`, "X-Forwarded-Proto: https") // once only
			g.want(t, 204, "POST", "/api/logout", "", "Cookie: "+got.Name+"="+got.Value, "X-Forwarded-Proto: https")
			g.want(t, 401, "GET", "/api/v1/app-conversations/search", "", "Cookie: "+got.Name+"="+got.Value, "X-Forwarded-Proto: https")
		})
	}
}

// addressOf finds where a server listens whose printed address is another one.
func addressOf(t *testing.T, g *guarded) string {
	t.Helper()
	inodes, err := filepath.Glob("/proc/" + itoa(g.cmd.Process.Pid) + "/fd/*")
	must.Succeed(t, err)
	sockets := map[string]bool{}
	for _, fd := range inodes {
		if to, err := os.Readlink(fd); err == nil {
			sockets[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	raw, err := os.ReadFile("/proc/net/tcp")
	must.Succeed(t, err)
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[3] == "0A" && sockets[f[9]] { // listens
			port, ok := new(big.Int).SetString(f[1][strings.IndexByte(f[1], ':')+1:], 16)
			if ok {
				return "//127.0.0.1:" + port.String()
			}
		}
	}
	t.Fatal("the server listens nowhere")
	return ""
}

func itoa(n int) string { return big.NewInt(int64(n)).String() }

// TestAttempts: attempts to sign in are bounded by address, and so are costly requests by
// owner; bodies are bounded before they are read.
func TestAttempts(t *testing.T) {
	t.Parallel()
	g := guard(t, []string{"DEFT_SERVER_COSTLY_PER_MINUTE=2"}, "--trusted-proxy", "127.0.0.1")
	g.signIn(t)
	limited := 0
	for range 30 {
		a := g.send(t, "POST", "/api/v1/login", `{"code":"guess"}`, "X-Forwarded-For: 192.0.2.1")
		switch a.status {
		case 401:
		case 429:
			if limited++; a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "try again in") {
				t.Errorf("it does not say when: %v %s", a.header, a.body)
			}
		default:
			t.Errorf("an attempt: %d %s", a.status, a.body)
		}
	}
	if limited < 9 {
		t.Errorf("%d of 30 attempts were refused", limited)
	}
	g.want(t, 401, "POST", "/api/v1/login", `{"code":"guess"}`, "X-Forwarded-For: 192.0.2.2") // of somebody else
	g.want(t, 429, "POST", "/api/v1/login", `{"code":"guess"}`, "X-Forwarded-For: 192.0.2.9, 192.0.2.1")

	for range 2 {
		if a := g.send(t, "POST", "/api/v1/sandboxes", ""); a.status >= 300 {
			t.Errorf("a sandbox: %d %s", a.status, a.body)
		}
	}
	a := g.want(t, 429, "POST", "/api/v1/sandboxes", "")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("it does not say when: %v", a.header)
	}
	g.want(t, 200, "GET", "/api/v1/app-conversations/search", "")

	g.want(t, 413, "POST", "/api/v1/login", `{"code":"`+strings.Repeat("x", 5<<10)+`"}`, "X-Forwarded-For: 192.0.2.3")
	g.want(t, 413, "POST", "/api/v1/settings", `{"llm_model":"`+strings.Repeat("x", 33<<20)+`"}`)
}

// TestAPIKeys: keys are shown once, stored as hashes, and end when they are revoked.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	g.signIn(t)
	var made struct {
		ID  any    `json:"id"`
		Key string `json:"key"`
	}
	if err := json.Unmarshal([]byte(g.send(t, "POST", "/api/keys", `{"name":"ci"}`).body), &made); err != nil || !strings.HasPrefix(made.Key, "deft_") {
		t.Fatalf("%v, %v", made, err)
	}
	if a := g.want(t, 200, "GET", "/api/keys", ""); strings.Contains(a.body, made.Key) {
		t.Error("the key is in the list")
	}
	_, session, _ := strings.Cut(g.cookie, "=")
	g.cookie = ""
	for _, header := range []string{"Authorization: Bearer " + made.Key, "X-Access-Token: " + made.Key, "X-Session-API-Key: " + made.Key} {
		g.want(t, 200, "GET", "/api/v1/app-conversations/search", "", header)
	}
	files := 0
	err := filepath.WalkDir(g.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, secret := range []string{made.Key, session, g.code} {
			if bytes.Contains(raw, []byte(secret)) {
				t.Errorf("a key is in %s", path)
			}
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
	id, err := json.Marshal(made.ID)
	must.Succeed(t, err)
	if a := g.send(t, "DELETE", "/api/keys/"+strings.Trim(string(id), `"`), "", "Authorization: Bearer "+made.Key); a.status >= 300 {
		t.Errorf("revoke: %d %s", a.status, a.body)
	}
	g.want(t, 401, "GET", "/api/v1/app-conversations/search", "", "Authorization: Bearer "+made.Key)
	g.want(t, 401, "GET", "/api/v1/app-conversations/search", "", "Authorization: Bearer deft_guess")
}

// TestPublicBind: on a public address only the open routes answer without a key.
func TestPublicBind(t *testing.T) {
	t.Parallel()
	g := guard(t, nil, "--address", "0.0.0.0:0")
	for _, path := range []string{"/alive", "/health", "/ready", "/server_info"} {
		g.want(t, 200, "GET", path, "")
	}
	for _, one := range []string{
		"GET /api/v1/app-conversations/search", "POST /api/v1/app-conversations", "GET /api/v1/sandboxes/search", "GET /api/v1/settings",
		"GET /api/v1/secrets/search", "GET /api/conversations", "POST /api/conversations", "GET /api/keys", "POST /api/keys",
		"POST /api/logout", "GET /api/v1/users/me", "GET /api/conversations/x/events/search", "GET /api/none",
	} {
		method, path, _ := strings.Cut(one, " ")
		for _, header := range []string{"X: y", "Authorization: Bearer x", "X-Session-API-Key: x", "Cookie: deft_session=x", "X-Forwarded-For: 127.0.0.1"} {
			g.want(t, 401, method, path, "", header)
		}
	}
}

// TestInternalAddresses: on a server for others, no address that a user sets leads to this
// machine, and its user is told so.
func TestInternalAddresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(internal.Close)
	_, port, _ := net.SplitHostPort(internal.Listener.Addr().String())
	for name, c := range map[string]struct {
		env     []string
		reached bool
	}{
		"for others":     {nil, false},
		"named internal": {[]string{"DEFT_SERVER_INTERNAL_HOSTS=127.0.0.1:" + port}, true},
	} {
		g := guard(t, c.env, "--address", "0.0.0.0:0")
		g.signIn(t)
		asked.Store(0)
		settings := `{"llm_model":"openai/m","llm_api_key":"k","llm_base_url":"` + internal.URL + `/v1"}`
		g.want(t, 200, "POST", "/api/v1/settings", settings)
		said := runOf(t, g, `{"initial_message":{"role":"user","run":true,"content":[{"type":"text","text":"hello"}]}}`)
		if reached := asked.Load() > 0; reached != c.reached {
			t.Errorf("%s: the model's address was asked: %v; the conversation says %.600s", name, reached, said)
		}
		if !c.reached && !strings.Contains(said, "does not connect to") {
			t.Errorf("%s: the user is not told: %.1500s", name, said)
		}
	}
	// The operator's own model may be anywhere.
	script, err := llmtest.Parse([]byte("turns:\n  - reply: {tool_calls: [{name: terminal, arguments: {command: 'echo got $TOKEN'}}]}\n  - reply: {text: done}\n"))
	must.Succeed(t, err)
	llm := llmtest.Start(t, script)
	g := guard(t, []string{"LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=" + llm.URL + "/v1"}, "--address", "0.0.0.0:0")
	g.signIn(t)
	asked.Store(0)
	var sandbox struct {
		ID  string `json:"id"`
		Key string `json:"session_api_key"`
	}
	must.Succeed(t, json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), &sandbox))
	id := startTask(t, g, `{"title":"Hello","sandbox_id":"`+sandbox.ID+`"}`, "READY").Conversation
	g.want(t, 200, "POST", "/api/conversations/"+id+"/secrets", `{"secrets":{"TOKEN":{"kind":"LookupSecret","url":"`+internal.URL+`/token"}}}`, "X-Session-API-Key: "+sandbox.Key)
	g.want(t, 200, "POST", "/api/v1/app-conversations/"+id+"/send-message", `{"role":"user","run":true,"content":[{"type":"text","text":"hello"}]}`)
	if said := watch(t, g, id, "done"); !strings.Contains(said, `"finished"`) {
		t.Errorf("with a lookup: %.3000s", said)
	}
	for _, repository := range []string{
		"https://127.0.0.1:" + port + "/o/r.git", "https://localhost:" + port + "/o/r.git", "https://169.254.169.254/o/r.git", "https://[::1]:" + port + "/r.git",
		"https://2130706433:" + port + "/o/r.git", "https://127.1:" + port + "/o/r.git", "https://0x7f000001:" + port + "/o/r.git", "https://0177.0.0.1:" + port + "/o/r.git",
		"https://0:" + port + "/o/r.git", "https://127.0.0.1.:" + port + "/o/r.git", "https://no-such-host.invalid:" + port + "/o/r.git",
	} {
		detail := startFails(t, g, repository, "")
		if !strings.Contains(detail, "does not connect to") && !strings.Contains(detail, "does not clone") && !strings.Contains(detail, "could not resolve") {
			t.Errorf("%s: %s", repository, detail)
		}
	}
	a := g.send(t, "POST", "/api/mcp/test", `{"server":{"type":"http","url":"`+internal.URL+`/mcp"}}`, "X-Session-API-Key: "+sandbox.Key)
	if !strings.Contains(a.body, "does not connect to") {
		t.Errorf("an MCP server: %d %s", a.status, a.body)
	}
	g.want(t, 200, "POST", "/api/v1/settings", `{"agent_settings_diff":{"mcp_config":{"mcpServers":{"here":{"url":"`+internal.URL+`/mcp"}}}}}`)
	if a := g.send(t, "POST", "/api/v1/settings/mcp-servers/here/login", ""); a.status != 403 || !strings.Contains(a.body, "does not connect to") {
		t.Errorf("a login at an MCP server: %d %s", a.status, a.body)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("this machine was asked %d times", n)
	}
}

// runOf starts a conversation and returns its events when its run has ended.
func runOf(t *testing.T, g *guarded, request string) string {
	t.Helper()
	id := startTask(t, g, request, "READY").Conversation
	if id == "" {
		return ""
	}
	return watch(t, g, id, "")
}

// watch returns the events of a conversation when a run has ended after one of them that
// has a text.
func watch(t *testing.T, g *guarded, id, after string) string {
	t.Helper()
	var found []struct {
		Key string `json:"session_api_key"`
	}
	a := g.want(t, 200, "GET", "/api/v1/app-conversations?ids="+id, "")
	if err := json.Unmarshal([]byte(a.body), &found); err != nil || len(found) != 1 {
		t.Fatalf("%s: %v", a.body, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	socket := "ws" + strings.TrimPrefix(g.url, "http") + "/sockets/events/" + id + "?resend_all=true&session_api_key=" + found[0].Key
	conn, res, err := websocket.Dial(ctx, socket, nil)
	must.Succeed(t, err)
	if res.Body != nil {
		defer res.Body.Close()
	}
	defer conn.CloseNow()
	conn.SetReadLimit(32 << 20)
	for all := ""; ; {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("the conversation does not end: %v: %.3000s", err, all)
		}
		all += string(raw) + "\n"
		var e struct {
			Kind  string `json:"kind"`
			Key   string `json:"key"`
			Value any    `json:"value"`
		}
		must.Succeed(t, json.Unmarshal(raw, &e))
		if e.Kind == "ConversationStateUpdateEvent" && e.Key == "execution_status" && e.Value != "running" && e.Value != "idle" && strings.Contains(all, after) {
			return all
		}
	}
}

// startTask starts a conversation and returns the task when it has ended, as it must.
func startTask(t *testing.T, g *guarded, request, status string) task {
	t.Helper()
	a := g.want(t, 200, "POST", "/api/v1/app-conversations/stream-start", request)
	var all []task
	if err := json.Unmarshal([]byte(a.body), &all); err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", a.body, err)
	}
	last := all[len(all)-1]
	if last.Status != status {
		t.Errorf("the task is %s, want %s: %s", last.Status, status, last.Detail)
	}
	return last
}

// startFails starts a conversation with a repository, which must fail, and returns why.
func startFails(t *testing.T, g *guarded, repository, branch string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"selected_repository": repository, "selected_branch": branch})
	must.Succeed(t, err)
	return startTask(t, g, string(raw), "ERROR").Detail
}

// TestStops: Ctrl-C ends the server with code 0 and without an error; a port that is in
// use is named.
func TestStops(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(g.url, "http://"), ":")
	out, err := exec.CommandContext(t.Context(), binary.Path(), "serve", "--data", t.TempDir(), "--address", "127.0.0.1:"+port).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is in use by another program") || !strings.Contains(string(out), "choose another address with --address") {
		t.Errorf("on a port in use: %v, %s", err, out)
	}
	g.signIn(t)
	must.Succeed(t, g.cmd.Process.Signal(os.Interrupt))
	said := <-g.said
	g.said <- said
	if err := g.cmd.Wait(); err != nil || strings.Contains(said, "ERROR") {
		t.Errorf("after Ctrl-C: %v, %s", err, said)
	}
}
