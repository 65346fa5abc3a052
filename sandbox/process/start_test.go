package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

func TestStartRunsProgram(t *testing.T) {
	t.Parallel()
	for _, level := range append(levels, process.LevelNone) {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			t.Logf("as %s: %+v", whoami(t), s.Report())
			if got := s.Report().Level; got != level {
				t.Errorf("level %s, want %s", got, level)
			}
			if s.Reused() {
				t.Error("a new sandbox says it was reused")
			}
			a := sh(t, s, `pwd; cat hello; echo new >made; echo "$DEFT_TEST_SECRET"`)
			want := b.ws + "\nhellohunter2\n"
			if diff := cmp.Diff(answer{Out: want}, a); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got, err := os.ReadFile(filepath.Join(b.ws, "made")); err != nil || string(got) != "new\n" {
				t.Errorf("the file made inside reads %q, %v", got, err)
			}
			if got := ask(t, s, request{Act: "fds"}).Out; got != "0 1 2 3 4" {
				t.Errorf("descriptors %s", got)
			}
			if level == process.LevelNamespaces {
				if got := ask(t, s, request{Act: "pid"}).Out; got != "1" {
					t.Errorf("the program is process %s, want 1", got)
				}
			}
			must.Succeed(t, s.Stop(t.Context()))
			<-s.Done()
			if _, err := b.Get(t.Context(), "one"); !fault.Is(err, fault.NotFound) {
				t.Errorf("Get after Stop: %v", err)
			}
		})
	}
}

func TestBadSpecs(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	link := filepath.Join(b.home, "link")
	must.Succeed(t, os.Symlink("/", link))
	for name, change := range map[string]func(*sandbox.Spec){
		"id leaves directory":  func(s *sandbox.Spec) { s.ID = "../one" },
		"relative program":     func(s *sandbox.Spec) { s.Argv = []string{"sh"} },
		"file as workspace":    func(s *sandbox.Spec) { s.Workspace = "/etc/passwd" },
		"root as workspace":    func(s *sandbox.Spec) { s.Workspace = link },
		"proc as workspace":    func(s *sandbox.Spec) { s.Workspace = "/proc/sys" },
		"hidden workspace":     func(s *sandbox.Spec) { s.Hidden = []string{b.ws} },
		"relative hidden path": func(s *sandbox.Spec) { s.Hidden = []string{"x"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.spec
			change(&s)
			if _, err := b.Start(t.Context(), s); !fault.Is(err, fault.Invalid) {
				t.Errorf("error %v of kind %s, want invalid", err, fault.KindOf(err))
			}
		})
	}
}

func TestStopKillsEverything(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			fifo := filepath.Join(b.ws, "fifo")
			// The orphan holds the pipe's end until it dies, nohup and setsid
			// notwithstanding.
			sh(t, s, `mkfifo fifo && nohup setsid sh -c '(sleep 1000 & wait) & exec 9>fifo; sleep 1000' >/dev/null 2>&1 &`)
			f, err := os.Open(fifo) // waits for the writer
			must.Succeed(t, err)
			defer f.Close()
			must.Succeed(t, s.Stop(t.Context()))
			if n, err := f.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("read %d, %v", n, err)
			}
		})
	}
}

func TestLongSocketPath(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.dir = filepath.Join(b.dir, strings.Repeat("long", 40))
	b.Provider = b.provider(t, "")
	s := b.start(t)
	if got := ask(t, s, request{Act: "fds"}).Out; got == "" {
		t.Error("no answer")
	}
}

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/no/such/sock", "/" + strings.Repeat("x", 120) + "/sock"} {
		if _, err := process.Connect(t.Context(), path); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Connect(%s): %v, want one of kind unavailable", path, err)
		}
	}
}
