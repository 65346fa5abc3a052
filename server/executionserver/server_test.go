package executionserver_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

func TestKey(t *testing.T) {
	t.Parallel()
	b := open(t, "sesame")
	for _, r := range []struct{ method, path string }{
		{"POST", "/execute_action"}, {"POST", "/upload_file"}, {"GET", "/download_files"}, {"POST", "/list_files"}, {"GET", "/view-file"},
		{"POST", "/update_mcp_server"}, {"GET", "/vscode/connection_token"}, {"GET", "/nowhere"}, {"GET", "/alive/"}, {"GET", "//alive"},
	} {
		for _, key := range []string{"", "wrong", "Sesame", "sesam"} {
			if status, raw := b.do(r.method, r.path, "application/json", strings.NewReader("{}"), "X-Session-API-Key", key); status != http.StatusForbidden {
				t.Errorf("%s with %q: %d %s", r.path, key, status, raw)
			}
		}
	}
	for _, path := range []string{"/alive", "/server_info"} {
		if status, raw := b.do("GET", path, "", nil, "X-Session-API-Key", ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, raw)
		}
	}
	if status, raw := b.post("/list_files", "{}"); status != http.StatusOK {
		t.Errorf("with the key: %d %s", status, raw)
	}
}

// TestWithoutKey: programs of this machine are served, web pages are not.
func TestWithoutKey(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	for name, header := range map[string][]string{
		"rebinding": {"Host", "evil.example"}, "a page": {"Origin", "https://evil.example"}, "null": {"Origin", "null"}, "no-cors": {"Sec-Fetch-Site", "cross-site"},
	} {
		if status, raw := b.do("POST", "/list_files", "text/plain", strings.NewReader("{}"), header...); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, raw)
		}
	}
	if status, _ := b.do("POST", "/list_files", "application/json", strings.NewReader("{}"), "Origin", b.url); status != http.StatusOK {
		t.Errorf("its own origin: %d", status)
	}
}

func TestSmallRoutes(t *testing.T) {
	t.Parallel()
	b := open(t, "k")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/alive", "", 200, `{"status":"ok"}`},
		{"POST", "/alive", "", 405, `{"detail":"Method Not Allowed"}`},
		{"GET", "/nowhere", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/vscode/connection_token", "", 200, `{"token":null}`},
		{"POST", "/update_mcp_server", `[]`, 200, `{"detail":"MCP server updated successfully","router_error_log":""}`},
		{"POST", "/update_mcp_server", `[{"name":"a"}]`, 200, `{"detail":"MCP server updated successfully","router_error_log":"1 MCP servers were not added: this server proxies none"}`},
		{"POST", "/update_mcp_server", `{}`, 400, `{"detail":"Request must be a list of MCP tools to sync"}`},
		{"POST", "/list_files", `{}`, 200, `["in/","sub/","a.txt","bin","dot.png","latin"]`},
		{"POST", "/list_files", `{"path":"sub"}`, 200, `["b.txt"]`},
		{"POST", "/list_files", `{"path":"nothing"}`, 200, `[]`},
		{"POST", "/list_files", `{"path":"out"}`, 200, `[]`},
		{"POST", "/list_files", `{"path":1}`, 422, `{"detail":"Invalid request parameters"`},
	} {
		status, raw := b.do(c.method, c.path, "application/json", strings.NewReader(c.body))
		if status != c.status || !strings.HasPrefix(string(raw), c.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, status, raw, c.status, c.want)
		}
	}
	if status, raw := b.post("/list_files", `{"path":"/etc"}`); status != http.StatusForbidden {
		t.Errorf("list /etc: %d %s", status, raw)
	}
	_, raw := b.do("GET", "/server_info", "", nil)
	var info struct {
		Uptime, IdleTime *float64
		Resources        struct {
			CPU    *float64           `json:"cpu_percent"`
			Memory map[string]float64 `json:"memory"`
			Disk   map[string]float64 `json:"disk"`
			IO     map[string]float64 `json:"io"`
		}
	}
	must.Succeed(t, json.Unmarshal(bytes.ReplaceAll(raw, []byte("idle_time"), []byte("IdleTime")), &info))
	if info.Uptime == nil || info.IdleTime == nil || info.Resources.CPU == nil || info.Resources.Memory["rss"] < 1<<20 || info.Resources.Disk["total"] == 0 {
		t.Errorf("server_info: %s", raw)
	}
}

