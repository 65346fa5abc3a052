package executionserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a server on a workspace with a file a.txt, a directory sub, a link out to a
// secret, and a FIFO.
type bench struct {
	t        *testing.T
	url, dir string
	key      string
	client   *http.Client
}

func open(t *testing.T, key string) *bench {
	t.Helper()
	return openWith(t, key, time.Hour)
}

// openWith returns a server that leaves a command after a silence of this length.
func openWith(t *testing.T, key string, silence time.Duration) *bench {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "work")
	for _, d := range []string{"work/sub", "outside", "more", "scratch"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(base, d), 0o755))
	}
	for name, text := range map[string]string{
		"work/a.txt": "one\ntwo\nthree\n", "work/sub/b.txt": "B", "work/bin": "a\x00b", "work/latin": "caf\xe9\n", "work/dot.png": "PNG",
		"outside/secret": "SECRET", "more/m.txt": "M",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o644))
	}
	for from, to := range map[string]string{"work/out": "../outside", "work/in": "sub", "work/gone": "nothing"} {
		must.Succeed(t, os.Symlink(to, filepath.Join(base, from)))
	}
	disk, err := files.New(files.Config{Workspace: dir, UndoDir: filepath.Join(base, "scratch/undo")})
	must.Succeed(t, err)
	shell := func(at string) tool.Executor {
		return terminal.New(terminal.Config{
			WorkingDir: at, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base}, SoftTimeout: silence, SoftAlways: true, MaxOutput: 1 << 20,
		})
	}
	own, err := tool.NewSet(ticketTool(t, "list_tickets"))
	must.Succeed(t, err)
	closed := 0
	brought := tickets{&closed}
	s, err := executionserver.New(executionserver.Options{
		WorkingDir: dir, Roots: []string{filepath.Join(base, "more")}, Key: key, NewShell: shell, Own: own,
		Tools: map[string]tool.Executor{
			(&event.TerminalAction{}).Kind(): shell(dir), (&event.FileEditorAction{}).Kind(): editor.New(disk), "ListTicketsAction": brought, "OtherAction": brought,
		},
	})
	must.Succeed(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		must.Report(t, s.Close())
		if closed == 0 {
			t.Error("an executor was not closed")
		}
	})
	return &bench{t: t, url: web.URL, dir: dir, key: key, client: web.Client()}
}

// do sends a request and returns the status and the body.
func (b *bench) do(method, path, contentType string, body io.Reader, header ...string) (int, []byte) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, body)
	must.Succeed(b.t, err)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Session-API-Key", b.key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	res, err := b.client.Do(r)
	must.Succeed(b.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must.Succeed(b.t, err)
	return res.StatusCode, raw
}

func (b *bench) post(path, body string) (int, []byte) {
	b.t.Helper()
	return b.do(http.MethodPost, path, "application/json", strings.NewReader(body))
}

// observed is an observation as clients get it.
type observed struct {
	Message     string         `json:"message"`
	Observation string         `json:"observation"`
	Content     string         `json:"content"`
	Extras      map[string]any `json:"extras"`
	Success     *bool          `json:"success"`
}

func (o observed) metadata(name string) any {
	m, _ := o.Extras["metadata"].(map[string]any)
	return m[name]
}

// act runs an action, which $W may name the workspace in.
func (b *bench) act(action string) (o observed) {
	b.t.Helper()
	status, raw := b.post("/execute_action", `{"action":`+strings.ReplaceAll(action, "$W", b.dir)+`}`)
	if status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", action, status, raw)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		b.t.Fatalf("%s: %v in %s", action, err, raw)
	}
	return o
}
