package spawn_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/spawn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test with a Starter and with none: they must not differ.
func both(t *testing.T, test func(t *testing.T, s *spawn.Starter)) {
	t.Parallel()
	t.Run("nil", func(t *testing.T) { t.Parallel(); test(t, nil) })
	t.Run("thread", func(t *testing.T) { t.Parallel(); test(t, starter(t)) })
}

func starter(t *testing.T) *spawn.Starter {
	t.Helper()
	s, err := spawn.New()
	must.Succeed(t, err)
	t.Cleanup(s.Close)
	return s
}

func sh(script string, files ...*os.File) spawn.Command {
	return spawn.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Files: files}
}

// output runs a command and returns its output on descriptor 1.
func output(t *testing.T, s *spawn.Starter, c spawn.Command) string {
	t.Helper()
	r, w, err := os.Pipe()
	must.Succeed(t, err)
	defer r.Close()
	null, err := os.Open(os.DevNull)
	must.Succeed(t, err)
	defer null.Close()
	c.Files = append([]*os.File{null, w, w}, c.Files...)
	p, err := s.Start(c)
	_ = w.Close()
	must.Succeed(t, err)
	out, err := io.ReadAll(r)
	must.Succeed(t, err)
	if status, err := p.Wait(); err != nil || status.ExitStatus() != 0 {
		t.Fatalf("ended with %v, %v: %s", status, err, out)
	}
	return string(out)
}

func TestWait(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0":            "exited 0",
		"exit 7":            "exited 7",
		"kill -TERM $$":     "signal terminated",
		"sleep .05; exit 3": "exited 3",
	} {
		t.Run(script, func(t *testing.T) {
			both(t, func(t *testing.T, s *spawn.Starter) {
				p, err := s.Start(sh(script))
				must.Succeed(t, err)
				status, err := p.Wait()
				must.Succeed(t, err)
				got := fmt.Sprint("exited ", status.ExitStatus())
				if status.Signaled() {
					got = "signal " + status.Signal().String()
				}
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
					t.Errorf("the process is still on the list: %v", err)
				}
			})
		})
	}
}

func TestWhatAChildGets(t *testing.T) {
	both(t, func(t *testing.T, s *spawn.Starter) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		must.Succeed(t, err)
		extra, err := os.CreateTemp(dir, "extra")
		must.Succeed(t, err)
		defer extra.Close()
		c := sh(`pwd; echo "$A-$HOME"; readlink /proc/self/fd/3; echo /proc/self/fd/*`, extra)
		c.Dir, c.Env = dir, []string{"A=b"}
		got := strings.Split(output(t, s, c), "\n")
		want := []string{dir, "b-", extra.Name()}
		if !slices.Equal(got[:3], want) {
			t.Errorf("got %q, want %q", got[:3], want)
		}
		// The shell opens the directory to expand the pattern, and no more. Without a
		// Starter it has the descriptors that this process got from its parent.
		if n := len(strings.Fields(got[3])); s != nil && n > 5 {
			t.Errorf("the child has %d descriptors: %s", n, got[3])
		}
	})
}

func TestErrors(t *testing.T) {
	both(t, func(t *testing.T, s *spawn.Starter) {
		noDir := sh("true")
		noDir.Dir = "/nonexistent"
		for _, c := range []spawn.Command{{Path: "/nonexistent", Args: []string{"x"}}, noDir} {
			if _, err := s.Start(c); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s in %q: %v", c.Path, c.Dir, err)
			}
		}
		closed, err := os.Open(os.DevNull)
		must.Succeed(t, err)
		_ = closed.Close()
		if _, err := s.Start(sh("true", closed)); err == nil {
			t.Error("a closed file was handed over")
		}
		if got := output(t, s, sh("echo on")); got != "on\n" {
			t.Errorf("after errors: %q", got)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := starter(t)
	r, w, err := os.Pipe()
	must.Succeed(t, err)
	defer r.Close()
	p, err := s.Start(sh("read x", r))
	must.Succeed(t, err)
	s.Close()
	s.Close()
	if _, err := s.Start(sh("true")); err == nil {
		t.Error("a closed Starter starts")
	}
	_ = w.Close()
	if status, err := p.Wait(); err != nil || !status.Exited() {
		t.Errorf("what ran did not go on to its end: %v, %v", status, err)
	}
	var none *spawn.Starter
	none.Close()
}

func TestKill(t *testing.T) {
	both(t, func(t *testing.T, s *spawn.Starter) {
		p, err := s.Start(sh("exec sleep 1000"))
		must.Succeed(t, err)
		must.Succeed(t, p.Kill())
		if status, err := p.Wait(); err != nil || status.Signal() != syscall.SIGKILL {
			t.Errorf("got %v, %v", status, err)
		}
		if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("killed twice: %v", err)
		}
	})
}

// TestMany also has the garbage collector run on the thread.
func TestMany(t *testing.T) {
	t.Parallel()
	s := starter(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			p, err := s.Start(sh(fmt.Sprintf("exit %d", i)))
			if err != nil {
				t.Error(err)
				return
			}
			if status, err := p.Wait(); err != nil || status.ExitStatus() != i {
				t.Errorf("%d: %v, %v", i, status, err)
			}
		})
	}
	wg.Wait()
}

// TestWrittenPrograms starts programs that were just written, while other goroutines start
// theirs: their children have the files open for writing until their exec.
func TestWrittenPrograms(t *testing.T) {
	both(t, func(t *testing.T, s *spawn.Starter) {
		dir := t.TempDir()
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for n := range 25 {
					file := filepath.Join(dir, fmt.Sprint(i, "-", n))
					if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
						t.Error(err)
						return
					}
					p, err := s.Start(spawn.Command{Path: file, Args: []string{file}})
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := p.Wait(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
}
