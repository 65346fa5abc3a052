package files_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/files"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The conversation that there is, and one that there is not.
const (
	known   = "0000000000000000000000000000000a"
	unknown = "0000000000000000000000000000000b"
)

// place is a directory with a workspace in it.
type place struct {
	t   testing.TB
	dir string
	ws  string
}

func newPlace(t testing.TB) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	p := place{t, dir, filepath.Join(dir, "ws")}
	must.Succeed(t, os.Mkdir(p.ws, 0o700))
	return p
}

func (p place) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	must.Succeed(p.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(p.t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func (p place) link(name, to string) {
	p.t.Helper()
	must.Succeed(p.t, os.Symlink(to, filepath.Join(p.dir, name)))
}

func (p place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	must.Succeed(p.t, err)
	return string(b)
}

func (p place) workspaceOf() workspacescope.WorkspaceOf {
	return func(_ context.Context, id string) (workspacescope.Workspace, error) {
		if id != known {
			return nil, fault.New(fault.NotFound, "Conversation not found: "+id)
		}
		return workspacescope.Directory(p.ws), nil
	}
}

// server serves all routes of the package.
func (p place) server(o files.Options) *httptest.Server {
	p.t.Helper()
	o.WorkspaceOf = p.workspaceOf()
	s := files.New(o)
	h, err := rest.New(rest.Options{Routes: append(s.Routes(), s.ScopedRoutes(o.WorkspaceOf)...), Keys: func() []string { return nil }})
	must.Succeed(p.t, err)
	srv := httptest.NewServer(h)
	p.t.Cleanup(srv.Close)
	return srv
}

func do(t testing.TB, srv *httptest.Server, method, path string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, body)
	must.Succeed(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must.Succeed(t, err)
	return resp, string(b)
}

func get(t testing.TB, srv *httptest.Server, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return do(t, srv, http.MethodGet, path, nil, header...)
}

// form is a body with one file.
func form(t testing.TB, field, content string) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	w, err := m.CreateFormFile(field, "upload")
	must.Succeed(t, err)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, m.Close())
	return &b, m.FormDataContentType()
}

func upload(t testing.TB, srv *httptest.Server, path, content string) (int, string) {
	t.Helper()
	body, typ := form(t, "file", content)
	resp, text := do(t, srv, http.MethodPost, path, body, "Content-Type", typ)
	return resp.StatusCode, text
}

func q(path string) string { return "?path=" + url.QueryEscape(path) }
