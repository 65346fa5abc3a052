package appserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// TestCanvas makes the requests of OpenHands' page to a cloud beyond its document: the
// files of a workspace, and requests to a sandbox that are enclosed in one to the page's
// own origin.
func TestCanvas(t *testing.T) {
	t.Parallel()
	d := join(t, lifeScript)
	c, _ := d.begin(t, map[string]any{"initial_message": text("make it")})
	d.follow(t, c, "finished")

	project := d.workspace(c.Sandbox)
	for _, name := range []string{"b/deep/file", "b/.git/config", "node_modules/x/index.js", "a"} {
		path := filepath.Join(project, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	must.Succeed(t, os.Symlink("/etc", filepath.Join(project, "etc")))
	files := d.url + "/api/v1/app-conversations/" + c.ID + "/files?path="
	for path, want := range map[string][]string{
		"/workspace/project":   {"a", "b/deep/file", "made"},
		"":                     {"a", "b/deep/file", "made"},
		"/workspace/project/b": {"deep/file"},
	} {
		var got []string
		d.owner.do(t, "GET", files+path, nil, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the files of %q (-want +got):\n%s", path, diff)
		}
	}
	for path, want := range map[string]int{"missing": 404, "a": 404, "etc": 422, "../..": 422, "/etc": 422} {
		if status, raw := d.owner.send(t, "GET", files+path, nil); status != want {
			t.Errorf("the files of %q: %d, want %d: %.300s", path, status, want, raw)
		}
	}

	// A path below a file is missing, too.
	if status, raw := d.owner.send(t, "GET", d.url+"/api/v1/app-conversations/"+c.ID+"/file?file_path=a/b", nil); status != http.StatusOK || string(raw) != `""` {
		t.Errorf("a file below a file: %d %.300s", status, raw)
	}
	for _, path := range []string{"list-files?path=a", "select-file?file=a/b"} {
		if status, raw := d.owner.send(t, "GET", d.url+"/api/conversations/"+c.ID+"/"+path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d %.300s", path, status, raw)
		}
	}

	wrong := map[string]any{"role": "user", "content": []any{map[string]any{"type": "image", "image_urls": false}}}
	for path, body := range map[string]any{"/" + c.ID + "/send-message": wrong, "": map[string]any{"initial_message": wrong}} {
		if status, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations"+path, body); status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong image to %q: %d %.300s", path, status, raw)
		}
	}

	c = d.conversation(t, c.ID)
	enclose := func(host, method, path, key string, body any) (int, string) {
		status, raw := (&client{http: http.DefaultClient}).send(t, "POST", d.url+"/api/cloud-proxy", map[string]any{
			"host": host, "method": method, "path": path, "headers": map[string]string{"X-Session-API-Key": key}, "body": body,
		})
		return status, string(raw)
	}
	if status, raw := enclose(d.url, "GET", "/api/conversations/"+c.ID, c.Key, nil); status != http.StatusOK || !strings.Contains(raw, "execution_status") {
		t.Errorf("the enclosed question: %d %.300s", status, raw)
	}
	for _, body := range []any{map[string]string{"command": "echo sea"}, `{"command": "echo sea"}`} {
		if status, raw := enclose(d.url, "POST", "/api/bash/execute_bash_command", c.Key, body); status != http.StatusOK || !strings.Contains(raw, `"sea\n"`) {
			t.Errorf("the enclosed command: %d %.300s", status, raw)
		}
	}
	for name, one := range map[string]struct {
		host, method, path, key string
		want                    int
	}{
		"another server":      {"http://127.0.0.1:1", "GET", "/api/conversations/" + c.ID, c.Key, http.StatusForbidden},
		"no server":           {"", "GET", "/api/conversations/" + c.ID, c.Key, http.StatusUnprocessableEntity},
		"no key":              {d.url, "GET", "/api/conversations/" + c.ID, "", http.StatusUnauthorized},
		"a wrong key":         {d.url, "GET", "/api/conversations/" + c.ID, "wrong", http.StatusUnauthorized},
		"the server's routes": {d.url, "GET", "/api/v1/users/me", c.Key, http.StatusUnauthorized},
		"an address":          {d.url, "GET", "http://127.0.0.1:1/api/conversations", c.Key, http.StatusUnprocessableEntity},
		"no route":            {d.url, "GET", "/index.html", c.Key, http.StatusUnprocessableEntity},
		"a method":            {d.url, "CONNECT", "/api/conversations/" + c.ID, c.Key, http.StatusUnprocessableEntity},
	} {
		if status, raw := enclose(one.host, one.method, one.path, one.key, nil); status != one.want {
			t.Errorf("%s: %d, want %d: %.300s", name, status, one.want, raw)
		}
	}
}
