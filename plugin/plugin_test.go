package plugin_test

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	load := func(files map[string]string) (plugin.Plugin, error) {
		dir := filepath.Join(t.TempDir(), "dir")
		testtree.Write(t, dir, files)
		return plugin.Load(dir)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	testtree.Write(t, filepath.Dir(secret), map[string]string{"secret": `{"name":"stolen"}`})
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

// whole is a plugin of the older layout with all parts.
var whole = map[string]string{
	".claude-plugin/plugin.json": `{"name":"p1"}`,
	"skills/s1/SKILL.md":         "---\nname: s1\ndescription: ds\n---\nb",
	"skills/s2/SKILL.md":         "---\nname: s2\ndescription: ds\n---\nb",
	"skills/s2/scripts/x.sh":     "x",
	"commands/do.md":             "---\ndescription: cmd\n---\ndo $ARGUMENTS",
	"agents/a1.md":               "---\nname: a1\ndescription: d\n---\nprompt",
	"agents/bad.md":              "---\nname: bad\nmax_iteration_per_run: -1\n---\nprompt",
	"hooks/hooks.json":           `{"hooks":{"PreToolUse":[{"hooks":[{"command":"x"},{"command":"${CLAUDE_PLUGIN_ROOT}/y"}]}]}}`,
	".mcp.json":                  `{"mcpServers":{"web":{"type":"http","url":"https://h/${TOKEN}","more":1},"own":{"command":"${CLAUDE_PLUGIN_ROOT}/run","args":["x"]}}}`,
}

func agent(t *testing.T, more string) *spec.Agent {
	t.Helper()
	v, err := schema.Parse([]byte(`{"kind":"Agent","llm":{"model":"openai/m"}` + more + `}`))
	must.Succeed(t, err)
	a, err := spec.CheckAgent(v, schema.Reading{})
	must.Succeed(t, err)
	return a
}

func skills(t *testing.T, a *spec.Agent) (names []string) {
	t.Helper()
	for _, raw := range a.Context.Skills {
		var s struct{ Name, Content string }
		must.Succeed(t, json.Unmarshal(raw, &s))
		names = append(names, s.Name)
	}
	return names
}

// TestAdd gives an agent the parts of a plugin, in the place of its own of the same names, and
// names those without effect.
func TestAdd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	testtree.Write(t, dir, whole)
	for name, c := range map[string]struct {
		more, skills, servers, agents string
		detached                      bool
		warnings                      []string
	}{
		"bare": {"", "s1 s2 p1:do", "own web", "", false, []string{"its agents are not used", "bad.md: max_iteration"}},
		"tasks, and what it has": {
			`,"tools":[{"name":"task_tool_set"}],"agent_context":{"skills":[{"name":"s1","content":"old"},{"name":"z","content":"z"}]},"mcp_config":{"web":{"command":"old"},"z":{"command":"z"}}`,
			"z s1 s2 p1:do", "own web z", "a1", false, []string{"bad.md: max_iteration"},
		},
		"without its files": {"", "s1 s2 p1:do", "web", "", true, []string{"its agents are not used", "bad.md: max_iteration", "skill s2: it needs files", "/y: it needs files", "MCP server own: it needs files"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := plugin.Loader{Cache: t.TempDir(), Local: func(context.Context) bool { return true }}
			if c.detached {
				l.Cache = ""
			}
			loaded, err := l.Load(t.Context(), []plugin.Source{{Source: dir}})
			must.Succeed(t, err)
			got, err := plugin.AddTo(agent(t, c.more), loaded)
			must.Succeed(t, err)
			if diff := cmp.Diff(c.skills, strings.Join(skills(t, got.Agent), " ")); diff != "" {
				t.Errorf("skills (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.servers, strings.Join(slices.Sorted(slices.Values(got.Agent.MCPServers.Keys())), " ")); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			if web := got.Agent.MCPServers.Object("web"); web.Text("url") != "https://h/${TOKEN}" || web.Text("transport") != "http" {
				t.Errorf("web: %v", web)
			}
			var commands []string
			for _, h := range got.Hooks.For(hook.PreToolUse, "terminal") {
				commands = append(commands, h.Command)
			}
			if want := []string{"x", loaded[0].Path + "/y"}; !slices.Equal(commands, want[:len(want)-bit(c.detached)]) {
				t.Errorf("hooks: %q", commands)
			}
			if own := got.Agent.MCPServers.Object("own"); own != nil && own.Text("command") != loaded[0].Path+"/run" {
				t.Errorf("own: %v", own)
			}
			var agents []string
			for _, a := range got.Agents {
				agents = append(agents, a.Name)
			}
			if diff := cmp.Diff(c.agents, strings.Join(agents, " ")); diff != "" {
				t.Errorf("agents (-want +got):\n%s", diff)
			}
			if len(got.Warnings) != len(c.warnings) {
				t.Errorf("warnings: %q, want %q", got.Warnings, c.warnings)
			}
			for _, want := range c.warnings {
				if !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.HasPrefix(w, "plugin p1: ") && strings.Contains(w, want) }) {
					t.Errorf("no warning %q in %q", want, got.Warnings)
				}
			}
		})
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPortable reads the MCP servers of the portable layout, which may name no secrets.
func TestPortable(t *testing.T) {
	t.Parallel()
	const all = `{"mcpServers":{
		"bare":{"type":"stdio","command":"npx","args":["${PLUGIN_ROOT}/x"]},
		"own":{"type":"stdio","command":"./bin/run","cwd":"./bin"},
		"web":{"type":"streamable-http","url":"https://h/","headers":{"A":"b"}},
		"secret":{"type":"stdio","command":"x","env":{"T":"${TOKEN}"}},
		"default":{"type":"stdio","command":"x","args":["${HOME:-x}"]},
		"data":{"type":"stdio","command":"x","cwd":"${PLUGIN_DATA}"},
		"out":{"type":"stdio","command":"./../x"},
		"absolute":{"type":"stdio","command":"/bin/sh"},
		"gone":{"type":"stdio","command":"./none"},
		"elsewhere":{"type":"stdio","command":"x","cwd":"/"},
		"untyped":{"command":"x"}
	}}`
	dir := filepath.Join(t.TempDir(), "dir")
	testtree.Write(t, dir, map[string]string{"plugin.json": `{"$schema":"s","name":"a"}`, "mcp.json": all, "bin/run": "x", ".mcp.json": `{"mcpServers":{"no":{"command":"x"}}}`})
	p, err := plugin.Load(dir)
	must.Succeed(t, err)
	got := map[string]string{}
	for _, name := range p.Servers.Keys() {
		s := p.Servers.Object(name)
		got[name] = strings.ReplaceAll(s.Text("command")+" "+s.Text("cwd")+" "+s.Object("env").Text("PLUGIN_ROOT"), dir, "ROOT")
	}
	want := map[string]string{"bare": "npx ROOT ROOT", "own": "ROOT/bin/run ROOT/bin ROOT", "web": "  "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	left := map[string]bool{}
	for _, w := range p.Warnings {
		_, name, _ := strings.Cut(w.Path, "mcp.json ")
		left[name] = true
	}
	if diff := cmp.Diff([]string{"absolute", "data", "default", "elsewhere", "gone", "out", "secret", "untyped"}, slices.Sorted(maps.Keys(left))); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	files := map[string]string{}
	for i := range 101 {
		files["skills/"+strings.Repeat("s", i+1)+".md"] = "x"
	}
	testtree.Write(t, dir, files)
	p, err := plugin.Load(dir)
	must.Succeed(t, err)
	if _, err := plugin.AddTo(agent(t, ""), []plugin.Plugin{p}); !fault.Is(err, fault.Limit) {
		t.Errorf("101 skills: error %v", err)
	}
	acp := agent(t, "")
	acp.Kind = "ACPAgent"
	if _, err := plugin.AddTo(acp, []plugin.Plugin{{}}); !fault.Is(err, fault.Unsupported) {
		t.Errorf("an ACP agent: error %v", err)
	}
	if _, err := (plugin.Loader{}).Load(t.Context(), make([]plugin.Source, plugin.MaxSources+1)); !fault.Is(err, fault.Limit) {
		t.Errorf("too many plugins: error %v", err)
	}
}

// TestMarketplace reads the offers of a repository: its manifest, or else its skills.
func TestMarketplace(t *testing.T) {
	t.Parallel()
	here := plugin.Loader{Local: func(context.Context) bool { return true }}
	names := func(list []plugin.Entry) (out []string) {
		for _, e := range list {
			out = append(out, e.Name)
		}
		return out
	}
	for name, c := range map[string]struct {
		files           map[string]string
		plugins, skills string
		fails           bool
	}{
		"manifest": {map[string]string{
			".claude-plugin/marketplace.json": `{"name":"m","plugins":[{"name":"p1","description":"d","source":"./p1"},{"name":"p2"}],"skills":[{"name":"s"}]}`,
			"skills/other.md":                 "x",
		}, "p1 p2", "s", false},
		"newer place": {map[string]string{".plugin/marketplace.json": `{"plugins":[{"name":"p"}]}`}, "p", "", false},
		"skills":      {map[string]string{"skills/a.md": "---\ntriggers: [x]\n---\na", ".skills/b/SKILL.md": "---\nname: b\ndescription: d\n---\nb", "c.md": "c"}, "", "a b", false},
		"nothing":     {map[string]string{"README.md": "x"}, "", "", false},
		"broken":      {map[string]string{".plugin/marketplace.json": `{`}, "", "", true},
		"link out":    {map[string]string{".plugin/marketplace.json": "->/etc/hostname"}, "", "", true},
	} {
		dir := t.TempDir()
		testtree.Write(t, dir, c.files)
		got, err := here.Preview(t.Context(), plugin.Source{Source: dir})
		if c.fails != fault.Is(err, fault.Invalid) || strings.Join(names(got.Plugins), " ") != c.plugins || strings.Join(names(got.Skills), " ") != c.skills {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := (plugin.Loader{}).Preview(t.Context(), plugin.Source{Source: "/etc"}); !fault.Is(err, fault.Denied) {
		t.Errorf("a directory of this machine: %v", err)
	}
}

// TestSources fetches a plugin of a repository, and refuses sources that a caller may not name.
func TestSources(t *testing.T) {
	t.Parallel()
	repo := filepath.Join(t.TempDir(), "repo")
	testtree.Write(t, repo, map[string]string{"plugins/one/skills/s1/SKILL.md": "---\nname: s1\ndescription: d\n---\nb"})
	testtree.Commit(t, repo)
	sub, gone, ref := "plugins/one", "plugins/two", "nowhere"
	anywhere := plugin.Loader{Local: func(context.Context) bool { return true }}
	got, err := anywhere.Load(t.Context(), []plugin.Source{{Source: "file://" + repo, RepoPath: &sub}})
	if err != nil || len(got) != 1 || len(got[0].Skills) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if at := *got[0].Skills[0].Source; at != "file://"+repo+"/skills/s1/SKILL.md" {
		t.Errorf("the skill is from %s", at)
	}
	for name, c := range map[string]struct {
		loader plugin.Loader
		from   plugin.Source
		want   fault.Kind
	}{
		"no such directory":     {anywhere, plugin.Source{Source: "file://" + repo, RepoPath: &gone}, fault.Invalid},
		"no such ref":           {anywhere, plugin.Source{Source: "file://" + repo, Ref: &ref}, fault.Invalid},
		"no repository":         {anywhere, plugin.Source{Source: "https://u:hunter2@127.0.0.1:1/x.git"}, fault.Invalid},
		"not a source":          {anywhere, plugin.Source{Source: "ext::sh"}, fault.Invalid},
		"a directory":           {plugin.Loader{}, plugin.Source{Source: repo}, fault.Denied},
		"the URL of one":        {plugin.Loader{}, plugin.Source{Source: "file://" + repo}, fault.Denied},
		"a directory, refused":  {plugin.Loader{Local: func(context.Context) bool { return false }}, plugin.Source{Source: "~"}, fault.Denied},
		"nothing":               {plugin.Loader{}, plugin.Source{}, fault.Denied},
		"an option of a client": {plugin.Loader{}, plugin.Source{Source: "--upload-pack=x"}, fault.Denied},
	} {
		if _, err := c.loader.Load(t.Context(), []plugin.Source{c.from}); !fault.Is(err, c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want kind %s", name, err, c.want)
		}
	}
}

// TestMarketplaceLeftOut names the skills of a marketplace that cannot be read.
func TestMarketplaceLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{
		"skills/fine/SKILL.md": "---\nname: fine\ndescription: d\n---\nb",
		"skills/bad/SKILL.md":  "---\nname: [\n\tbad: {{\n---\nb",
	})
	loader := plugin.Loader{Local: func(context.Context) bool { return true }}
	m, err := loader.Preview(t.Context(), plugin.Source{Source: dir})
	if err != nil || len(m.Skills) != 1 || len(m.LeftOut) != 1 || !strings.HasPrefix(m.LeftOut[0], "not loaded: skills/bad/SKILL.md: ") {
		t.Errorf("%+v, %v", m, err)
	}
	f, err := loader.ForEach(t.Context(), []plugin.Registration{{Name: "m", From: plugin.Source{Source: dir}, Each: plugin.Choice{All: true}}})
	if err != nil || len(f.Skills) != 1 || len(f.Warnings) != 1 || !strings.HasPrefix(f.Warnings[0], "marketplace m: not loaded: skills/bad/SKILL.md: ") {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestOutwardLinks refuses the plugins and skills of a repository with a link that leads out of it, and no others.
func TestOutwardLinks(t *testing.T) {
	t.Parallel()
	skillOf := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nb" }
	repo := filepath.Join(t.TempDir(), "repo")
	testtree.Write(t, repo, map[string]string{
		"good/skills/s1/SKILL.md": skillOf("s1"),
		"bad/skills/s2/SKILL.md":  skillOf("s2"),
		"bad/assets/out":          "->/etc/hostname",
		"skills/fine/SKILL.md":    skillOf("fine"),
		"skills/linked/SKILL.md":  skillOf("linked"),
		"skills/linked/data":      "->../../../secret",
	})
	testtree.Commit(t, repo)
	good, bad := "good", "bad"
	for _, cache := range []string{"", t.TempDir()} {
		loader := plugin.Loader{Cache: cache, Local: func(context.Context) bool { return true }}
		for _, source := range []string{"file://" + repo, repo} {
			got, err := loader.Load(t.Context(), []plugin.Source{{Source: source, RepoPath: &good}})
			if err != nil || len(got[0].Skills) != 1 {
				t.Errorf("cache %q, source %s: %+v, %v", cache, source, got, err)
			}
			f, err := loader.ForEach(t.Context(), []plugin.Registration{{Name: "m", From: plugin.Source{Source: source}, Each: plugin.Choice{All: true}}})
			must.Succeed(t, err)
			if source == repo && cache == "" { // read in place, where skills follow no link
				continue
			}
			if len(f.Skills) != 1 || f.Skills[0].Name != "fine" || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "the skill linked is not loaded: the link data leads out") {
				t.Errorf("cache %q, source %s: %+v", cache, source, f)
			}
			if _, err = loader.Load(t.Context(), []plugin.Source{{Source: source, RepoPath: &bad}}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "the link assets/out leads out of it") {
				t.Errorf("cache %q, source %s: %v", cache, source, err)
			}
		}
	}
}
