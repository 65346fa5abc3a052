package appserver_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the database that gets a second owner

	"github.com/deft-dev/deft/internal/must"
)

// addOwner gives a server another owner, with a name like this one, and returns his API key.
func addOwner(t *testing.T, s *server, owner string) string {
	t.Helper()
	owner += "-" + rand.Text() // the server may be shared
	key := "key-of-" + owner
	addCredential(t, s, owner, "api_key", key)
	return key
}

// addCredential stores a credential in the SQLite database of a server.
func addCredential(t *testing.T, s *server, owner, kind, secret string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.data, "events", "app", "app.db")+"?_pragma=busy_timeout(60000)")
	must.Succeed(t, err)
	defer db.Close()
	sum := sha256.Sum256([]byte(secret))
	_, err = db.ExecContext(t.Context(), `INSERT INTO app_credentials (hash, id, owner, kind, name, created_at, used_at, expires_at) VALUES (?, ?, ?, ?, '', ?, 0, 0)`,
		hex.EncodeToString(sum[:]), kind+"-of-"+owner+"-"+rand.Text(), owner, kind, time.Now().UnixMicro())
	must.Succeed(t, err)
}

var (
	served = regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\| done \\|")
	part   = regexp.MustCompile(`\{([^}]*)\}`)
)

// routesDone are the operations of the two tables in docs, which are held against the
// server's own routes.
func routesDone(t *testing.T) (all [][2]string) {
	t.Helper()
	for _, file := range []string{"routes-v0.md", "routes-v1.md"} {
		text, err := os.ReadFile("../../docs/" + file)
		must.Succeed(t, err)
		for _, m := range served.FindAllStringSubmatch(string(text), -1) {
			all = append(all, [2]string{m[1], m[2]})
		}
	}
	return all
}

// mark is in everything of the first owner, and in nothing that the second one sends.
const mark = "moonlit"

// harmless are the answers of routes that do not answer 404 for missing objects, by the
// contract: they must say no more than these.
var harmless = map[string]string{
	"GET /api/conversations/{conversation_id}":    "null",
	"DELETE /api/conversations/{conversation_id}": "false",
	"DELETE /api/v1/settings/profiles/{name}":     `{"name":"alices","message":"Profile 'alices' deleted"}`,
}

