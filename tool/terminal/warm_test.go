package terminal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// TestWarm: the shell that was started early is the one that runs commands.
func TestWarm(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	warm := b.x.(tool.Warmer)
	must.Succeed(t, warm.Warm(t.Context()))
	b.want(b.run("x=1"), "", 0)
	must.Succeed(t, warm.Warm(t.Context()))
	b.want(b.run("echo $x"), "1", 0)
}

func TestWarmBeside(t *testing.T) {
	t.Parallel()
	s, err := terminal.NewStarter()
	must.Succeed(t, err)
	t.Cleanup(s.Close)
	var wg sync.WaitGroup
	for range 10 { // more than get going side by side
		b := open(t, func(c *terminal.Config) { c.Starter = s })
		wg.Go(func() {
			must.Report(t, b.x.(tool.Warmer).Warm(t.Context()))
		})
		wg.Go(func() { b.want(b.run("echo on"), "on", 0) })
	}
	wg.Wait()
}

// TestWarmUpDelaysNothing: an action that is interrupted, and the end of the
// terminal, do not wait for a warm-up.
func TestWarmUpDelaysNothing(t *testing.T) {
	t.Parallel()
	s, err := terminal.NewStarter()
	must.Succeed(t, err)
	t.Cleanup(s.Close)
	for range runtime.GOMAXPROCS(0) { // others take all turns
		leave, err := terminal.Turn(t.Context(), s)
		must.Succeed(t, err)
		t.Cleanup(leave)
	}
	b := open(t, func(c *terminal.Config) { c.Starter = s })
	warmed := make(chan error)
	go func() { warmed <- b.x.(tool.Warmer).Warm(t.Context()) }()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	call := tool.Call{Action: &event.TerminalAction{Command: "true"}, Progress: func(tool.Chunk) {}}
	if _, err := b.x.Execute(ctx, call); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted action: %v", err)
	}
	must.Report(t, b.x.Close())
	if err := <-warmed; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the warm-up: %v", err)
	}
}

// TestWarmInNewDirectory: the first command runs in the directory of this name, though that
// has been made anew since the shell was started.
func TestWarmInNewDirectory(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	must.Succeed(t, b.x.(tool.Warmer).Warm(t.Context()))
	must.Succeed(t, os.Rename(b.dir, filepath.Join(t.TempDir(), "old")))
	must.Succeed(t, os.Mkdir(b.dir, 0o700))
	b.want(b.run("touch here; pwd"), b.dir, 0)
	if _, err := os.Stat(filepath.Join(b.dir, "here")); err != nil {
		t.Error(err)
	}
}

func TestWarmFails(t *testing.T) {
	t.Parallel()
	x := terminal.New(terminal.Config{WorkingDir: "/nonexistent/x"})
	if err := x.(tool.Warmer).Warm(t.Context()); err == nil {
		t.Error("warm without a directory")
	}
	must.Succeed(t, x.Close())
	if err := x.(tool.Warmer).Warm(t.Context()); err != nil {
		t.Errorf("a closed terminal has nothing to warm: %v", err)
	}
}

// TestForeignHistory: the user's history from elsewhere is not the agent's to
// read.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	must.Succeed(t, os.WriteFile(filepath.Join(b.dir, ".bash_history"), []byte("export TOKEN=hush\n"), 0o600))
	b.want(b.run("history; echo ${HISTFILE-unset}; env | grep -c HISTFILE"), "unset\n0", 1)
}