// form is a body with one file.
func form(t *testing.T, name string, content []byte) (contentType string, body io.Reader) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	part, err := w.CreateFormFile("file", "x")
	if err == nil {
		_, err = part.Write(content)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), strings.NewReader(strings.Replace(buf.String(), `filename="x"`, `filename="`+name+`"`, 1))
}

// packed is an archive of names and texts; a name that ends with "@" is a link.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(files); i += 2 {
		h := &zip.FileHeader{Name: strings.TrimSuffix(files[i], "@")}
		h.SetMode(0o755)
		if strings.HasSuffix(files[i], "@") {
			h.SetMode(0o777 | os.ModeSymlink)
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, w.Close())
	return buf.Bytes()
}

// bomb is an archive of a file of zeros that says how large it is.
func bomb(t *testing.T, size int, says uint64) []byte {
	t.Helper()
	var content, buf bytes.Buffer
	d, err := flate.NewWriter(&content, flate.BestSpeed)
	if err == nil {
		_, err = d.Write(make([]byte, size))
	}
	if err != nil || d.Close() != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(&buf)
	f, err := w.CreateRaw(&zip.FileHeader{
		Name: "zeros", Method: zip.Deflate, CompressedSize64: uint64(content.Len()), UncompressedSize64: says, CRC32: crc32.ChecksumIEEE(make([]byte, size)),
	})
	if err == nil {
		_, err = f.Write(content.Bytes())
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// deep is an archive whose entries need many directories.
func deep(t *testing.T, entries, depth int) []byte {
	t.Helper()
	var files []string
	for i := range entries {
		files = append(files, fmt.Sprint(i)+strings.Repeat("/d", depth)+"/", "")
	}
	return packed(t, files...)
}

func TestUpload(t *testing.T) {
	t.Parallel()
	b := open(t, "k")
	send := func(destination, query, name string, content []byte) (int, string) {
		t.Helper()
		kind, body := form(t, name, content)
		status, raw := b.do("POST", "/upload_file?destination="+url.QueryEscape(strings.ReplaceAll(destination, "$W", b.dir))+query, kind, body)
		return status, string(raw)
	}
	for _, c := range []struct {
		destination, query, name string
		content                  []byte
		status                   int
		text                     string
	}{
		{"$W/up", "", "f.txt", []byte("F"), 200, `"filename":"f.txt"`},
		{"$W/tree", "&recursive=true", "t.zip", packed(t, "d/", "", "d/deep", "DEEP", "top", "TOP"), 200, `"recursive":true`},
		{"$W/tree", "&recursive=true", "t.txt", nil, 400, "Recursive uploads must be zip files"},
		{"$W/tree", "&recursive=perhaps", "t.zip", nil, 422, "valid boolean"},
		{"up", "", "f", nil, 400, "Destination must be an absolute path"},
		{"/etc", "", "f", nil, 403, "not in a directory of this server"},
		{"$W/../outside", "", "f", nil, 403, "not in a directory of this server"},
		{"$W/out", "", "f", []byte("x"), 500, ""},
		{"$W", "", "..", []byte("x"), 422, ""},
		{"$W", "&recursive=true", "bad.zip", []byte("no archive"), 400, "is no zip archive"},
		{"$W", "&recursive=true", "up.zip", packed(t, "../../outside/x", "x"), 400, "leads out of the destination"},
		{"$W", "&recursive=true", "abs.zip", packed(t, "/etc/x", "x"), 400, "leads out of the destination"},
		{"$W", "&recursive=true", "link.zip", packed(t, "l@", "/etc"), 400, "neither a file nor a directory"},
		{"$W", "&recursive=true", "through.zip", packed(t, "out/x", "x"), 500, ""},
		{"$W/bomb", "&recursive=true", "bomb.zip", bomb(t, 1, 5<<30), 413, "more than 4294967296 bytes"},
		{"$W/bomb", "&recursive=true", "more.zip", bomb(t, 1, 1<<63), 413, "more than 4294967296 bytes"},
		{"$W/bomb", "&recursive=true", "deep.zip", deep(t, 60, 2000), 413, "more than 100000 files and directories"},
		{"$W/bomb", "&recursive=true", "long.zip", deep(t, 1, 2100), 400, "has a name of 42"},
		{"$W/bomb", "&recursive=true", "many.zip", packed(t, slices.Repeat([]string{"same/", ""}, 100_001)...), 413, "more than 100000 files and directories"},
		{"$W/lies", "&recursive=true", "lies.zip", bomb(t, 1<<20, 10), 400, "larger than it says"},
	} {
		status, raw := send(c.destination, c.query, c.name, c.content)
		if status != c.status && !(c.name == ".." && status == 400) || !strings.Contains(raw, c.text) {
			t.Errorf("%s to %s: %d %s, want %d %q", c.name, c.destination, status, raw, c.status, c.text)
		}
	}
	for name, want := range map[string]string{"up/f.txt": "F", "tree/d/deep": "DEEP", "tree/top": "TOP", "../outside/secret": "SECRET"} {
		if raw, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, "../outside")); err != nil || len(entries) != 1 {
		t.Errorf("there are files outside: %v, %v", entries, err)
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, "bomb")); err != nil || len(entries) > 0 {
		t.Errorf("of the bombs there is %v, %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "lies/zeros")); err != nil || info.Size() > 11 {
		t.Errorf("an entry that is larger than it says: %v, %v", info, err)
	}
	if status, raw := b.post("/upload_file?destination="+url.QueryEscape(b.dir), "{}"); status != http.StatusUnprocessableEntity {
		t.Errorf("no form: %d %s", status, raw)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	b := open(t, "k")
	get := func(path string) (int, []byte) {
		t.Helper()
		return b.do("GET", "/download_files?path="+url.QueryEscape(strings.ReplaceAll(path, "$W", b.dir)), "", nil)
	}
	names := func(raw []byte) (all []string) {
		t.Helper()
		r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		must.Succeed(t, err)
		for _, f := range r.File {
			in, err := f.Open()
			must.Succeed(t, err)
			text, err := io.ReadAll(in)
			must.Succeed(t, err)
			if bytes.Contains(text, []byte("SECRET")) {
				t.Errorf("%s has what lies outside", f.Name)
			}
			all = append(all, fmt.Sprintf("%s %d", f.Name, len(text)))
		}
		slices.Sort(all)
		return all
	}
	status, raw := get("$W")
	if got := names(raw); status != http.StatusOK || !slices.Equal(got, []string{"a.txt 14", "bin 3", "dot.png 3", "latin 5", "sub/b.txt 1"}) {
		t.Errorf("all: %d %q", status, got)
	}
	if status, raw := get("$W/a.txt"); status != http.StatusOK || !slices.Equal(names(raw), []string{"a.txt 14"}) {
		t.Errorf("one file: %d", status)
	}
	for path, want := range map[string]int{"$W/none": 404, "sub": 400, "/etc": 403, "$W/out/secret": 500, "": 400} {
		if status, raw := get(path); status != want {
			t.Errorf("%s: %d %.200s, want %d", path, status, raw, want)
		}
	}
	for _, size := range []int64{65 << 30, 30 << 30} {
		must.Succeed(t, os.Truncate(filepath.Join(b.dir, "sub/b.txt"), size))
		for _, path := range []string{"$W", "$W/sub/b.txt"} {
			if status, raw := get(path); status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s with a sparse file of %d bytes: %d %.200s", path, size, status, raw)
			}
		}
	}
	if status, _ := b.do("GET", "/download_files", "", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("no path: %d", status)
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	b := open(t, "k")
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"$W/dot.png":      {200, `src="data:image/png;base64,UE5H"`},
		"$W/a.txt":        {500, "Unsupported file extension: .txt"},
		"$W/none.png":     {404, "File not found"},
		"$W/sub":          {400, "Path is a directory"},
		"dot.png":         {400, "Path must be absolute"},
		"/etc/passwd":     {403, "not in a directory"},
		"$W/<script>.png": {404, "&lt;script&gt;"},
		"$W/out/secret":   {404, "File not found"},
	} {
		status, raw := b.do("GET", "/view-file?path="+url.QueryEscape(strings.ReplaceAll(path, "$W", b.dir)), "", nil)
		if status != want.status || !strings.Contains(string(raw), want.text) || strings.Contains(string(raw), "<script>") {
			t.Errorf("%s: %d %s, want %d %s", path, status, raw, want.status, want.text)
		}
	}
}
