package plugins_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/agentserver/plugins"
	"github.com/deft-dev/deft/server/rest"
)

// plugin is one of the older layout.
var plugin = map[string]string{
	".claude-plugin/plugin.json": `{"name":"p1","version":"0.2","description":"a plugin"}`,
	"skills/s1/SKILL.md":         "---\nname: s1\ndescription: ds\n---\nb",
	"commands/do.md":             "---\ndescription: cmd\nargument-hint: x\n---\ndo $ARGUMENTS",
}

func below(dir string, files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[dir+"/"+name] = text
	}
	return out
}

type bundle struct {
	t         *testing.T
	url, home string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	home := t.TempDir()
	s := plugins.New(plugins.Options{Home: home, Persistence: filepath.Join(home, ".openhands")})
	server, err := rest.New(rest.Options{Routes: s.Routes(), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return &bundle{t, h.URL, home}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)

func (b *bundle) send(method, path, body string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	must.Succeed(b.t, err)
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(b.t, err)
	return resp.StatusCode, timestamp.ReplaceAllString(strings.ReplaceAll(string(raw), b.home, "HOME"), "T")
}

func (b *bundle) ask(method, path, body string, status int, want string) {
	b.t.Helper()
	if code, got := b.send(method, path, body); code != status || got != want {
		b.t.Errorf("%s %s %s: %d, want %d (-want +got):\n%s", method, path, body, code, status, cmp.Diff(want, got))
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const parts = `"skills":[{"name":"s1","description":"ds"},{"name":"p1:do","description":"cmd"}],"files":[".claude-plugin/plugin.json","commands/do.md","skills/s1/SKILL.md"]}`

// TestAnswers compares with the reference's answers to the same requests.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	testtree.Write(t, b.home, below("ws/.agents/plugins/p1", plugin))
	testtree.Write(t, b.home, map[string]string{"noplug_X/file": "x"})
	source := `{"source":` + quote(b.home+"/ws/.agents/plugins/p1") + `}`
	const item = `{"name":"p1","version":"0.2","description":"a plugin","enabled":true,"source":"HOME/ws/.agents/plugins/p1","resolved_ref":null,"repo_path":null,"installed_at":"T","install_path":"HOME/.openhands/plugins/installed/p1",` + parts
	off := strings.Replace(item, "true", "false", 1)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "", `{"project_dir":` + quote(b.home+"/ws") + `}`, 200, `{"plugins":[{"name":"p1","version":"0.2","description":"a plugin","path":"HOME/ws/.agents/plugins/p1",` + parts + `]}`},
		{"POST", "", `{"load_project":false,"project_dir":` + quote(b.home+"/ws") + `}`, 200, `{"plugins":[]}`},
		{"POST", "/install", source, 200, item},
		{"POST", "/install", source, 409, `{"detail":"Plugin already installed. Use force=true to overwrite."}`},
		{"POST", "/install", `{"source":"/nowhere"}`, 400, `{"detail":"Failed to fetch plugin source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":"bogus"}`, 400, `{"detail":"Failed to fetch plugin source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":` + quote(b.home+"/noplug_X") + `}`, 422, `{"detail":"Invalid plugin. Ensure it has a valid kebab-case name."}`},
		{"GET", "/installed", "", 200, `{"plugins":[` + item + `]}`},
		{"GET", "/installed/p1", "", 200, item},
		{"GET", "/installed/zz", "", 404, `{"detail":"Plugin 'zz' is not installed"}`},
		{"POST", "", `{}`, 200, `{"plugins":[{"name":"p1","version":"0.2","description":"a plugin","path":"HOME/.openhands/plugins/installed/p1",` + parts + `]}`},
		{"PATCH", "/installed/p1", `{"enabled":false}`, 200, `{"name":"p1","enabled":false}`},
		{"POST", "", `{}`, 200, `{"plugins":[]}`},
		{"POST", "/installed/p1/refresh", "", 200, `{"message":"Plugin 'p1' updated","plugin":` + off + `}`},
		{"DELETE", "/installed/p1", "", 200, `{"message":"Plugin 'p1' uninstalled"}`},
		{"DELETE", "/installed/p1", "", 404, `{"detail":"Plugin 'p1' is not installed"}`},
		{"POST", "/fetch", source, 200, `{"path":"HOME/ws/.agents/plugins/p1","resolved_ref":null,"source":"HOME/ws/.agents/plugins/p1","repo_path":null,"manifest":{"description":"a plugin","name":"p1","version":"0.2"},"skills":["s1"],"commands":["do"]}`},
		{"POST", "/fetch", `{"source":"bogus"}`, 422, `{"detail":{"code":"invalid_source","message":"Invalid plugin source."}}`},
		{"POST", "/fetch", `{"source":"https://${T}@127.0.0.1:1/x.git"}`, 422, `{"detail":{"code":"missing_secret","message":"Missing secret: T"}}`},
		{"POST", "/fetch", `{"source":` + quote(b.home+"/ws") + `,"repo_path":"../x"}`, 422, `{"detail":{"code":"repo_path_not_found","message":"repo_path not found: ../x"}}`},
		{"POST", "/fetch", `{"source":` + quote(b.home+"/noplug_X") + `}`, 422, `{"detail":{"code":"invalid_plugin","message":"Invalid plugin: plugin.json not found."}}`},
		{"GET", "/marketplace", "", 200, `{"plugins":[]}`},
	} {
		b.ask(c.method, "/api/plugins"+c.path, c.body, c.status, c.want)
	}
	for _, body := range []string{`{}`, `{"source":""}`, `{"source":"x","timeout":0}`, `{"source":"x","timeout":601}`, `{"source":"x","secrets":{"A":[]}}`, `{"source":"x","secrets":1}`} {
		if code, got := b.send("POST", "/api/plugins/fetch", body); code != 422 {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
}

// TestRepository fetches a plugin at a commit, twice.
func TestRepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	repo := filepath.Join(b.home, "repo")
	testtree.Write(t, repo, below("sub/p1", plugin))
	testtree.Commit(t, repo)
	body := `{"source":"file://${WHERE}","ref":"main","repo_path":"sub/p1","secrets":{"WHERE":{"kind":"StaticSecret","value":` + quote(repo) + `}}}`
	code, first := b.send("POST", "/api/plugins/fetch", body)
	var got plugins.Fetched
	if err := json.Unmarshal([]byte(first), &got); err != nil || code != 200 || got.Source != "file://${WHERE}" || len(*got.ResolvedRef) != 40 {
		t.Fatalf("%d %s, %v", code, first, err)
	}
	if _, second := b.send("POST", "/api/plugins/fetch", body); second != first {
		t.Errorf("fetched again (-want +got):\n%s", cmp.Diff(first, second))
	}
	for body, want := range map[string]string{
		`{"source":"file://` + repo + `","ref":"gone"}`:                         `"code":"ref_not_found"`,
		`{"source":"file://` + repo + `","repo_path":"gone"}`:                   `"code":"repo_path_not_found"`,
		`{"source":"file://` + repo + `"}`:                                      `"code":"invalid_plugin"`,
		`{"source":"https://u:hunter2@127.0.0.1:1/x.git"}`:                      `source_unavailable`,
		`{"source":"https://${T}@127.0.0.1:1/x.git","secrets":{"T":"hunter2"}}`: `source_unavailable`,
	} {
		if _, got := b.send("POST", "/api/plugins/fetch", body); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// TestProjectLink reaches a plugin through a link out of the project.
func TestProjectLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	testtree.Write(t, b.home, below("outside/p1", plugin))
	testtree.Write(t, b.home, map[string]string{"ws/.agents/plugins/p1": "->" + b.home + "/outside/p1", "ws/.openhands/plugins": "->" + b.home + "/outside"})
	b.ask("POST", "/api/plugins", `{"project_dir":`+quote(b.home+"/ws")+`}`, 200, `{"plugins":[]}`)
}
