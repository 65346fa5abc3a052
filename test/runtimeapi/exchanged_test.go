package runtimeapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// exchanging acts like a hostile model: it tries to end the server of the sandbox, then
// exchanges files for links while its editor and the server's routes read them.
const exchanging = `
api_key: ` + llmKey + `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "for s in KILL STOP TERM INT HUP QUIT ABRT SEGV USR1; do kill -$s 1 2>/dev/null; done; echo one is alive"}}]}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "ln -s /proc/self/environ e; ln -s /proc/1/environ e1; (sleep MARK & while [ ! -e go ]; do rm -f l; ln -s BESIDE/secret l; rm -f l; echo inside >l; rm -rf d; ln -s BESIDE d; rm -f d; mkdir d; echo inside >d/secret; done; kill $!) >/dev/null 2>&1 & echo on"}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/l}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/d/secret}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/e}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/l}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/e1}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: /proc/self/environ}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/d/secret}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: BESIDE/secret}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: create, path: WORK/d/made, file_text: planted}}]}
  - reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: WORK/d}}]}
  - reply: {text: tried}
`

// besideSecret is in a file of this machine beside the workspace.
const besideSecret = "secret-of-the-host-41c2"

// TestExchangedFiles: neither the model's editor nor the routes of the server, which run
// with different rights by different providers, read or write the target of a link.
func TestExchangedFiles(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) *placement{
		"process": func(t *testing.T) *placement {
			return outside(t, exchanging, "", "--sandbox", "process")
		},
		"docker": func(t *testing.T) *placement {
			return outside(t, exchanging, engine(t), "--sandbox", "docker", "--image", image, "--pull", "never")
		},
		"remote": func(t *testing.T) *placement {
			return outsideRemote(t, strings.ReplaceAll(exchanging, "WORK", "/workspace/project"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.t = t
			must.Succeed(t, os.Mkdir(p.beside, 0o755))
			must.Succeed(t, os.WriteFile(filepath.Join(p.beside, "secret"), []byte(besideSecret+"\n"), 0o644))
			c := p.create("file_editor")
			c.send(t, "try")
			await(t, func() bool { _, status := c.download(t, "d/secret"); return status == http.StatusOK })
			served := c.readExchanged(t)
			for _, e := range c.follow(t, "tried") {
				if text := string(e.Observation) + e.Error; hasSecret(text) {
					t.Errorf("the model was shown %s", text)
				} else if e.Kind == "ObservationEvent" && strings.Contains(text, "one is alive") {
					served++
				}
			}
			served += c.readExchanged(t)
			c.upload(t, "go", "")
			if served < 3 { // the file at least once by each, and the first command
				t.Errorf("only %d of the answers have what is inside", served)
			}
			entries, err := os.ReadDir(p.beside)
			text, readErr := os.ReadFile(filepath.Join(p.beside, "secret"))
			if err != nil || readErr != nil || len(entries) != 1 || string(text) != besideSecret+"\n" {
				t.Errorf("beside the workspace: %v, %q, %v, %v", entries, text, err, readErr)
			}
			if status := c.do(t, "DELETE", c.path(), nil, nil); status != http.StatusOK {
				t.Errorf("delete: %d", status)
			}
		})
	}
}

// hasSecret reports whether a text has the secret that nobody may see.
func hasSecret(text string) bool {
	for _, secret := range []string{besideSecret, serverKey, llmKey, "SESSION_API_KEY=", key} {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// readExchanged reads and writes by all routes, and returns how many answers have a file
// of the workspace.
func (c *placed) readExchanged(t *testing.T) (served int) {
	t.Helper()
	for range 30 {
		for _, name := range []string{"l", "d/secret", "e", "e1"} {
			for _, route := range []string{"/file/download?path=", "/git/diff?path="} {
				text := c.get(t, route+url.QueryEscape(c.workspace+"/"+name))
				if hasSecret(text) {
					t.Errorf("%s%s: %s", route, name, text)
				}
				if strings.Contains(text, "inside") {
					served++
				}
			}
		}
		for _, name := range []string{"l", "d/planted", "e"} {
			c.uploadTo(t, c.path()+"/file/upload", c.workspace+"/"+name, []byte("planted")) // where that leads is seen at the end
		}
	}
	for _, route := range []string{"/git/changes?path=", "/file/archive?format=tar.gz&path="} {
		if text := c.get(t, route+url.QueryEscape(c.workspace)); hasSecret(text) {
			t.Errorf("%s: %q", route, text)
		}
	}
	return served
}

// get returns an answer, unpacked.
func (c *placed) get(t *testing.T, route string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", c.url+c.path()+route, nil)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", c.key)
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil && answer.StatusCode != http.StatusOK { // an archive is cut off when files change
		t.Fatal(err)
	}
	if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
		raw, _ = io.ReadAll(z) // of one that was cut off, the beginning
	}
	return string(raw)
}
