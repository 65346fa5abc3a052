package skills_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/server/agentserver/skills"
	"github.com/deft-dev/deft/server/rest"
)

// repository commits files to a new repository and returns its URL.
func repository(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	testtree.Write(t, dir, files)
	testtree.Commit(t, dir)
	return "file://" + dir
}

type bundle struct {
	t    *testing.T
	url  string
	home string
}

func setup(t *testing.T, o skills.Options) *bundle {
	t.Helper()
	home := t.TempDir()
	o.Home, o.Persistence = home, filepath.Join(home, ".openhands")
	server, err := rest.New(rest.Options{Routes: skills.New(o).Routes(), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return &bundle{t, h.URL, home}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)

// ask compares an answer; times read T and the home directory HOME.
func (b *bundle) ask(method, path, body string, status int, want string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	must.Succeed(b.t, err)
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(b.t, err)
	got := timestamp.ReplaceAllString(strings.ReplaceAll(string(raw), b.home, "HOME"), "T")
	if resp.StatusCode != status || got != want {
		b.t.Errorf("%s %s %s: %d, want %d (-want +got):\n%s", method, path, body, resp.StatusCode, status, cmp.Diff(want, got))
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestAnswers compares with the reference's answers to the same requests.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t, skills.Options{})
	testtree.Write(t, b.home, map[string]string{
		"ws/AGENTS.md":                    "agents\n",
		"ws/.openhands/skills/a.md":       "hi\n",
		"ws/.agents/skills/good/SKILL.md": "---\nname: good\ndescription: d\n---\nbody\n",
	})
	project := quote(b.home + "/ws")
	good := quote(b.home + "/ws/.agents/skills/good")
	const listed = `{"skills":[{"name":"agents","type":"repo","content":"agents\n","triggers":[],"source":"HOME/ws/AGENTS.md","description":null,"is_agentskills_format":false,"disable_model_invocation":false},{"name":"good","type":"agentskills","content":"body","triggers":[],"source":"HOME/ws/.agents/skills/good/SKILL.md","description":"d","is_agentskills_format":true,"disable_model_invocation":false},{"name":"a","type":"repo","content":"hi","triggers":[],"source":"HOME/ws/.openhands/skills/a.md","description":null,"is_agentskills_format":false,"disable_model_invocation":false}],"sources":{"sandbox":0,"registered_marketplaces":0,"sdk_base":0,"org":0,"project":3}}`
	b.ask("POST", "/api/skills", `{"load_public":false,"project_dir":`+project+`}`, 200, listed)
	b.ask("POST", "/api/skills", `{}`, 200, `{"skills":[],"sources":{"sandbox":0,"registered_marketplaces":0,"sdk_base":0,"org":0,"project":0}}`)
	b.ask("POST", "/api/skills", `{"load_project":false,"project_dir":`+project+`,"sandbox_config":{"exposed_urls":[{"name":"AGENT","url":"http://y","port":1}]}}`, 200,
		`{"skills":[],"sources":{"sandbox":0,"registered_marketplaces":0,"sdk_base":0,"org":0,"project":0}}`)
	const item = `{"name":"good","version":"1.0.0","description":"d","enabled":true,"source":"HOME/ws/.agents/skills/good","resolved_ref":null,"repo_path":null,"installed_at":"T","install_path":"HOME/.openhands/skills/installed/good"}`
	off := strings.Replace(item, "true", "false", 1)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/installed", "", 200, `{"skills":[]}`},
		{"POST", "/install", `{"source":` + good + `}`, 200, item},
		{"POST", "/install", `{"source":` + good + `}`, 409, `{"detail":"Skill already installed. Use force=true to overwrite."}`},
		{"POST", "/install", `{"source":"/nowhere"}`, 400, `{"detail":"Failed to fetch skill source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":"bogus"}`, 400, `{"detail":"Failed to fetch skill source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":"ext::sh -c touch% /tmp/x"}`, 400, `{"detail":"Failed to fetch skill source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":"--upload-pack=/x"}`, 400, `{"detail":"Failed to fetch skill source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":` + project + `,"repo_path":"../.."}`, 400, `{"detail":"Failed to fetch skill source. Check that the source is valid."}`},
		{"POST", "/install", `{"source":` + project + `}`, 422, `{"detail":"Invalid skill. Ensure the source contains a valid SKILL.md."}`},
		{"POST", "/install", `{"source":""}`, 422, `{"detail":[{"type":"string_too_short","loc":["body","source"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}]}`},
		{"POST", "/install", `{"source":null,"force":null}`, 422, `{"detail":[{"type":"string_type","loc":["body","source"],"msg":"Input should be a valid string","input":null},{"type":"bool_type","loc":["body","force"],"msg":"Input should be a valid boolean","input":null}]}`},
		{"GET", "/installed", "", 200, `{"skills":[` + item + `]}`},
		{"PATCH", "/installed/good", `{"enabled":null}`, 422, `{"detail":[{"type":"bool_type","loc":["body","enabled"],"msg":"Input should be a valid boolean","input":null}]}`},
		{"PATCH", "/installed/good", `{}`, 422, `{"detail":[{"type":"missing","loc":["body","enabled"],"msg":"Field required","input":{}}]}`},
		{"GET", "/installed/good", "", 200, item},
		{"GET", "/installed/none", "", 404, `{"detail":"Skill 'none' is not installed"}`},
		{"GET", "/installed/BAD", "", 422, `{"detail":[{"type":"string_pattern_mismatch","loc":["path","skill_name"],"msg":"String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'","input":"BAD","ctx":{"pattern":"^[a-z0-9]+(-[a-z0-9]+)*$"}}]}`},
		{"GET", "/installed/..%2f..", "", 422, `{"detail":[{"type":"string_pattern_mismatch","loc":["path","skill_name"],"msg":"String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'","input":"../..","ctx":{"pattern":"^[a-z0-9]+(-[a-z0-9]+)*$"}}]}`},
		{"PATCH", "/installed/good", `{"enabled":false}`, 200, `{"name":"good","enabled":false}`},
		{"PATCH", "/installed/none", `{"enabled":false}`, 404, `{"detail":"Skill 'none' is not installed"}`},
		{"POST", "/installed/good/refresh", "", 200, `{"message":"Skill 'good' updated","skill":` + off + `}`},
		{"POST", "/installed/none/refresh", "", 404, `{"detail":"Skill 'none' is not installed"}`},
		{"GET", "/catalog", "", 200, `{"skills":[]}`},
		{"PATCH", "/installed/good", `{"enabled":true}`, 200, `{"name":"good","enabled":true}`},
		{"GET", "/catalog", "", 200, `{"skills":[{"name":"good","type":"agentskills","content":"body","triggers":[],"source":"HOME/.openhands/skills/installed/good/SKILL.md","description":"d","is_agentskills_format":true,"disable_model_invocation":false,"origin":"user"}]}`},
		{"DELETE", "/installed/good", "", 200, `{"message":"Skill 'good' uninstalled"}`},
		{"DELETE", "/installed/good", "", 404, `{"detail":"Skill 'good' is not installed"}`},
		{"GET", "/marketplace", "", 200, `{"skills":[]}`},
	} {
		b.ask(c.method, "/api/skills"+c.path, c.body, c.status, c.want)
	}
	for _, body := range []string{``, `null`, `[]`, `{"load_public":"x"}`, `{"load_user":null}`, `{"project_dir":1}`, `{`, `{"org_configs":[{}]}`, `{"sandbox_config":{"exposed_urls":[{"name":"WORKER_1"}]}}`} {
		resp, err := http.Post(b.url+"/api/skills", "application/json", strings.NewReader(body))
		must.Succeed(t, err)
		resp.Body.Close()
		if resp.StatusCode != 422 {
			t.Errorf("%s: %d", body, resp.StatusCode)
		}
	}
}

// TestFailedRefresh takes the source away: installed skills stay.
func TestFailedRefresh(t *testing.T) {
	t.Parallel()
	b := setup(t, skills.Options{})
	testtree.Write(t, b.home, map[string]string{"s/SKILL.md": "---\nname: s\ndescription: d\n---\nx"})
	const item = `{"name":"s","version":"1.0.0","description":"d","enabled":true,"source":"HOME/s","resolved_ref":null,"repo_path":null,"installed_at":"T","install_path":"HOME/.openhands/skills/installed/s"}`
	b.ask("POST", "/api/skills/install", `{"source":`+quote(b.home+"/s")+`}`, 200, item)
	must.Succeed(t, os.WriteFile(b.home+"/s/SKILL.md", []byte("---\nname: other\n---\n"), 0o644))
	b.ask("POST", "/api/skills/installed/s/refresh", "", 422, `{"detail":"The source of skill 's' no longer holds a valid skill. The installed copy was kept."}`)
	must.Succeed(t, os.RemoveAll(b.home+"/s"))
	b.ask("POST", "/api/skills/installed/s/refresh", "", 400, `{"detail":"Failed to fetch the source of skill 's'. The installed copy was kept."}`)
	b.ask("GET", "/api/skills/installed/s", "", 200, item)
}

// TestRepositories installs from Git, syncs the public skills, and loads the
// skills of an organisation whose repository is hostile.
func TestRepositories(t *testing.T) {
	t.Parallel()
	url := repository(t, "one", map[string]string{"SKILL.md": "---\nname: one\ndescription: d\n---\nx", "sub/two/SKILL.md": "two"})
	public := repository(t, "public", map[string]string{
		"skills/pub/SKILL.md": "pub", "skills/hidden/SKILL.md": "hidden",
		"marketplaces/default.json": `{"name":"m","plugins":[{"name":"pub"}]}`,
	})
	hostile := repository(t, "org", map[string]string{"skills/o.md": "org", "microagents/o.md": "later", "microagents/p.md": "p"})
	market := repository(t, "market", map[string]string{
		".plugin/marketplace.json": `{"name":"m","plugins":[{"name":"p","source":"./p"},{"name":"broken","source":"./none"}],"skills":[{"name":"pub","source":"./pub"},{"name":"more","source":"./more"}]}`,
		"p/skills/of-p/SKILL.md":   "of p",
		"p/commands/do.md":         "do",
		"pub/SKILL.md":             "hidden by the public one",
		"more/SKILL.md":            "more",
	})
	b := setup(t, skills.Options{
		PublicURL: public, Plugins: plugin.Loader{Local: func(context.Context) bool { return true }},
		Marketplaces: []plugin.Registration{{Name: "ours", From: plugin.Source{Source: market}, Each: plugin.Choice{Names: []string{"more"}}}},
	})
	b.ask("POST", "/api/skills/sync", "", 200, `{"status":"success","message":"Skills repository synced successfully"}`)
	b.ask("POST", "/api/skills/sync", "", 200, `{"status":"success","message":"Skills repository synced successfully"}`)
	b.ask("GET", "/api/skills/catalog", "", 200, `{"skills":[{"name":"pub","type":"agentskills","content":"pub","triggers":[],"source":"HOME/.openhands/cache/skills/public-skills/skills/pub/SKILL.md","description":null,"is_agentskills_format":true,"disable_model_invocation":false,"origin":"public"}]}`)
	sum := func(body, want string) {
		t.Helper()
		resp, err := http.Post(b.url+"/api/skills", "application/json", strings.NewReader(body))
		must.Succeed(t, err)
		defer resp.Body.Close()
		var got struct {
			Sources json.RawMessage `json:"sources"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || string(got.Sources) != want {
			t.Errorf("%s: %s, %v", body, got.Sources, err)
		}
	}
	sum(`{}`, `{"sandbox":0,"registered_marketplaces":1,"sdk_base":1,"org":0,"project":0}`)
	sum(`{"marketplace_path":null}`, `{"sandbox":0,"registered_marketplaces":1,"sdk_base":2,"org":0,"project":0}`)
	sum(`{"marketplace_path":"../../../etc/passwd"}`, `{"sandbox":0,"registered_marketplaces":1,"sdk_base":0,"org":0,"project":0}`)
	sum(`{"load_public":false,"org_configs":[{"repository":"a/b","provider":"github","org_repo_url":`+quote(hostile)+`,"org_name":"a"},{"repository":"a/c","provider":"github","org_repo_url":"file:///nowhere","org_name":"b"}]}`,
		`{"sandbox":0,"registered_marketplaces":1,"sdk_base":0,"org":2,"project":0}`)

	sum(`{"registered_marketplaces":[{"name":"ours","source":`+quote(market)+`,"auto_load":true}]}`, `{"sandbox":0,"registered_marketplaces":4,"sdk_base":1,"org":0,"project":0}`)
	sum(`{"registered_marketplaces":[{"name":"ours","source":`+quote(market)+`}]}`, `{"sandbox":0,"registered_marketplaces":0,"sdk_base":1,"org":0,"project":0}`)
	b.ask("POST", "/api/skills", `{"registered_marketplaces":[{"name":"x","source":"github:a/b"},{"name":"x","source":"github:a/c"}]}`, 422,
		`{"detail":[{"type":"value_error","loc":["body","registered_marketplaces"],"msg":"Value error, Duplicate marketplace registration: x","input":[{"name":"x","source":"github:a/b"},{"name":"x","source":"github:a/c"}],"ctx":{"error":"Duplicate marketplace registration: x"}}]}`)

	for body, want := range map[string]string{
		`{"source":` + quote(url) + `,"ref":"main"}`:              `"name":"one"`,
		`{"source":` + quote(url) + `,"repo_path":"sub/two"}`:     `"name":"two"`,
		`{"source":` + quote(url) + `,"ref":"--upload-pack=x"}`:   "Failed to fetch",
		`{"source":` + quote(url) + `,"ref":"gone","force":true}`: "Failed to fetch",
		`{"source":` + quote(url+"-not") + `}`:                    "Failed to fetch",
	} {
		resp, err := http.Post(b.url+"/api/skills/install", "application/json", strings.NewReader(body))
		must.Succeed(t, err)
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
	if _, err := os.Stat(b.home + "/.openhands/skills/installed/one/.git"); err == nil {
		t.Error("the repository's .git was installed")
	}
}
