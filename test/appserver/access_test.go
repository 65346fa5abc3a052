package appserver_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/server/rest"
)

var update = flag.Bool("update", false, "write the golden files")

// opens says which kinds of callers the declaration of a route admits, in the order of
// callers.
func opens(r rest.Route) (out []bool) {
	for _, kind := range callers {
		user, key := strings.HasPrefix(kind, "owner") || kind == "another owner", strings.HasSuffix(kind, "sandbox")
		var may bool
		switch r.Scope {
		case rest.Public:
			may = true
		case rest.Account:
			may = user
		case rest.Sandbox:
			may = key || user
		case rest.Inside:
			may = key && (kind == "its sandbox" || !strings.Contains(r.Path, "{sandbox_id}"))
		}
		out = append(out, may)
	}
	return out
}

var callers = []string{"nobody", "owner's cookie", "owner's key", "another owner", "its sandbox", "another sandbox"}

// furtherReasons are refusals of handlers to callers who may use the route.
var furtherReasons = []string{
	"no token of a Git provider is stored", "the conversation is not one of the sandbox",
	"an API key, or the session key of a sandbox, is needed", // MCP: not for the cookie
}

// TestAccess asks for each route as each kind of caller. Who is let in follows from the
// declaration of the route alone; testdata/access.txt shows it.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	owner := newClient(t, s)
	var mine, other box
	owner.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &mine)
	owner.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &other)
	var key struct {
		Key string `json:"key"`
	}
	owner.do(t, "POST", s.url+"/api/keys", map[string]any{"name": "program"}, &key)
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(plain.CloseIdleConnections)
	by := []*client{
		{http: plain}, owner, {http: plain, api: key.Key}, {http: plain, api: addOwner(t, s, "bob")},
		{http: plain, key: mine.Key}, {http: plain, key: other.Key},
	}
	contract, err := rest.New(rest.Options{Routes: agentserver.ScopedRoutes()})
	must(t, err)
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
			row := ""
			for i, c := range by {
				if key := strings.HasSuffix(callers[i], "sandbox"); scoped && !key || !scoped && key && shared {
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
		must(t, os.WriteFile("testdata/access.txt", []byte(golden.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/access.txt")
	must(t, err)
	if d := cmp.Diff(string(want), golden.String()); d != "" {
		t.Errorf("testdata/access.txt (-want +got; go test -update writes it):\n%s", d)
	}
}

// last sorts operations to the end that end the test's credentials.
func last(r rest.Route) string {
	if r.Path == "/api/logout" {
		return "~"
	}
	return ""
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
		must(t, err)
		r.Header.Set(rest.KeyHeader, in.Key)
		if expose != "" {
			r.Header.Set("X-Expose-Secrets", expose)
		}
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		must(t, err)
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

// TestForeignPagesOfSandboxes: a page at another port of this machine, as that of a program
// in a sandbox, reads nothing with the cookie of workspaces or a session key.
func TestForeignPagesOfSandboxes(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	g.signIn(t)
	var in box
	if err := json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), &in); err != nil {
		t.Fatal(err)
	}
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
		if err := json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), to); err != nil {
			t.Fatal(err)
		}
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
