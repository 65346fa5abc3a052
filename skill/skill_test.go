package skill_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/skill"
)

// write makes files below a new directory, by name; "->x" is a link to x.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	testtree.Write(t, dir, files)
	return dir
}

func names(skills []skill.Skill) string {
	var out []string
	for _, s := range skills {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func find(t *testing.T, skills []skill.Skill, name string) skill.Skill {
	t.Helper()
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no %q among %s", name, names(skills))
	}
	return skills[i]
}

func TestLoadProject(t *testing.T) {
	t.Parallel()
	secret := write(t, map[string]string{"secret.md": "the host's secret"})
	dir := write(t, map[string]string{
		".git/HEAD":                          "x",
		"AGENTS.md":                          "root rules",
		"CLAUDE.md":                          "->AGENTS.md",
		"sub/AGENTS.md":                      "sub rules",
		"sub/deep/agents.md":                 "deep rules",
		"node_modules/x/AGENTS.md":           "not ours",
		"sub/.openhands/skills/one.md":       "from the sub-directory",
		".openhands/skills/one.md":           "from the root",
		".openhands/skills/dir/two.md":       "---\ntriggers: [go, Make]\n---\nknow",
		".openhands/skills/README.md":        "no skill",
		".openhands/skills/steal.md":         "->" + secret + "/secret.md",
		".openhands/skills/out":              "->" + secret,
		".openhands/microagents/one.md":      "later",
		".agents/skills/pdf/SKILL.md":        "---\nname: pdf\ndescription: Reads PDFs.\nallowed-tools: a b\n---\n\nHow to.\n",
		".agents/skills/pdf/scripts/x.py":    "1",
		".agents/skills/pdf/references/y.md": "no skill of its own",
		".agents/skills/pdf/.mcp.json":       `{"mcpServers":{"s":{"command":"${SKILL_ROOT}/s"}}}`,
		".agents/skills/odd/SKILL.md/x":      "a directory is no skill",
		".agents/skills/wrong/SKILL.md":      "---\nname: other\n---\nx",
		".agents/skills/broken/SKILL.md":     "---\nname: [\n---\nx",
		".agents/skills/task.md":             "---\ninputs:\n  - {name: who, description: whom}\n---\nGreet ${who}.",
		".agents/skills/rule.md":             "---\npaths: '*.go, web/**'\n---\nGo rule.",
	})
	skills, warnings := skill.LoadProject(filepath.Join(dir, "sub"))
	if diff := cmp.Diff("agents agents:deep one rule task pdf dir/two", names(skills)); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if got := find(t, skills, "agents").Content; got != "sub rules" {
		t.Errorf("agents: %q", got)
	}
	if got := find(t, skills, "one").Content; got != "from the sub-directory" {
		t.Errorf("one: %q", got)
	}
	pdf := find(t, skills, "pdf")
	root := filepath.Join(dir, ".agents/skills/pdf")
	if diff := cmp.Diff(&skill.Resources{Root: root, Scripts: []string{"x.py"}, References: []string{"y.md"}, Assets: []string{}}, pdf.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if got := string(pdf.MCPTools); got != `{"s":{"command":"`+root+`/s"}}` {
		t.Errorf("MCP servers: %s", got)
	}
	task := find(t, skills, "task")
	if diff := cmp.Diff(&skill.Trigger{Type: skill.Task, Words: []string{"/task"}}, task.Trigger); diff != "" || !strings.Contains(task.Content, "ask the user") {
		t.Errorf("task (-want +got):\n%s\n%s", diff, task.Content)
	}
	var bad []string
	for _, w := range warnings {
		rel, err := filepath.Rel(dir, w.Path)
		must.Succeed(t, err)
		bad = append(bad, rel)
		if strings.Contains(w.Error(), "host's secret") {
			t.Errorf("a warning shows a file of outside: %v", w)
		}
	}
	slices.Sort(bad)
	want := []string{".agents/skills/broken/SKILL.md", ".agents/skills/odd/SKILL.md", ".agents/skills/wrong/SKILL.md", ".openhands/skills/out", ".openhands/skills/steal.md"}
	if diff := cmp.Diff(want, bad); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestCatalogWarnings: the user's files that cannot be read are told apart from those of the public repository.
func TestCatalogWarnings(t *testing.T) {
	t.Parallel()
	const broken = "---\ntriggers:\n- {\n---\nx"
	files := map[string]string{"public/skills/theirs.md": broken, "public/skills/fine.md": "x"}
	for i := range 12 {
		files[fmt.Sprintf(".agents/skills/own%02d.md", i)] = broken
	}
	home := write(t, files)
	all, users, others := skill.NewCatalog(home, filepath.Join(home, ".openhands"), filepath.Join(home, "public")).List("")
	if len(all) != 1 || len(users) != 12 || len(others) != 1 || filepath.Base(others[0].Path) != "theirs.md" {
		t.Errorf("%v; the user's: %v; others: %v", all, users, others)
	}
	told := skill.LeftOut(users)
	if len(told) != 11 || !strings.HasPrefix(told[0], "not loaded: "+home+"/.agents/skills/own00.md: ") || told[10] != "more are not loaded: 2" {
		t.Errorf("%q", told)
	}
}

// TestPeoplesSkills has skills and instructions with the faults that people's files have.
func TestPeoplesSkills(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"AGENTS.md":                          "Caf\xe9 rules, Café",
		"CLAUDE.md":                          "\xff\xfeB\x00y\x00 \x00C\x00",
		"GEMINI.md":                          "Caf\xe9 rules, Café", // the same text
		".claude/skills/review/SKILL.md":     "---\nname: review\ndescription: Does a thing. Use when: needed.\n---\nx",
		".agents/skills/args/SKILL.md":       "---\nname: args\nargument-hint: [x] — y\ndescription: 'ok'\n---\nx",
		".agents/skills/capital/SKILL.md":    "---\nName: capital\nDescription: !now x\n---\nx",
		".agents/skills/tabs/SKILL.md":       "---\nname: tabs\ndescription:\tWith tabs\nmetadata:\n\tk: v\n---\nx",
		".agents/skills/PDF-Tools/SKILL.md":  "---\nname: PDF Tools\ndescription: d\n---\nx",
		".agents/skills/übersicht/SKILL.md":  "---\nname: Übersicht\ndescription: *bold* text\n---\nx",
		".agents/skills/plain/SKILL.md":      "No front matter.",
		".agents/skills/unclosed/SKILL.md":   "---\nname: unclosed\ndescription: Has: no end\ntriggers:\n- x\n\n# Title\n\nbody",
		".agents/skills/dots/SKILL.md":       "---\nname: dots\ndescription: d\n...\nbody",
		".agents/skills/rule.md":             "---\nA text below a rule: with a colon\nand more.\n\nbody",
		".agents/skills/nothing/SKILL.md":    " \n",
		".agents/skills/nothing.md":          "",
		".agents/skills/head/SKILL.md":       "---\nname: head\ndescription: d\n---\n",
		".agents/skills/all-head/SKILL.md":   "---\nname: all-head\ndescription: d\n",
		".agents/skills/words.md":            "---\ntriggers: go, Make\n---\nknow",
		".agents/skills/quoted.md":           "---\ndescription: \"a\": b\ntriggers: [x]\n---\nknow",
		".agents/skills/binary/SKILL.md":     "---\nname: binary\n---\n\x00",
		".agents/skills/hopeless/SKILL.md":   "---\nname:\n  - a: [\n---\nx",
		".agents/skills/wrong-name/SKILL.md": "---\nname: another\n---\nx",
	})
	skills, warnings := skill.LoadProject(dir)
	if diff := cmp.Diff("agents claude rule quoted words pdf-tools args capital dots plain tabs unclosed uebersicht review", names(skills)); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if a, c := find(t, skills, "agents").Content, find(t, skills, "claude").Content; a != "Café rules, Café" || c != "By C" {
		t.Errorf("instructions %q and %q", a, c)
	}
	for name, want := range map[string]string{"review": "Does a thing. Use when: needed.", "tabs": "With tabs", "uebersicht": "*bold* text", "args": "ok", "quoted": `"a": b`, "unclosed": "Has: no end", "dots": "d", "capital": "!now x"} {
		if got := find(t, skills, name).Description; got == nil || *got != want {
			t.Errorf("description of %s: %v, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff([]string{"go", "Make"}, find(t, skills, "words").Trigger.Words); diff != "" {
		t.Errorf("triggers (-want +got):\n%s", diff)
	}
	if got := find(t, skills, "unclosed").Content + find(t, skills, "rule").Content; got != "# Title\n\nbody---\nA text below a rule: with a colon\nand more.\n\nbody" {
		t.Errorf("contents: %q", got)
	}
	named := fmt.Sprint(warnings)
	for _, name := range []string{"binary/", "hopeless/", "wrong-name/", "nothing/", "nothing.md", "head/", "all-head/"} {
		if !strings.Contains(named, name) {
			t.Errorf("%s is not named: %v", name, warnings)
		}
	}
	if len(warnings) != 7 {
		t.Errorf("warnings: %v", warnings)
	}
}

// TestLargeProject has more files than are walked: files high in the tree and the
// skills are found all the same.
func TestLargeProject(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"z/AGENTS.md": "z", ".agents/skills/one.md": "one", "a/b/AGENTS.md": "too deep in a full tree"})
	for i := range 210 {
		many := filepath.Join(dir, "a", "m", fmt.Sprint(i))
		must.Succeed(t, os.MkdirAll(many, 0o755))
		for j := range 100 {
			must.Succeed(t, os.Mkdir(filepath.Join(many, fmt.Sprint(j)), 0o755))
		}
	}
	skills, warnings := skill.LoadProject(dir)
	if got := names(skills); got != "agents:a/b agents:z one" || len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "are not used; start in") {
		t.Errorf("skills %s, warnings %v", got, warnings)
	}
}

