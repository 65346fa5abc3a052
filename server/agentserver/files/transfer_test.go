package files_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/files"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	srv := p.server(files.Options{})
	p.write("ws/file", "x")
	p.write("run.sh", "old")
	must.Succeed(t, os.Chmod(p.dir+"/run.sh", 0o755))
	p.link("alias", "run.sh")
	must.Succeed(t, syscall.Mkfifo(p.dir+"/pipe", 0o600))
	binary := string([]byte{0, 1, 2, 0xff, '\r', '\n', '-', '-'})
	for _, c := range []struct {
		path   string
		status int
		want   string // answer of the reference 1.58.0
	}{
		{"/api/file/upload" + q(p.dir+"/new/deep/x.bin"), 200, `{"success":true,"file_size":8}`},
		{"/api/file/upload" + p.dir + "/legacy", 200, `{"success":true,"file_size":8}`},
		{"/api/file/upload" + q(p.dir+"/alias"), 200, `{"success":true,"file_size":8}`},
		{"/api/file/upload" + q(p.ws), 400, `{"detail":"Path is a directory"}`},
		{"/api/file/upload" + q("rel"), 400, `{"detail":"Path must be absolute"}`},
		{"/api/file/upload" + q(p.dir+"/ws/file/z"), 400, `{"detail":"A parent of the path is not a directory"}`},
		{"/api/file/upload" + q(p.dir+"/ws/file/z/y"), 400, `{"detail":"A parent of the path is not a directory"}`},
		{"/api/file/upload" + q(p.dir+"/z\x00z"), 400, `{"detail":"Path must not contain null bytes"}`},
		{"/api/file/upload" + q(p.dir+"/pipe"), 400, `{"detail":"Path is not a file"}`},
		{"/api/file/upload" + q(p.dir+"/"+strings.Repeat("x", 300)), 400, `{"detail":"Path cannot be used: file name too long"}`},
		{"/api/file/upload", 422, `{"detail":[{"type":"missing","loc":["query","path"],"msg":"Field required","input":null}]}`},
		{"/api/conversations/" + known + "/file/upload" + q(p.ws+"/in"), 200, `{"success":true,"file_size":8}`},
		{"/api/conversations/" + known + "/file/upload" + q(p.ws+"/../out"), 422, `{"detail":"path must be inside the conversation workspace"}`},
		{"/api/conversations/" + unknown + "/file/upload" + q(p.ws+"/in"), 404, `{"detail":"Conversation not found: ` + unknown + `"}`},
	} {
		if status, body := upload(t, srv, c.path, binary); status != c.status || body != c.want {
			t.Errorf("%s\n got %d %s\nwant %d %s", c.path, status, body, c.status, c.want)
		}
	}
	for _, name := range []string{"new/deep/x.bin", "legacy", "run.sh", "ws/in"} {
		if p.read(name) != binary {
			t.Errorf("%s holds %q", name, p.read(name))
		}
	}
	if st, err := os.Stat(p.dir + "/run.sh"); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the mode became %v %v", st.Mode(), err)
	}
	if to, err := os.Readlink(p.dir + "/alias"); err != nil || to != "run.sh" {
		t.Errorf("the link became %q %v", to, err)
	}
	if _, err := os.Stat(p.dir + "/out"); err == nil {
		t.Error("an upload left the workspace")
	}
}

