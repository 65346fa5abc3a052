package plugin_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/plugin"
)

func textFile(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }

// TestProjectInside reads the plugins of a project in a sandbox: paths are those there, and what runs files of the plugin
// is left out. Each file counts for the sum.
func TestProjectInside(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		".agents/plugins/rules/hooks/hooks.json":   textFile(`{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"${CLAUDE_PLUGIN_ROOT}/check"},{"command":"make check"}]}]}`),
		".agents/plugins/rules/.mcp.json":          textFile(`{"mcpServers":{"own":{"command":"${CLAUDE_PLUGIN_ROOT}/serve"},"db":{"command":"db-server"}}}`),
		".agents/plugins/rules/commands/go.md":     textFile("run ${CLAUDE_PLUGIN_ROOT}/go"),
		".agents/plugins/rules/skills/s/SKILL.md":  textFile("---\nname: s\ndescription: d\n---\nlook"),
		".agents/plugins/rules/skills/s/scripts/x": textFile("x"),
		".agents/plugins/rules/link":               {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		".openhands/plugins/rules/commands/b.md":   textFile("hidden"),
		".openhands/plugins/broken/plugin.json":    textFile(`{"$schema":"x"`),
		".openhands/plugins/file":                  textFile("no plugin"),
	}
	read := func() plugin.Found {
		t.Helper()
		all, warnings, err := plugin.ProjectInside(files, "/far")
		must.Succeed(t, err)
		if len(all) != 1 || len(warnings) != 1 || warnings[0].Path != "/far/.openhands/plugins/broken" {
			t.Fatalf("%+v, %v", all, warnings)
		}
		return all[0]
	}
	p := read()
	if d := cmp.Diff([]string{"hook at PreToolUse of terminal: runs make check, 60 s at most", "MCP server db runs db-server"}, p.Runs()); d != "" {
		t.Errorf("it runs (-want +got):\n%s", d)
	}
	for _, want := range []string{"hook /far/.agents/plugins/rules/check: it runs files of the plugin", "MCP server own: it runs"} {
		if !strings.Contains(strings.Join(p.Problems(), "\n"), want) {
			t.Errorf("problems %q, want %q", p.Problems(), want)
		}
	}
	if p.Path != "/far/.agents/plugins/rules" || !strings.HasPrefix(*p.Skills[0].Source, p.Path+"/skills/s/") || !strings.HasPrefix(p.Skills[0].Resources.Root, p.Path+"/") ||
		strings.Contains(p.Commands[0].Content, os.TempDir()) {
		t.Errorf("%s, %+v, %+v", p.Path, p.Skills, p.Commands)
	}
	files[".agents/plugins/rules/skills/s/scripts/x"] = textFile("y")
	if read().Sum == p.Sum {
		t.Error("another file has the same sum")
	}
}

// hostile are files whose sandbox does not answer, or gives names that lead out.
type hostile struct {
	fstest.MapFS
	err  error
	name string
}

func (h hostile) ReadDir(name string) ([]fs.DirEntry, error) {
	if h.err != nil {
		return nil, h.err
	}
	all, err := h.MapFS.ReadDir(name)
	for i, e := range all {
		if h.name != "" && !e.IsDir() {
			all[i] = named{e, h.name}
		}
	}
	return all, err
}

type named struct {
	fs.DirEntry
	name string
}

func (n named) Name() string { return n.name }

// TestProjectInsideHostile leaves out plugins that are too large or whose files lead out of them, and does not go on
// without a sandbox.
func TestProjectInsideHostile(t *testing.T) {
	t.Parallel()
	if _, _, err := plugin.ProjectInside(hostile{err: fault.New(fault.Unavailable, "gone")}, "/far"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("no sandbox: %v", err)
	}
	few := fstest.MapFS{".agents/plugins/a/file": textFile("x")}
	large := fstest.MapFS{".agents/plugins/a/file": textFile(strings.Repeat("x", 16<<20+1))}
	for name, fsys := range map[string]fs.FS{
		"outside": hostile{MapFS: few, name: "../../x"}, "absolute": hostile{MapFS: few, name: "/tmp/x"}, "large": large,
		"unreadable": hostile{err: fs.ErrPermission},
	} {
		all, warnings, err := plugin.ProjectInside(fsys, "/far")
		if err != nil || len(all) != 0 || len(warnings) == 0 {
			t.Errorf("%s: %v, %v, %v", name, all, warnings, err)
		}
	}
}