func TestLoadProjectNowhere(t *testing.T) {
	t.Parallel()
	if skills, warnings := skill.LoadProject(filepath.Join(t.TempDir(), "none")); len(skills)+len(warnings) != 0 {
		t.Errorf("skills %v, warnings %v", skills, warnings)
	}
}

func TestLoadUser(t *testing.T) {
	t.Parallel()
	home := write(t, map[string]string{
		".agents/skills/a.md":                         "first",
		".openhands/skills/a.md":                      "second",
		".openhands/skills/installed/on/SKILL.md":     "on",
		".openhands/skills/installed/off/SKILL.md":    "off",
		".openhands/skills/installed/.installed.json": `{"extensions":{"off":{"enabled":false}}}`,
		".claude/skills/a/SKILL.md":                   "third",
		".claude/skills/theirs/SKILL.md":              "---\nname: theirs\ndescription: d\n---\nx",
	})
	skills, warnings := skill.LoadUser(skill.UserDirs(home, filepath.Join(home, ".openhands")))
	if diff := cmp.Diff("a theirs on", names(skills)); diff != "" || len(warnings) != 0 {
		t.Errorf("skills (-want +got):\n%s%v", diff, warnings)
	}
	if got := find(t, skills, "a").Content; got != "first" {
		t.Errorf("a: %q", got)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var s skill.Skill
	must.Succeed(t, json.Unmarshal([]byte(`{"name":"n","content":"c","trigger":{"type":"path","paths":["*.go"]},"more":1}`), &s))
	got, err := json.Marshal(s)
	must.Succeed(t, err)
	want := `{"name":"n","content":"c","trigger":{"type":"path","paths":["*.go"]},"source":null,"mcp_tools":null,"inputs":[],` +
		`"is_agentskills_format":false,"version":"1.0.0","description":null,"license":null,"compatibility":null,` +
		`"metadata":null,"allowed_tools":null,"disable_model_invocation":true,"resources":null}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("skill (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{"name":"n"}`, `{"name":"n","content":"c","trigger":{"type":"moon"}}`, `{"name":"n","content":"c","trigger":{"type":"keyword"}}`, `[]`, `{"name":1,"content":""}`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s is a skill", bad)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	source := "/s/a.md"
	skills := []skill.Skill{
		{Name: "git", Content: "G", Source: &source, Trigger: &skill.Trigger{Type: skill.Keyword, Words: []string{"Git"}}},
		{Name: "task", Content: "T", Trigger: &skill.Trigger{Type: skill.Task, Words: []string{"/task"}}},
		{Name: "rule", Content: "R", Trigger: &skill.Trigger{Type: skill.Path, Words: []string{"*.go"}}},
		{Name: "always", Content: "A"},
	}
	for message, want := range map[string]string{
		"use GIT.":           "git",
		"on github":          "",
		"/task now":          "task",
		"x/task":             "",
		"git, then /task":    "git task",
		"digit git":          "git",
		"file *.go and git2": "",
	} {
		if got := strings.Join(skill.Match(skills, message, nil).Names, " "); got != want {
			t.Errorf("%q calls up %q, want %q", message, got, want)
		}
	}
	got := skill.Match(skills, "git", nil).Text
	for _, part := range []string{"<EXTRA_INFO>", `"Git"`, "Skill location: /s/a.md", "\nG\n</EXTRA_INFO>"} {
		if !strings.Contains(got, part) {
			t.Errorf("the text lacks %q:\n%s", part, got)
		}
	}
	if a := skill.Match(skills, "git", []string{"git"}); a.Text != "" || a.Names != nil {
		t.Errorf("activated again: %+v", a)
	}
	if a := skill.MatchPath(skills, "a/b.go", nil); len(a.Names) != 1 || !strings.Contains(a.Text, "\nR\n</EXTRA_INFO>") {
		t.Errorf("rule: %+v", a)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"*.go", "a/b/c.go", true},
		{"*.go", "c.goo", false},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/b/a.go", false},
		{"src/**/*.go", "src/a.go", true},
		{"src/**", "src/a/b", true},
		{"src/**", "src", false},
		{"a?c/x", "abc/x", true},
		{"a?c/x", "a/c/x", false},
		{"a+(b)/x", "a+(b)/x", true},
		{"A.go", "a.go", false},
		{"", "a", false},
	} {
		if got := skill.Glob(c.pattern, c.file); got != c.want {
			t.Errorf("Glob(%q, %q) = %v", c.pattern, c.file, got)
		}
	}
}