func TestBadUploads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	srv := p.server(files.Options{})
	to := "/api/file/upload" + q(p.dir+"/x")
	other, otherType := form(t, "other", "x")
	const missing = `{"detail":[{"type":"missing","loc":["body","file"],"msg":"Field required","input":null}]}`
	for _, c := range []struct {
		name, typ string
		body      io.Reader
		status    int
		want      string
	}{
		{"no form", "text/plain", strings.NewReader("x"), 422, missing},
		{"no boundary", "multipart/form-data", strings.NewReader("x"), 400, `{"detail":"Missing boundary in multipart."}`},
		{"no parts", "multipart/form-data; boundary=abc", strings.NewReader("x"), 400, `{"detail":"Invalid multipart data."}`},
		{"other field", otherType, other, 422, missing},
		{"no file", "multipart/form-data; boundary=b", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nplain\r\n--b--\r\n"), 422, `Expected UploadFile, received`},
		{"cut off", "multipart/form-data; boundary=b", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nhalf"), 400, `{"detail":"Invalid multipart data."}`},
	} {
		resp, body := do(t, srv, http.MethodPost, to, c.body, "Content-Type", c.typ)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
	}
	left, err := os.ReadDir(p.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestBrokenUpload breaks the connection in the middle: neither half a file
// nor a temporary one stays.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("x", "old")
	done := make(chan struct{})
	s := files.New(files.Options{})
	srv := p.server(files.Options{})
	var handle = s.Routes()[0].Handle
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		if err := handle(w, r); err == nil {
			t.Error("half an upload succeeded")
		}
	})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	must.Succeed(t, err)
	fmt.Fprintf(conn, "POST /api/file/upload%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nhalf", q(p.dir+"/x"))
	conn.Close()
	<-done
	if left, err := os.ReadDir(p.dir); len(left) != 2 || p.read("x") != "old" {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	srv := p.server(files.Options{})
	file := p.write("ws/a.txt", "hello\nworld")
	odd := p.write("ü \"q.txt", "x")
	p.link("ws/out", "/etc/passwd")
	must.Succeed(t, syscall.Mkfifo(p.dir+"/pipe", 0o600))
	resp, body := get(t, srv, "/api/file/download"+q(file))
	etag := resp.Header.Get("ETag")
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", "Content-Length": "11", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": `attachment; filename="a.txt"`,
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if body != "hello\nworld" || etag == "" || resp.Header.Get("Last-Modified") == "" {
		t.Errorf("%q %v", body, resp.Header)
	}
	for _, c := range []struct {
		path, header, value string
		status              int
		want                string
	}{
		{"/api/file/download" + q(file), "Range", "bytes=1-3", 206, "ell"},
		{"/api/file/download" + q(file), "Range", "bytes=-5", 206, "world"},
		{"/api/file/download" + q(file), "Range", "bytes=100-", 416, ""},
		{"/api/file/download" + q(file), "Range", "bytes=0-1,3-4", 206, "Content-Range: bytes 3-4/11\r\n"},
		{"/api/file/download" + q(file), "If-None-Match", etag, 304, ""},
		{"/api/file/download" + file, "", "", 200, "hello"},
		{"/api/file/download" + q(p.ws), "", "", 400, `{"detail":"Path is not a file"}`},
		{"/api/file/download" + q(p.dir+"/pipe"), "", "", 400, `{"detail":"Path is not a file"}`},
		{"/api/file/download" + q(p.dir+"/none"), "", "", 404, `{"detail":"File not found"}`},
		{"/api/file/download" + q(file+"/x"), "", "", 404, `{"detail":"File not found"}`},
		{"/api/file/download" + q("none"), "", "", 400, `{"detail":"Path must be absolute"}`},
		{"/api/file/download" + q(""), "", "", 400, `{"detail":"Path must be absolute"}`},
		{"/api/file/download" + q("/a\x00b"), "", "", 400, `{"detail":"Path must not contain null bytes"}`},
		{"/api/file/download", "", "", 422, `"loc":["query","path"]`},
		{"/api/conversations/" + known + "/file/download" + q(file), "", "", 200, "hello"},
		{"/api/conversations/" + known + "/file/download" + q(odd), "", "", 422, `{"detail":"path must be inside the conversation workspace"}`},
		{"/api/conversations/" + known + "/file/download" + q(p.ws+"/out"), "", "", 422, ""},
		{"/api/conversations/" + known + "/file/download" + q("a.txt"), "", "", 422, ""},
		{"/api/conversations/" + known + "/file/download" + q(p.ws+"/..\x00"), "", "", 422, ""},
		{"/api/conversations/" + known + "/file/home", "", "", 404, ""},
	} {
		var header []string
		if c.header != "" {
			header = []string{c.header, c.value}
		}
		resp, body := get(t, srv, c.path, header...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %q", c.path, c.value, resp.StatusCode, body)
		}
	}
	if resp, _ := get(t, srv, "/api/file/download"+q(odd)); resp.Header.Get("Content-Disposition") != "attachment; filename*=utf-8''%C3%BC%20%22q.txt" {
		t.Errorf("odd name: %v", resp.Header)
	}
}

// TestLargeFiles moves a file that is larger than the memory which may be
// allocated for it.
func TestLargeFiles(t *testing.T) { // alone, because it counts allocations
	const size, allowed = 1 << 30, 24 << 20
	p := newPlace(t)
	srv := p.server(files.Options{})
	large := filepath.Join(p.dir, "large")
	f, err := os.Create(large)
	must.Succeed(t, err)
	must.Succeed(t, f.Truncate(size))
	f.Close()
	allocated := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	down := allocated(func() {
		resp, err := srv.Client().Get(srv.URL + "/api/file/download" + q(large))
		must.Succeed(t, err)
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	up := allocated(func() {
		var head bytes.Buffer
		m := multipart.NewWriter(&head)
		if _, err := m.CreateFormFile("file", "large"); err != nil {
			t.Fatal(err)
		}
		const part = size / 8
		in := io.MultiReader(&head, io.LimitReader(zeros{}, part), strings.NewReader("\r\n--"+m.Boundary()+"--\r\n"))
		resp, body := do(t, srv, http.MethodPost, "/api/file/upload"+q(p.dir+"/copy"), in, "Content-Type", m.FormDataContentType())
		if want := fmt.Sprintf(`{"success":true,"file_size":%d}`, part); resp.StatusCode != 200 || body != want {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
	t.Logf("allocated: %d KiB down for 1 GiB, %d KiB up for 128 MiB", down>>10, up>>10)
	if down > allowed || up > allowed {
		t.Error("that grows with the file")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
