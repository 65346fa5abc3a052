package plugins_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/plugins"
	"github.com/deft-dev/deft/server/rest"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

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
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return &bundle{t, h.URL, home}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)

func (b *bundle) send(method, path, body string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
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
	write(t, b.home, below("ws/.agents/plugins/p1", plugin))
	write(t, b.home, map[string]string{"noplug_X/file": "x"})
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
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	b := setup(t)
	repo := filepath.Join(b.home, "repo")
	write(t, repo, below("sub/p1", plugin))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
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

func TestLoad(t *testing.T) {
	t.Parallel()
	load := func(files map[string]string) (plugins.Plugin, error) {
		dir := filepath.Join(t.TempDir(), "dir")
		write(t, dir, files)
		return plugins.Load(dir)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), map[string]string{"secret": `{"name":"stolen"}`})
	for why, c := range map[string]struct {
		files          map[string]string
		name           string // "" for an error
		skills, orders int
	}{
		"nothing at all":        {map[string]string{"x": "y"}, "dir", 0, 0},
		"portable":              {map[string]string{"plugin.json": `{"$schema":"s","name":"a"}`, "dev.openhands/commands/c.md": "c", "commands/no.md": "x"}, "a", 0, 1},
		"another's plugin.json": {map[string]string{"plugin.json": `{"name":"a"}`, ".plugin/plugin.json": `{"name":"b"}`}, "b", 0, 0},
		"manifest through link": {map[string]string{".claude-plugin": "->.plugin", ".plugin/plugin.json": `{"name":"b"}`}, "b", 0, 0},
		"one skill":             {map[string]string{"SKILL.md": "---\nname: Any Name\n---\nx"}, "dir", 1, 0},
		"resources":             {map[string]string{"skills/a/SKILL.md": "a", "skills/a/references/b.md": "b", "skills/README.md": "r", "skills/c.md": "c"}, "dir", 2, 0},
		"broken JSON":           {map[string]string{".plugin/plugin.json": `{`}, "", 0, 0},
		"no name":               {map[string]string{".plugin/plugin.json": `{}`}, "", 0, 0},
		"version is a number":   {map[string]string{".plugin/plugin.json": `{"name":"a","version":1}`}, "", 0, 0},
		"link out":              {map[string]string{".plugin/plugin.json": "->" + secret}, "", 0, 0},
		"link into nowhere":     {map[string]string{".plugin/plugin.json": "->gone"}, "", 0, 0},
		"skills elsewhere":      {map[string]string{"skills": "->" + filepath.Dir(secret), "commands": "->" + filepath.Dir(secret)}, "dir", 0, 0},
	} {
		p, err := load(c.files)
		if c.name == "" {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: error %v", why, err)
			}
			continue
		}
		if err != nil || p.Name != c.name || len(p.Skills) != c.skills || len(p.Commands) != c.orders {
			t.Errorf("%s: %+v, %v", why, p, err)
		}
	}
}

// TestProjectLink reaches a plugin through a link out of the project.
func TestProjectLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	write(t, b.home, below("outside/p1", plugin))
	write(t, b.home, map[string]string{"ws/.agents/plugins/p1": "->" + b.home + "/outside/p1", "ws/.openhands/plugins": "->" + b.home + "/outside"})
	b.ask("POST", "/api/plugins", `{"project_dir":`+quote(b.home+"/ws")+`}`, 200, `{"plugins":[]}`)
}
