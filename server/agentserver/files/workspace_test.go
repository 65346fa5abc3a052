package files_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/files"
)

func TestWorkspacePages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("ws/index.html", "<h1>root")
	p.write("ws/b.py", "b")
	p.write("ws/report.pdf", "%PDF")
	p.write("ws/pic.svg", "<svg/>")
	p.write("ws/Makefile", "all:")
	p.write("ws/sub/x", "x")
	p.write("ws/odd/index.html/x", "x")
	p.write("secret", "secret")
	p.write("ws2/x", "secret")
	p.link("ws/out", "/etc/passwd")
	p.link("ws/up", "..")
	p.link("ws/in", p.ws+"/b.py")
	p.link("ws/sub/index.html", "../../secret")
	p.link("ws/loop", "loop")
	must.Succeed(t, syscall.Mkfifo(p.ws+"/pipe", 0o600))
	srv := p.server(files.Options{})
	base := "/api/conversations/" + known + "/workspace"
	const outside = `{"detail":"Path is outside the workspace"}`
	for _, c := range []struct {
		path   string
		status int
		want   string // answer of the reference 1.58.0
		typ    string
	}{
		{base, 200, "<h1>root", "text/html; charset=utf-8"},
		{base + "/", 200, "<h1>root", "text/html; charset=utf-8"},
		{base + "/b.py", 200, "b", "text/x-python; charset=utf-8"},
		{base + "/in", 200, "b", "text/x-python; charset=utf-8"},
		{base + "/report.pdf", 200, "%PDF", "application/pdf"},
		{base + "/pic.svg", 200, "<svg/>", "image/svg+xml"},
		{base + "/Makefile", 200, "all:", "text/plain; charset=utf-8"},
		{base + "/odd", 404, `{"detail":"No index.html in directory"}`, ""},
		{base + "/nope", 404, `{"detail":"File not found"}`, ""},
		{base + "/b.py/x", 404, `{"detail":"File not found"}`, ""},
		{base + "/pipe", 404, `{"detail":"File not found"}`, ""},
		{base + "/loop", 404, `{"detail":"File not found"}`, ""},
		{base + "/out", 400, outside, ""},
		{base + "/up/secret", 400, outside, ""},
		{base + "/sub", 400, outside, ""},
		{base + "/sub/index.html", 400, outside, ""},
		{base + "/..%2fsecret", 400, outside, ""},
		{base + "/..%2fws2%2fx", 400, outside, ""},
		{base + "/%2fetc%2fpasswd", 400, outside, ""},
		{base + "/sub%2f..%2f..%2fsecret", 400, outside, ""},
		{base + "/a%00b", 400, outside, ""},
		{base + "/%ff", 404, `{"detail":"File not found"}`, ""},
		{"/api/conversations/" + unknown + "/workspace/x", 404, `{"detail":"Conversation not found: ` + unknown + `"}`, ""},
		{"/api/conversations/zz/workspace", 422, "uuid_parsing", ""},
	} {
		resp, body := get(t, srv, c.path)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) || c.typ != "" && resp.Header.Get("Content-Type") != c.typ {
			t.Errorf("%s: %d %q %s", c.path, resp.StatusCode, body, resp.Header.Get("Content-Type"))
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s tells what is outside", c.path)
		}
		if c.status != 200 {
			continue
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if sandbox := strings.HasPrefix(csp, "sandbox") && !strings.Contains(csp, "allow-same-origin"); sandbox == (c.typ == "application/pdf") {
			t.Errorf("%s: policy %q", c.path, csp)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("ETag") == "" {
			t.Errorf("%s: %v", c.path, resp.Header)
		}
	}
	for dest, want := range map[string]string{
		"iframe": "sandbox allow-same-origin;", "document": "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads;",
	} {
		resp, _ := get(t, srv, base, "Sec-Fetch-Dest", dest)
		got := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(got, want+" default-src 'self'") {
			t.Errorf("%s: policy %q", dest, got)
		}
		for _, directive := range []string{"connect-src 'self' data: blob:;", "form-action 'self';"} { // nothing leaves by them
			if !strings.Contains(got, directive) {
				t.Errorf("%s: no %q in %q", dest, directive, got)
			}
		}
		if strings.Contains(got, "*") || strings.Contains(got, "https:;") || strings.Contains(got, "img-src") {
			t.Errorf("%s: any host in %q", dest, got)
		}
	}
	must.Succeed(t, os.RemoveAll(p.ws))
	if resp, body := get(t, srv, base); resp.StatusCode != 404 || body != `{"detail":"Workspace directory does not exist"}` {
		t.Errorf("no workspace: %d %s", resp.StatusCode, body)
	}
}

// FuzzWorkspacePath looks for a path that reads files outside.
func FuzzWorkspacePath(f *testing.F) {
	p := newPlace(f)
	p.write("secret", "the secret")
	p.write("ws/sub/a", "fine")
	p.link("ws/up", "..")
	p.link("ws/abs", p.dir+"/secret")
	p.link("ws/sub/dir", "../up")
	srv := p.server(files.Options{})
	for _, s := range []string{"sub/a", "../secret", "up/secret", "abs", "sub/dir/secret", "/etc/passwd", "sub/../../secret", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		var escaped strings.Builder
		for i := range len(path) {
			const hex = "0123456789abcdef"
			escaped.WriteString("%" + string(hex[path[i]>>4]) + string(hex[path[i]&15]))
		}
		resp, body := get(t, srv, "/api/conversations/"+known+"/workspace/"+escaped.String())
		if strings.Contains(body, "the secret") || resp.StatusCode >= 500 {
			t.Errorf("%q: %d %s", path, resp.StatusCode, body)
		}
	})
}
