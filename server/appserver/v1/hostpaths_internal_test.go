package v1

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

func TestHostPaths(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `a "b" <c>`)
	must.Succeed(t, os.Mkdir(dir, 0o700))
	link := filepath.Join(t.TempDir(), "data")
	must.Succeed(t, os.Symlink(dir, link))
	h := dataPaths(link, "/srv/data/events", "/home/ada").with("/home/ada/my app")
	for in, want := range map[string]string{
		`{"path":"` + link + `/workspaces/4NcD_x-1/project/a.py"}`:    `{"path":"/workspace/project/a.py"}`,
		`{"text":"in ` + link + `/workspaces/4NcD\n"}`:                `{"text":"in /workspace\n"}`,
		`{"text":"` + inJSON(dir) + `/workspaces/1: ` + link + `"}`:   `{"text":"/workspace: /deft"}`,
		`{"text":"` + link + `/outputs/1.txt ` + link + `base/x.y"}`:  `{"text":"/deft/outputs/1.txt ` + link + `base/x.y"}`,
		`{"text":"/workspace/project"}`:                               `{"text":"/workspace/project"}`,
		`{"text":"cd '/home/ada/my app' && ls /home/ada/my app/src"}`: `{"text":"cd '/workspace/project' && ls /workspace/project/src"}`,
		`{"text":"/home/ada/my apple"}`:                               `{"text":"~/my apple"}`,
		`{"text":"HOME=/home/ada\n/home/adam"}`:                       `{"text":"HOME=~\n/home/adam"}`,
		`{"text":"upperdir=/srv/data/events/sandboxes/1,x"}`:          `{"text":"upperdir=/deft/sandboxes/1,x"}`,
	} {
		if got := string(h.hide([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, none := range []string{"", "/"} {
		if got := string(dataPaths(none, none, none).with(none).hide([]byte(`"/etc"`))); got != `"/etc"` {
			t.Errorf("%q: %s", none, got)
		}
	}
}
