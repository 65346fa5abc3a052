package appserver_test

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/server/rest"
)

var update = flag.Bool("update", false, "write the golden files")

// opens says which kinds of callers the declaration of a route admits, in the order of
// callers.
func opens(r rest.Route) (out []bool) {
	for _, kind := range callers {
		user, key := strings.HasPrefix(kind, "owner") || kind == "another owner", strings.Contains(kind, "sandbox")
		var may bool
		switch r.Scope {
		case rest.Public:
			may = true
		case rest.Account:
			may = user
		case rest.Sandbox:
			may = key || user
		case rest.Inside:
			may = key && !strings.Contains(kind, "browser") && (kind == "its sandbox" || !strings.Contains(r.Path, "{sandbox_id}"))
		}
		out = append(out, may)
	}
	return out
}

var callers = []string{"nobody", "owner's cookie", "owner's key", "another owner", "its sandbox", "another sandbox", "a browser with the sandbox's key"}

// furtherReasons are refusals of handlers to callers who may use the route.
var furtherReasons = []string{
	"no token of a Git provider is stored", "the conversation is not one of the sandbox",
	"an API key, or the session key of a sandbox, is needed", // MCP: not for the cookie
	"plugins are installed by the user of this machine",
}

// TestAccess asks for each route as each kind of caller. Who is let in follows from the
// declaration of the route alone; testdata/access.txt shows it.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	owner := newClient(t, s)
	runs := asProgram(t, s, owner)
	plain := runs.http
	var mine, other box
	runs.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &mine)
	runs.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &other)
	var shown []box
	owner.do(t, "GET", s.url+"/api/v1/sandboxes?id="+mine.ID, nil, &shown)
	if len(shown) != 1 || shown[0].Key == "" || shown[0].Key == mine.Key {
		t.Fatalf("a browser gets the session key of programs: %v", shown)
	}
	by := []*client{
		{http: plain}, owner, runs, {http: plain, api: addOwner(t, s, "bob")},
		{http: plain, key: mine.Key}, {http: plain, key: other.Key}, {http: plain, key: shown[0].Key},
	}
	contract, err := rest.New(rest.Options{Routes: agentserver.ScopedRoutes()})
	must.Succeed(t, err)
	var golden strings.Builder
	golden.WriteString("# Who may use which route (x) and who not (-): " + strings.Join(callers, ", ") + ".\n# A dot: such a request is for the other table.\n")
	walk := func(title string, all []rest.Route, scoped bool) {
		golden.WriteString("\n# " + title + "\n")
		slices.SortStableFunc(all, func(a, b rest.Route) int { return strings.Compare(last(a)+a.Path+a.Method, last(b)+b.Path+b.Method) })
		for _, r := range all {
			if r.Method == "" {
				r.Method = "GET"
			}
			if r.Path == "/{$}" && !scoped || r.Scope == rest.Checked {
				continue // a socket asks for the key in its first frame: TestForeignSockets
			}
			if r.Path == "/api/v1/webhooks/secrets" {
				continue // it wants a token that no server here signs, and refuses everybody
			}
			// Nobody has such a conversation, and no operation such a body.
			path := part.ReplaceAllStringFunc(strings.TrimSuffix(r.Path, "{$}"), func(p string) string {
				switch p {
				case "{sandbox_id}":
					return mine.ID
				case "{what}":
					return "conversations"
				}
				return "00000000000000000000000000000001"
			})
			_, shared := contract.Find(httptest.NewRequestWithContext(t.Context(), r.Method, path, nil))
			may := opens(r)
			if endsSessions(r) {
				by[1] = signedIn(t, s)
			}
			row := ""
			for i, c := range by {
				if key := strings.Contains(callers[i], "sandbox"); scoped && !key || !scoped && key && shared {
					row += "." // such a request is for the other table
					continue
				}
				mark := "-"
				if may[i] {
					mark = "x"
				}
				row += mark
				status, raw := c.send(t, r.Method, s.url+path, []any{})
				refused := status == http.StatusUnauthorized || status == http.StatusForbidden
				if slices.ContainsFunc(furtherReasons, func(why string) bool { return strings.Contains(string(raw), why) }) {
					refused = false
				}
				if refused == may[i] {
					t.Errorf("%s as %s: %d %.200s; declared: let in %t", r.Pattern(), callers[i], status, raw, may[i])
				}
				if status >= 500 && status != http.StatusServiceUnavailable && status != http.StatusNotImplemented {
					t.Errorf("%s as %s: %d %.200s", r.Pattern(), callers[i], status, raw)
				}
			}
			golden.WriteString(row + " " + r.Pattern() + marks(r) + "\n")
		}
	}
	walk("The App Server", appserver.Routes(), false)
	walk("The agent server of a sandbox, by its session key", agentserver.ScopedRoutes(), true)
	for _, one := range []string{mine.ID, other.ID} {
		by[2].do(t, "DELETE", s.url+"/api/v1/sandboxes/"+one, nil, nil)
	}
	if *update {
		must.Succeed(t, os.WriteFile("testdata/access.txt", []byte(golden.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/access.txt")
	must.Succeed(t, err)
	if d := cmp.Diff(string(want), golden.String()); d != "" {
		t.Errorf("testdata/access.txt (-want +got; go test -update writes it):\n%s", d)
	}
}

// endsSessions reports whether an operation ends the sessions of the test's browsers.
func endsSessions(r rest.Route) bool {
	return r.Path == "/api/logout" || r.Method == "DELETE" && r.Path == "/api/v1/sessions"
}

// last sorts the operations to the end that end sessions.
func last(r rest.Route) string {
	if endsSessions(r) {
		return "~"
	}
	return ""
}

// signedIn returns a browser of the server's owner with a session of its own.
func signedIn(t *testing.T, s *server) *client {
	t.Helper()
	secret := rand.Text()
	addCredential(t, s, "local", "cookie", secret)
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	u, err := url.Parse(s.url)
	must.Succeed(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "deft_session", Value: secret, Path: "/"}})
	c := &client{http: &http.Client{Jar: jar}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// marks are a route's other declarations.
func marks(r rest.Route) (out string) {
	for mark, set := range map[string]bool{" costly": r.Costly, " audited": r.Audited, " legacy": r.Legacy} {
		if set {
			out += mark
		}
	}
	parts := strings.Fields(out)
	slices.Sort(parts)
	if len(parts) == 0 {
		return ""
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}

// TestSandboxKeyShowsMasks: the session key of a sandbox shows no secret of its owner, and
// changes nothing of the account.
func TestSandboxKeyShowsMasks(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	owner := newClient(t, s)
	owner.do(t, "POST", s.url+"/api/v1/settings", map[string]any{"agent_settings_diff": map[string]any{"llm": map[string]any{"model": "openai/x", "api_key": mark}}}, nil)
	owner.do(t, "POST", s.url+"/api/v1/settings/profiles/own", map[string]any{"llm": map[string]any{"model": "openai/x", "api_key": mark}}, nil)
	owner.do(t, "POST", s.url+"/api/v1/secrets", map[string]any{"name": "WORD", "value": mark}, nil)
	var in box
	owner.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &in)
	ask := func(method, path, body, expose string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		must.Succeed(t, err)
		r.Header.Set(rest.KeyHeader, in.Key)
		if expose != "" {
			r.Header.Set("X-Expose-Secrets", expose)
		}
		res, err := http.DefaultClient.Do(r)
		must.Succeed(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		must.Succeed(t, err)
		return res.StatusCode, string(raw)
	}
	for _, c := range []struct {
		method, path, body, expose string
		want                       int
	}{
		{"GET", "/api/settings", "", "", http.StatusOK},
		{"GET", "/api/settings", "", "plaintext", http.StatusForbidden},
		{"GET", "/api/settings", "", "encrypted", http.StatusForbidden},
		{"GET", "/api/profiles/own", "", "", http.StatusOK},
		{"GET", "/api/profiles/own", "", "plaintext", http.StatusForbidden},
		{"GET", "/api/settings/secrets", "", "", http.StatusOK},
		{"GET", "/api/settings/secrets/WORD", "", "", http.StatusForbidden},
		{"PATCH", "/api/settings", `{"agent_settings_diff": {"llm": {"base_url": "http://127.0.0.1:1"}}}`, "", http.StatusForbidden},
		{"POST", "/api/profiles/own/validate", `{}`, "", http.StatusForbidden},
		{"POST", "/api/llm/provider-connections", `{}`, "", http.StatusForbidden},
	} {
		status, raw := ask(c.method, c.path, c.body, c.expose)
		if status != c.want || strings.Contains(raw, mark) || strings.Contains(raw, "gAAAA") {
			t.Errorf("%s %s (%s): %d, want %d: %.300s", c.method, c.path, c.expose, status, c.want, raw)
		}
	}

	// Without a key, little of an enclosed request is read; with one, a message with images.
	long := `{"host": "` + s.url + `", "method": "POST", "path": "/api/bash/execute_bash_command", "headers": {"X-Session-API-Key": "KEY"}, "body": {"command": "true", "more": "` + strings.Repeat("x", 1<<20) + `"}}`
	for key, want := range map[string]int{"wrong": http.StatusRequestEntityTooLarge, in.Key: http.StatusOK} {
		if status, raw := ask("POST", "/api/cloud-proxy", strings.Replace(long, "KEY", key, 1), ""); status != want {
			t.Errorf("a long enclosed request: %d, want %d: %.300s", status, want, raw)
		}
	}
	owner.do(t, "DELETE", s.url+"/api/v1/sandboxes/"+in.ID, nil, nil)
}

// TestSandboxSecrets: the session key of a sandbox reads the secrets that it was given, those of
// its start or of a conversation that its owner starts there, and has conversations use no others.
// The key that a browser gets reads none.
func TestSandboxSecrets(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	owner := newClient(t, s)
	runs := asProgram(t, s, owner)
	save := func(name string) {
		owner.do(t, "POST", s.url+"/api/v1/secrets", map[string]any{"name": name, "value": "value of " + name}, nil)
	}
	save("FIRST")
	var in box
	runs.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &in)
	t.Cleanup(func() { runs.do(t, "DELETE", s.url+"/api/v1/sandboxes/"+in.ID, nil, nil) })
	save("LATER")
	inside := &client{http: runs.http, key: in.Key}
	read := func(c *client, name string, want int) {
		t.Helper()
		status, raw := c.send(t, "GET", s.url+"/api/v1/sandboxes/"+in.ID+"/settings/secrets/"+name, nil)
		if status != want || (status == http.StatusOK) != (string(raw) == "value of "+name) {
			t.Errorf("%s: %d, want %d: %s", name, status, want, raw)
		}
	}
	use := func(name, url string, want int) {
		t.Helper()
		secrets := map[string]any{name: map[string]any{"kind": "LookupSecret", "url": url}}
		agent := map[string]any{"llm": map[string]any{"model": "openai/x", "api_key": "k"}, "tools": []any{}}
		for _, body := range []map[string]any{
			{"agent": agent, "workspace": map[string]any{"working_dir": "/workspace/project"}, "secrets": secrets},
			{"agent": map[string]any{"llm": agent["llm"], "tools": []any{}, "agent_context": map[string]any{"secrets": secrets}}, "workspace": map[string]any{"working_dir": "/workspace/project"}},
		} {
			if status, raw := inside.send(t, "POST", s.url+"/api/conversations", body); status != want {
				t.Errorf("a conversation with %s at %s: %d, want %d: %s", name, url, status, want, raw)
			}
		}
	}
	const local = "/api/settings/secrets/"
	read(inside, "FIRST", http.StatusOK)
	read(inside, "LATER", http.StatusNotFound)
	use("FIRST", local+"FIRST", http.StatusCreated)
	for _, url := range []string{local, "http://127.0.0.1:1" + local, "http://localhost" + local, "http://secrets.invalid" + local} {
		use("OWN", url+"LATER", http.StatusForbidden)
	}
	var made struct {
		ID string `json:"id"`
	}
	inside.do(t, "POST", s.url+"/api/conversations", map[string]any{
		"agent":     map[string]any{"llm": map[string]any{"model": "openai/x", "api_key": "k"}, "tools": []any{}},
		"workspace": map[string]any{"working_dir": "/workspace/project"},
	}, &made)
	for name, want := range map[string]int{"FIRST": http.StatusOK, "LATER": http.StatusForbidden} {
		body := map[string]any{"secrets": map[string]any{"WORD": map[string]any{"kind": "LookupSecret", "url": local + name}}}
		if status, raw := inside.send(t, "POST", s.url+"/api/conversations/"+made.ID+"/secrets", body); status != want {
			t.Errorf("a conversation that gets %s: %d, want %d: %s", name, status, want, raw)
		}
	}
	var shown []box
	owner.do(t, "GET", s.url+"/api/v1/sandboxes?id="+in.ID, nil, &shown)
	read(&client{http: runs.http, key: shown[0].Key}, "FIRST", http.StatusUnauthorized)

	// Its owner starts it again.
	runs.do(t, "POST", s.url+"/api/v1/sandboxes/"+in.ID+"/resume", nil, nil)
	read(inside, "LATER", http.StatusOK)

	// A conversation that the owner starts brings the secrets that it has then.
	save("NEWEST")
	read(inside, "NEWEST", http.StatusNotFound)
	owner.do(t, "POST", s.url+"/api/v1/settings", map[string]any{"llm_model": "openai/x", "llm_api_key": "k"}, nil)
	d := deployment{server: s, owner: owner}
	d.begin(t, map[string]any{"sandbox_id": in.ID, "title": "Hello"})
	read(inside, "NEWEST", http.StatusOK)
}

// TestForeignPagesOfSandboxes: a page at another port of this machine, as that of a program
// in a sandbox, reads nothing with the cookie of workspaces or a session key.
func TestForeignPagesOfSandboxes(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	g.signIn(t)
	var in box
	must.Succeed(t, json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), &in))
	for _, credential := range []string{"Cookie: " + rest.WorkspaceCookie + "=" + in.Key, "X-Session-API-Key: " + in.Key} {
		for _, path := range []string{"/api/conversations/00000000000000000000000000000001/workspace/f", "/api/settings", "/api/file/home"} {
			for _, origin := range []string{"http://127.0.0.1:8000", "http://localhost:8000", "null"} {
				if a := g.send(t, "GET", path, "", credential, "Origin: "+origin); a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: a page of %s may read the answer: %v", path, origin, a.header)
				}
				a := g.send(t, "OPTIONS", path, "", "Origin: "+origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: x-session-api-key")
				if a.status < 400 || a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: the preflight request of %s: %d, %v", path, origin, a.status, a.header)
				}
			}
		}
	}
}

// TestTrajectoryOfAnotherSandbox: the session key of a sandbox downloads the conversations of
// it, by both routes, and no other one.
func TestTrajectoryOfAnotherSandbox(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	g.signIn(t)
	var mine, other box
	for _, to := range []*box{&mine, &other} {
		must.Succeed(t, json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), to))
	}
	id := startTask(t, g, `{"title":"Hello","sandbox_id":"`+mine.ID+`"}`, "READY").Conversation
	for _, path := range []string{"/api/file/download-trajectory/" + id, "/api/conversations/" + id + "/file/download-trajectory/" + id} {
		for key, want := range map[string]int{mine.Key: http.StatusOK, other.Key: http.StatusNotFound} {
			if a := g.send(t, "GET", path, "", "X-Session-API-Key: "+key); a.status != want || want != http.StatusOK && strings.Contains(a.body, "Hello") {
				t.Errorf("%s: %d, want %d: %.200s", path, a.status, want, a.body)
			}
		}
	}
}
