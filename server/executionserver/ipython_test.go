package executionserver_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/ipython"
	"github.com/deft-dev/deft/tool/ipython/kerneltest"
)

// TestCells runs cells as the reference does.
func TestCells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := executionserver.New(executionserver.Options{WorkingDir: dir, Tools: map[string]tool.Executor{
		ipython.ActionKind: ipython.New(ipython.Config{Dir: dir, Env: kerneltest.Environment(t)}),
	}})
	must.Succeed(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		must.Report(t, s.Close())
	})
	b := &bench{t: t, url: web.URL, dir: dir, client: web.Client()}
	o := b.act(`{"action":"run_ipython","args":{"code":"x = start + 1; print(x)","kernel_init_code":"start = 41"}}`)
	if o.Observation != "run_ipython" || !strings.HasPrefix(o.Content, "42\n[Jupyter current working directory: "+dir+"]\n[Jupyter Python interpreter: ") || o.Extras["code"] != "x = start + 1; print(x)" {
		t.Errorf("a cell: %+v", o)
	}
	if o := b.act(`{"action":"run_ipython","args":{"code":"x","include_extra":false,"kernel_init_code":"start = 1"}}`); o.Content != "42" {
		t.Errorf("the state is kept: %+v", o)
	}
	image := "from IPython.display import display, Image; import base64; display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))"
	o = b.act(`{"action":"run_ipython","args":{"code":"` + image + `","include_extra":false}}`)
	if urls, _ := o.Extras["image_urls"].([]any); len(urls) != 1 || !strings.HasPrefix(urls[0].(string), "data:image/png;base64,") {
		t.Errorf("an image: %+v", o)
	}
	if o := b.act(`{"action":"run_ipython","args":{"code":"while True: pass","include_extra":false},"timeout":0.5}`); !strings.Contains(o.Content, "it ran longer than 0.5 seconds") {
		t.Errorf("a cell without end: %+v", o)
	}
}

// TestAgentSkills uses the functions of the plugin agent_skills, also in a kernel that follows a dead one.
func TestAgentSkills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := make([]string, 300)
	for i := range lines {
		lines[i] = fmt.Sprint("line ", i+1)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "long.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "short.txt"), []byte("\xff tea\n"), 0o644))
	must.Succeed(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	s, err := executionserver.New(executionserver.Options{Skills: true, WorkingDir: dir, Tools: map[string]tool.Executor{
		ipython.ActionKind: ipython.New(ipython.Config{Dir: dir, Env: kerneltest.Environment(t)}),
	}})
	must.Succeed(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		must.Report(t, s.Close())
	})
	b := &bench{t: t, url: web.URL, dir: dir, client: web.Client()}
	for _, c := range []struct{ code, want string }{
		{"scroll_down()", "ERROR: No file open. Use the open_file function first."},
		{"search_file('tea')", "ERROR: No file specified or open. Use the open_file function first."},
		{"open_file('none')", "ERROR: File none not found."},
		{"open_file('short.txt')", "[File: " + dir + "/short.txt (1 lines total)]\n(this is the beginning of the file)\n1|\ufffd tea\n(this is the end of the file)"},
		{"open_file('long.txt', 0)", "ERROR: Line number must be between 1 and 300"},
		{"open_file('long.txt', 150, 4)", "[File: " + dir + "/long.txt (300 lines total)]\n(147 more lines above)\n148|line 148\n149|line 149\n150|line 150\n151|line 151\n152|line 152\n(148 more lines below)\n[Use `scroll_down` to view the next 100 lines of the file!]"},
		{"search_file('line 30')", "[Found 2 matches for \"line 30\" in " + dir + "/long.txt]\nLine 30: line 30\nLine 300: line 300\n[End of matches for \"line 30\" in " + dir + "/long.txt]"},
		{"search_dir('tea')", "[Found 1 matches for \"tea\" in ./]\n./short.txt (Line 1): \ufffd tea\n[End of matches for \"tea\" in ./]"},
		{"search_dir('coffee', '.')", "No matches found for \"coffee\" in ."},
		{"find_file('ong')", "[Found 1 matches for \"ong\" in ./]\n./long.txt\n[End of matches for \"ong\" in ./]"},
		{"import agentskills; agentskills.goto_line(301)", "ERROR: Line number must be between 1 and 300."},
		{"open_file = 42", "[The cell has no output.]"},
		{"open_file", "42"}, // a name of the user's own is kept
	} {
		raw, err := json.Marshal(map[string]any{"action": "run_ipython", "args": map[string]any{"code": c.code, "include_extra": false}})
		must.Succeed(t, err)
		if o := b.act(string(raw)); o.Content != c.want {
			t.Errorf("%s: %q", c.code, o.Content)
		}
	}
	for _, code := range []string{"goto_line(150)", "scroll_down()", "scroll_up()"} {
		o := b.act(`{"action":"run_ipython","args":{"code":"` + code + `","include_extra":false}}`)
		if want := map[string]string{"goto_line(150)": "(99 more lines above)\n100|", "scroll_down()": "(200 more lines above)\n201|", "scroll_up()": "(149 more lines above)\n150|"}[code]; !strings.Contains(o.Content, want) {
			t.Errorf("%s: %q", code, o.Content)
		}
	}
	b.act(`{"action":"run_ipython","args":{"code":"import os; os._exit(1)","include_extra":false}}`)
	if o := b.act(`{"action":"run_ipython","args":{"code":"find_file('ong')","include_extra":false}}`); !strings.Contains(o.Content, "./long.txt") {
		t.Errorf("after a death: %+v", o)
	}
}
