package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/plugin"
)

// TestCopies reads a user's plugin from a copy, which stays as it is when the plugin changes.
func TestCopies(t *testing.T) {
	t.Parallel()
	home, copies := t.TempDir(), filepath.Join(t.TempDir(), "copies")
	own := filepath.Join(home, ".agents/plugins/own")
	testtree.Write(t, own, map[string]string{"commands/go.md": "one"})
	c := plugin.NewCatalog(home, filepath.Join(home, ".openhands"), copies)
	read := func() plugin.Plugin {
		all, warnings := c.User()
		if len(all) != 1 || len(warnings) > 0 {
			t.Fatalf("%v, %v", all, warnings)
		}
		return all[0]
	}
	first := read()
	if first.Name != "own" || filepath.Dir(filepath.Dir(first.Path)) != copies || first.Commands[0].Content != "one" {
		t.Errorf("%s at %s: %v", first.Name, first.Path, first.Commands)
	}
	if again := read(); again.Path != first.Path {
		t.Errorf("copied again to %s", again.Path)
	}
	testtree.Write(t, own, map[string]string{"commands/go.md": "another"})
	if next := read(); next.Path == first.Path || next.Commands[0].Content != "another" {
		t.Errorf("after a change: %s: %v", next.Path, next.Commands)
	}
	if b, err := os.ReadFile(filepath.Join(first.Path, "commands/go.md")); err != nil || string(b) != "one" {
		t.Errorf("the first copy: %s, %v", b, err)
	}
	must.Succeed(t, os.Symlink("/etc/passwd", filepath.Join(own, "out")))
	if all, warnings := c.User(); len(all) != 0 || len(warnings) != 1 {
		t.Errorf("with a link out of it: %v, %v", all, warnings)
	}
}

// TestKeep keeps a project's plugin as the user has allowed it.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{".agents/plugins/p/hooks/hooks.json": `{"Stop":[{"hooks":[{"command":"${CLAUDE_PLUGIN_ROOT}/x"}]}]}`, ".agents/plugins/p/x": "one"})
	all, _ := plugin.Project(dir)
	p := all[0]
	sum, err := p.Sum()
	must.Succeed(t, err)
	kept, err := p.Keep(t.TempDir(), sum)
	if err != nil || kept.Path == p.Path || kept.Hooks.For("Stop", "")[0].Command != kept.Path+"/x" {
		t.Errorf("%+v, %v", kept, err)
	}
	testtree.Write(t, dir, map[string]string{".agents/plugins/p/x": "two"})
	if _, err := p.Keep(t.TempDir(), sum); err == nil {
		t.Error("a changed plugin was kept")
	}
}
