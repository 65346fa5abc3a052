package files_test

import (
	"testing"

	"github.com/deft-dev/deft/server/agentserver/files"
)

// TestList: a directory of a workspace is listed with the targets of its links, and
// nothing outside.
func TestList(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	srv := p.server(files.Options{})
	p.write("ws/sub/deep", "x")
	p.write("ws/a ü <.txt", "four")
	p.write("secret", "not shown")
	p.link("ws/dir", "sub")
	p.link("ws/out", "../secret")
	p.link("ws/broken", "nothing")
	base := "/api/conversations/" + known + "/file/list"
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{base + q(p.ws+"/sub"), 200, `[{"name":"deep","directory":false,"size":1}]`},
		{base + q(p.ws+"/dir"), 200, `[{"name":"deep","directory":false,"size":1}]`},
		{base + q(p.ws), 200, `[{"name":"a ü <.txt","directory":false,"size":4},{"name":"broken","directory":false,"size":7},{"name":"dir","directory":true,"size":0},{"name":"out","directory":false,"size":9},{"name":"sub","directory":true,"size":0}]`},
		{base + q(p.ws+"/no"), 404, `{"detail":"Directory not found"}`},
		{base + q(p.ws+"/sub/deep"), 400, `{"detail":"Path is not a directory"}`},
		{base + q(p.dir), 422, `{"detail":"path must be inside the conversation workspace"}`},
		{base + q(p.ws+"/../"), 422, `{"detail":"path must be inside the conversation workspace"}`},
		{base + q("rel"), 422, `{"detail":"path must be inside the conversation workspace"}`},
		{"/api/file/list" + q(p.dir), 404, ""},
	} {
		resp, body := get(t, srv, c.path)
		if resp.StatusCode != c.status || c.want != "" && body != c.want {
			t.Errorf("%s\n got %d %s\nwant %d %s", c.path, resp.StatusCode, body, c.status, c.want)
		}
	}
}