// TestOwnersAreApart asks, as one owner, for another's objects, by every route that takes
// an id or lists something.
func TestOwnersAreApart(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	alice := newClient(t, s)
	bob := &client{http: http.DefaultClient, api: addOwner(t, s, "bob")}

	// Alice's objects.
	var sandbox box
	asProgram(t, s, alice).do(t, "POST", s.url+"/api/v1/sandboxes", nil, &sandbox)
	const conversation = "11111111222233334444555555555555"
	agent := &client{http: http.DefaultClient, key: sandbox.Key}
	agent.do(t, "POST", s.url+"/api/v1/webhooks/conversations", map[string]any{"id": conversation, "title": mark}, nil)
	agent.do(t, "POST", s.url+"/api/v1/webhooks/events/"+conversation, []any{userMessage("event-1", mark)}, nil)
	must.Succeed(t, os.WriteFile(filepath.Join(s.workspace(sandbox.ID), "a.txt"), []byte(mark), 0o600))
	alice.do(t, "POST", s.url+"/api/v1/secrets", map[string]any{"name": "ALICES_WORD", "description": mark, "value": mark}, nil)
	alice.do(t, "POST", s.url+"/api/v1/settings/profiles/alices", map[string]any{"llm": map[string]any{"model": "openai/" + mark, "api_key": mark}}, nil)
	var key struct {
		ID json.Number `json:"id"`
	}
	alice.do(t, "POST", s.url+"/api/keys", map[string]any{"name": mark}, &key)
	before := everything(t, s, alice)
	if n := strings.Count(before, mark); n < 4 {
		t.Fatalf("the first owner sees what is his %d times: the test tests nothing:\n%s", n, before)
	}

	ids := map[string]string{
		"conversation_id": conversation, "sandbox_id": sandbox.ID, "id": sandbox.ID, "secret_id": "ALICES_WORD", "secret_name": "ALICES_WORD",
		"name": "alices", "key_id": key.ID.String(), "event_id": "event-1", "path": "a.txt",
	}
	bodies := map[string]any{
		"POST /api/conversations/{conversation_id}/events":                  map[string]any{"action": "message", "args": map[string]any{"content": "x"}},
		"PUT /api/v1/secrets/{secret_id}":                                   map[string]any{"name": "X"},
		"POST /api/v1/settings/profiles/{name}/rename":                      map[string]any{"new_name": "x"},
		"PATCH /api/v1/app-conversations/{conversation_id}":                 map[string]any{"title": "X"},
		"PATCH /api/conversations/{conversation_id}":                        map[string]any{"title": "X"},
		"POST /api/v1/app-conversations/{conversation_id}/switch_profile":   map[string]any{"profile_name": "alices"},
		"POST /api/v1/app-conversations/{conversation_id}/switch_acp_model": map[string]any{"model": "x"},
		"POST /api/v1/app-conversations/{conversation_id}/send-message":     map[string]any{"content": []any{map[string]any{"type": "text", "text": "x"}}},
		"POST /api/v1/app-conversations/{conversation_id}/git/push":         map[string]any{"branch": "x"},
		"POST /api/v1/app-conversations/{conversation_id}/git/pull-request": map[string]any{"source_branch": "x", "title": "x"},
		"POST /api/v1/conversations/{conversation_id}/pending-messages":     map[string]any{"content": []any{map[string]any{"type": "text", "text": "x"}}},
	}
	const query = "?ids=" + conversation + "&id=event-1&event_id=0&conversation_id=" + conversation + "&conversation_id__eq=" + conversation +
		"&file=a.txt&path=a.txt&file_path=a.txt"
	asked := 0
	for _, op := range routesDone(t) {
		name := op[0] + " " + op[1]
		named := part.MatchString(op[1])
		if name == "POST /api/v1/settings/profiles/{name}" || !named && op[0] != "GET" { // that one makes the named object
			continue
		}
		asked++
		path := part.ReplaceAllStringFunc(op[1], func(p string) string { return ids[p[1:len(p)-1]] })
		if strings.Contains(path, "//") {
			t.Errorf("%s: the test has no id for it", name)
			continue
		}
		body := bodies[name]
		if body == nil {
			body = map[string]any{}
		}
		status, raw := bob.send(t, op[0], s.url+path+query, body)
		if strings.HasSuffix(op[1], "/upload-files") {
			status, raw = upload(t, s.url+path, bob.api)
		}
		if text := string(raw); strings.Contains(text, mark) || strings.Contains(text, sandbox.Key) {
			t.Errorf("%s: %d: %s", name, status, text)
		}
		if named && status != 404 && status != 401 && status != 403 && (status != 200 || harmless[name] != strings.TrimSpace(string(raw))) {
			t.Errorf("%s: %d: %s, want 404", name, status, raw)
		}
	}
	if asked < 60 {
		t.Errorf("only %d routes were asked", asked)
	}
	if raw, err := os.ReadFile(filepath.Join(s.workspace(sandbox.ID), "a.txt")); err != nil || string(raw) != mark {
		t.Errorf("the first owner's file is %q: %v", raw, err)
	}
	if after := everything(t, s, alice); after != before {
		t.Errorf("what is the first owner's was changed: before\n%s\nafter\n%s", before, after)
	}
	for _, other := range []string{"", "wrong"} { // and nobody at all
		if got := everything(t, s, &client{http: http.DefaultClient, api: other}); strings.Contains(got, mark) {
			t.Errorf("with the key %q: %s", other, got)
		}
	}
}

// upload sends a file as a form.
func upload(t *testing.T, url, key string) (status int, answer []byte) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile("files", "a.txt")
	if err == nil {
		_, err = w.Write([]byte("overwritten"))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, &body)
	must.Succeed(t, err)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+key)
	got, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer got.Body.Close()
	if answer, err = io.ReadAll(got.Body); err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, answer
}

// everything is a client's view of the lists.
func everything(t *testing.T, s *server, c *client) string {
	t.Helper()
	var out strings.Builder
	for _, path := range []string{
		"/api/v1/app-conversations/search", "/api/v1/conversation/11111111222233334444555555555555/events/search",
		"/api/v1/sandboxes/search", "/api/v1/secrets/search", "/api/v1/settings/profiles", "/api/keys", "/api/conversations",
	} {
		_, raw := c.send(t, "GET", s.url+path, nil)
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %s: %v", path, raw, err)
		}
		text, err := json.MarshalIndent(withoutTimes(v), "", " ")
		must.Succeed(t, err)
		out.Write(text)
	}
	return out.String()
}

// withoutTimes removes when something was used last.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] = withoutTimes(v[k]); k == "last_used_at" {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i])
		}
	}
	return v
}
