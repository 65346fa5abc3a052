package files_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/server/agentserver/files"
)

func TestFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("file", "x")
	for _, name := range []string{"home/b/x", "home/A/x", "home/a/x", "home/.hidden/x", "home/C"} {
		p.write(name, "x")
	}
	p.link("home/link", "/etc")
	home := p.dir + "/home"
	srv := p.server(files.Options{Home: home})
	entry := func(name string) string { return `{"name":"` + name + `","path":"` + home + "/" + name + `"}` }
	for _, c := range []struct {
		method, path string
		status       int
		want         string // in the form of the reference 1.58.0
	}{
		{"GET", "/api/file/home", 200, `{"home":"` + home + `","favorites":[{"label":"A","path":"` + home + `/A"},{"label":"a","path":"` + home + `/a"},{"label":"b","path":"` + home + `/b"}],"locations":[{"label":"/","path":"/"}]}`},
		{"GET", "/api/file/home?include_hidden=x", 422, ""},
		{"GET", "/api/file/search_subdirs" + q(home+"/"), 200, `{"items":[` + entry("A") + "," + entry("a") + "," + entry("b") + `],"next_page_id":null}`},
		{"GET", "/api/file/search_subdirs" + q(home) + "&limit=1", 200, `{"items":[` + entry("A") + `],"next_page_id":"a"}`},
		{"GET", "/api/file/search_subdirs" + q(home) + "&limit=1&page_id=a", 200, `{"items":[` + entry("a") + `],"next_page_id":"b"}`},
		{"GET", "/api/file/search_subdirs" + q(home) + "&limit=1&page_id=none&include_hidden=true", 200, `{"items":[` + entry(".hidden") + `],"next_page_id":"A"}`},
		{"GET", "/api/file/search_subdirs" + q(home) + "&limit=0", 422, `{"detail":[{"type":"greater_than","loc":["query","limit"],"msg":"Input should be greater than 0","input":"0","ctx":{"gt":0}}]}`},
		{"GET", "/api/file/search_subdirs" + q(home) + "&limit=101", 422, ""},
		{"GET", "/api/file/search_subdirs" + q(home+"/none"), 404, `{"detail":"Directory not found"}`},
		{"GET", "/api/file/search_subdirs" + q(p.dir+"/file"), 400, `{"detail":"Path is not a directory"}`},
		{"GET", "/api/file/search_subdirs" + q(p.dir+"/file/x"), 404, `{"detail":"Directory not found"}`},
		{"GET", "/api/file/search_subdirs" + q("rel"), 400, `{"detail":"Path must be absolute"}`},
		{"GET", "/api/file/search_subdirs" + q("/\x00"), 400, `{"detail":"Path must not contain null bytes"}`},
		{"POST", "/api/file/create_directory" + q(p.dir+"/n/m"), 200, `{"success":true}`},
		{"POST", "/api/file/create_directory" + q(p.dir+"/n/m"), 200, `{"success":true}`},
		{"POST", "/api/file/create_directory" + q(p.dir+"/file"), 400, `{"detail":"Path exists and is not a directory"}`},
		{"POST", "/api/file/create_directory" + q(p.dir+"/file/x"), 400, `{"detail":"Path exists and is not a directory"}`},
		{"POST", "/api/file/create_directory" + q("x"), 400, `{"detail":"Path must be absolute"}`},
		{"POST", "/api/file/create_directory" + q("/x\x00"), 400, ""},
		{"POST", "/api/conversations/" + known + "/file/create_directory" + q(p.ws+"/new"), 200, `{"success":true}`},
		{"POST", "/api/conversations/" + known + "/file/create_directory" + q(p.dir+"/new"), 422, ""},
	} {
		resp, body := do(t, srv, c.method, c.path, nil)
		if resp.StatusCode != c.status || c.want != "" && body != c.want {
			t.Errorf("%s %s\n got %d %s\nwant %d %s", c.method, c.path, resp.StatusCode, body, c.status, c.want)
		}
	}
	for _, dir := range []string{"/n/m", "/ws/new"} {
		if st, err := os.Stat(p.dir + dir); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	srv := newPlace(t).server(files.Options{})
	const rest = "; HttpOnly; Max-Age=315360000; Path=/api/conversations; SameSite=none"
	for _, c := range []struct {
		method, key, proto, host, want string // as the reference 1.58.0
	}{
		{"POST", "abc", "", "", "oh_workspace_session_key=abc" + rest + "; Secure; Partitioned"},
		{"POST", "", "", "", `oh_workspace_session_key=""` + rest + "; Secure; Partitioned"},
		{"POST", `a b;c"é`, "", "example.com", `oh_workspace_session_key="a b\073c\"\303\251"` + rest},
		{"POST", "a/b+c==", "", "example.com", `oh_workspace_session_key="a/b+c=="` + rest},
		{"POST", "abc", "https, http", "example.com", "oh_workspace_session_key=abc" + rest + "; Secure; Partitioned"},
		{"POST", "abc", "", "[::1]:80", "oh_workspace_session_key=abc" + rest + "; Secure; Partitioned"},
		{"DELETE", "abc", "", "", `oh_workspace_session_key=""; HttpOnly; Max-Age=0; Path=/api/conversations; SameSite=none; Secure; Partitioned`},
	} {
		resp, _ := do(t, srv, c.method, "/api/auth/workspace-session", nil, "X-Session-API-Key", c.key, "X-Forwarded-Proto", c.proto, "X-Forwarded-Host", c.host)
		if got := strings.Join(resp.Header.Values("Set-Cookie"), "|"); resp.StatusCode != http.StatusNoContent || got != c.want {
			t.Errorf("%d %s\nwant %s", resp.StatusCode, got, c.want)
		}
	}
}
