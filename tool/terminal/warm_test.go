package terminal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/spawn"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// TestWarm: the shell that was started early is the one that runs commands.
func TestWarm(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	warm := b.x.(tool.Warmer)
	if err := warm.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.want(b.run("x=1"), "", 0)
	if err := warm.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.want(b.run("echo $x"), "1", 0)
}

func TestWarmBeside(t *testing.T) {
	t.Parallel()
	s, err := spawn.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var wg sync.WaitGroup
	for range 10 { // more than get going side by side
		b := open(t, func(c *terminal.Config) { c.Starter = s })
		wg.Go(func() {
			if err := b.x.(tool.Warmer).Warm(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { b.want(b.run("echo on"), "on", 0) })
	}
	wg.Wait()
}

func TestWarmFails(t *testing.T) {
	t.Parallel()
	x := terminal.New(terminal.Config{WorkingDir: "/nonexistent/x"})
	if err := x.(tool.Warmer).Warm(t.Context()); err == nil {
		t.Error("warm without a directory")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.(tool.Warmer).Warm(t.Context()); err != nil {
		t.Errorf("a closed terminal has nothing to warm: %v", err)
	}
}

// TestForeignHistory: what the user typed elsewhere is not the agent's to read.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if err := os.WriteFile(filepath.Join(b.dir, ".bash_history"), []byte("export TOKEN=hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(b.run("history; echo ${HISTFILE-unset}; env | grep -c HISTFILE"), "unset\n0", 1)
}