func TestTouched(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"real/a.go": "x", "link": "->real"})
	for file, want := range map[string]string{
		"b/../a.go":                       "a.go",
		filepath.Join(dir, "real/a.go"):   "a.go",
		filepath.Join(dir, "real/new.go"): "",
		"/etc/passwd":                     "",
		"":                                "",
	} {
		if got := skill.Touched(filepath.Join(dir, "link"), file); got != want {
			t.Errorf("Touched(%q) = %q, want %q", file, got, want)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	about := "Reads <PDF>s."
	skills := []skill.Skill{
		{Name: "agents", Content: "Be kind."},
		{Name: "claude", Content: "For Claude."},
		{Name: "pdf", Content: "How.", AgentSkills: true, Description: &about},
		{Name: "word", Content: "# Title\n\nFirst line.\nSecond.", Trigger: &skill.Trigger{Type: skill.Keyword, Words: []string{"w"}}},
		{Name: "rule", Content: "R", DisableModelInvocation: true, Trigger: &skill.Trigger{Type: skill.Path, Words: []string{"*"}}},
	}
	repo := skill.RepoContext(skills)
	if !strings.Contains(repo, "[BEGIN context from [agents]]\nBe kind.\n[END Context]") || !strings.Contains(repo, "For Claude") {
		t.Errorf("context:\n%s", repo)
	}
	got := skill.Available(skills)
	for _, part := range []string{"<name>pdf</name>", "Reads &lt;PDF&gt;s.", "<description>First line. …</description>"} {
		if !strings.Contains(got, part) {
			t.Errorf("the list lacks %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "rule") || strings.Contains(got, "agents") {
		t.Errorf("the list has too much:\n%s", got)
	}
	if skill.Available(skills[:2])+skill.RepoContext(skills[2:]) != "" || skill.HasInvocable(skills[:2]) || !skill.HasInvocable(skills) {
		t.Error("sections without skills")
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	content := "a !`date` \\!`x` `y` ```\n!`no`\n``` !`z` ```!`open`"
	var ran []string
	got := skill.Render(content, func(c string) string { ran = append(ran, c); return " <" + c + "> \n" })
	if diff := cmp.Diff("a <date> !`x` `y` ```\n!`no`\n``` <z> ```!`open`", got); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"date", "z"}, ran); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if got := skill.Render("a !`date`", nil); got != "a !`date`" {
		t.Errorf("without a runner: %q", got)
	}
}

func TestMergeWithout(t *testing.T) {
	t.Parallel()
	a := []skill.Skill{{Name: "x", Content: "1"}, {Name: "y"}}
	b := []skill.Skill{{Name: "x", Content: "2"}, {Name: "z"}}
	merged := skill.Merge(a, b)
	if names(merged) != "x y z" || merged[0].Content != "1" {
		t.Errorf("merged: %+v", merged)
	}
	if got := names(skill.Without(merged, []string{"y", "none"})); got != "x z" {
		t.Errorf("left: %s", got)
	}
}

func TestMeant(t *testing.T) {
	t.Parallel()
	fields, _, err := skill.FrontMatter("---\ninputs:\n  - name: WHO\n    description: Whom: a name\n  - name: WHEN: now\n    description: x\ntriggers:\n  - one: two\n---\nbody")
	want := map[string]any{
		"inputs":   []any{map[string]any{"name": "WHO", "description": "Whom: a name"}, map[string]any{"name": "WHEN: now", "description": "x"}},
		"triggers": []any{map[string]any{"one": "two"}},
	}
	if diff := cmp.Diff(want, fields); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	s, err := skill.Parse("a.md", "a", "---\ntriggers:\n  - one: two\n  - three\n---\nbody", true)
	if err != nil || strings.Join(s.Trigger.Words, "|") != "one: two|three" {
		t.Errorf("%+v, %v", s.Trigger, err)
	}
}

func TestFrontMatterRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"---\na: &x [1]\nb: *x\n---\n",
		"---\na:\n  b: [\n---\n",
		"---\n" + strings.Repeat("a: b\n", 10000) + "---\n",
	} {
		if _, _, err := skill.FrontMatter(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%.30q: error %v", text, err)
		}
	}
	if fields, _, err := skill.FrontMatter("---\na: 1\na: 2\n---\n"); err != nil || fmt.Sprint(fields["a"]) != "2" {
		t.Errorf("a key given twice: %v, %v", fields, err)
	}
	fields, rest, err := skill.FrontMatter("\n---\r\na: 1\r\n---\r\n body ")
	if err != nil || rest != "body" || len(fields) != 1 {
		t.Errorf("%v %q %v", fields, rest, err)
	}
}

