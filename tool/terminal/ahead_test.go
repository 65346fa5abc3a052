package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// startAhead starts a shell as a terminal of cfg would, and returns a descriptor of its
// process. Not in parallel: a process has one such shell.
func startAhead(t *testing.T, cfg terminal.Config) (pidfd int) {
	t.Helper()
	path, err := ahead.Find(exec.LookPath)
	must.Succeed(t, err)
	before := children(t)
	must.Succeed(t, ahead.Start(ahead.NewSpec(path, cfg.Env, cfg.WorkingDir, ahead.Rows, ahead.Cols, cfg.Command)))
	for pid := range children(t) {
		if before[pid] {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		must.Succeed(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	t.Fatal("no shell was started")
	return 0
}

// children are the processes that this one has started.
func children(t *testing.T) map[int]bool {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must.Succeed(t, err)
	all := map[int]bool{}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		pid, rest := 0, string(raw)
		for _, c := range rest {
			if c == ' ' {
				all[pid], pid = true, 0
			} else {
				pid = 10*pid + int(c-'0')
			}
		}
	}
	return all
}

// runs reports whether the process of a descriptor has not ended.
func runs(t *testing.T, pidfd int) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	must.Succeed(t, err)
	return n == 0
}

// signalTo sends no signal, which works for a process that has not been reaped.
func signalTo(pidfd int) error { return unix.PidfdSendSignal(pidfd, 0, nil, 0) }

// TestAhead: a terminal takes the shell that was started for it, and no other one.
func TestAhead(t *testing.T) { //nolint:paralleltest // see startAhead
	other, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	for name, c := range map[string]struct {
		edit  func(*terminal.Config) // after the shell was started
		taken bool
	}{
		"the same":          {nil, true},
		"other variables":   {func(c *terminal.Config) { c.Env = append(c.Env, "MORE=1") }, false},
		"other directory":   {func(c *terminal.Config) { c.WorkingDir = other }, false},
		"other size":        {func(c *terminal.Config) { c.Rows = 20 }, false},
		"started otherwise": {func(c *terminal.Config) { c.Command = throughEnv }, false},
		"new directory": {func(c *terminal.Config) {
			must.Succeed(t, os.Rename(c.WorkingDir, filepath.Join(other, "old")))
			must.Succeed(t, os.Mkdir(c.WorkingDir, 0o700))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var pidfd int
			b := open(t, func(cfg *terminal.Config) {
				pidfd = startAhead(t, *cfg)
				if c.edit != nil {
					c.edit(cfg)
				}
			})
			out := b.run("echo $$ $MORE; pwd; stty size; touch here")
			if taken := runs(t, pidfd); taken != c.taken {
				t.Errorf("taken: %v, the terminal says %q", taken, event.JoinText(out.Content))
			}
			if !c.taken && signalTo(pidfd) == nil {
				t.Error("the shell that nobody takes is still there")
			}
			b.want(b.run("false"), "", 1) // and goes on as ever
			if c.taken {
				pid := os.Getpid()
				b.want(b.run("echo $PPID; echo $HOME; pwd"), strconv.Itoa(pid)+"\n"+b.dir+"\n"+b.dir, 0)
			}
		})
	}
}

func throughEnv(path string, args []string) (string, []string) {
	return "/usr/bin/env", append([]string{"env", path}, args[1:]...)
}

// TestAheadEnds: the shell ends with the terminal that has taken it.
func TestAheadEnds(t *testing.T) { //nolint:paralleltest // see startAhead
	var pidfd int
	b := open(t, func(cfg *terminal.Config) { pidfd = startAhead(t, *cfg) })
	must.Succeed(t, b.x.(tool.Warmer).Warm(t.Context()))
	if !runs(t, pidfd) {
		t.Error("the shell was not taken")
	}
	must.Report(t, b.x.Close())
	if runs(t, pidfd) {
		t.Error("the shell goes on")
	}
}