// FuzzParse checks that any file is a skill or an error, in bounded time, and
// that a skill survives the wire.
func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ntriggers: [x, 1, null]\nmetadata: {k: 1}\n---\nbody")
	f.Add("---\ninputs:\n- {name: a, description: b}\npaths: a,b\n---\n${x}")
	f.Add("---\na: &b {c: *b}\n---\n")
	f.Add("----\n? [x]\n: y\n---")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := skill.Parse("/x/.agents/skills/a/b.md", "b", text, true)
		if err != nil {
			return
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		var again skill.Skill
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if again.Name != s.Name || again.Content != s.Content {
			t.Fatalf("%q became %q", s.Content, again.Content)
		}
		skill.Match([]skill.Skill{s}, text, nil)
		skill.MatchPath([]skill.Skill{s}, "a/b.go", nil)
	})
}

// TestLevels has fields that are indented by mistake, with tabs or spaces.
func TestLevels(t *testing.T) {
	t.Parallel()
	want := map[string]any{"name": "a", "description": "Does: it", "metadata": map[string]any{"k": "v"}, "triggers": []any{"x"}, "license": "MIT"}
	for _, head := range []string{
		"name: a\n\tdescription: Does: it\nmetadata:\n\tk: v\ntriggers:\n\t- x\nlicense: MIT",
		"name: a\n  description: Does: it\n  metadata:\n    k: v\n  triggers:\n    - x\n  license: MIT",
		"\tname: a\n\tdescription: Does: it\n\tmetadata:\n\t\tk: v\n\ttriggers:\n\t- x\n\tlicense: MIT",
		"\tname: a\ndescription: Does: it\n \tlicense: MIT\nmetadata:\n\tk: v\ntriggers:\n- x",
		"name:\ta\r\n\tdescription:\tDoes: it\r\nmetadata: \r\n\tk:\tv\r\ntriggers: [x]\r\nlicense: MIT",
	} {
		fields, _, err := skill.FrontMatter("---\n" + head + "\n---\nbody")
		if diff := cmp.Diff(want, fields); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", head, err, diff)
		}
	}
	fields, _, err := skill.FrontMatter("---\ndescription: |\n\tUse: it\nname: a\n---\nbody")
	if diff := cmp.Diff(map[string]any{"description": "Use: it\n", "name": "a"}, fields); diff != "" || err != nil {
		t.Errorf("a block: %v (-want +got):\n%s", err, diff)
	}
}

// TestFrontMatterWithoutEnd reads the fields before a text, with an empty line between them or not.
func TestFrontMatterWithoutEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"---\nname: a\ndescription: no end\nThe text.\n\nMore.": "The text.\n\nMore.",
		"---\nname: a\n\nThe text.":                             "The text.",
		"---\nNote: a rule\nand a text":                         "---\nNote: a rule\nand a text",
	} {
		fields, rest, err := skill.FrontMatter(text)
		if err != nil || rest != want || (fields["name"] == "a") != strings.Contains(text, "name: a") {
			t.Errorf("%q: %v, %q, %v", text, fields, rest, err)
		}
	}
}
