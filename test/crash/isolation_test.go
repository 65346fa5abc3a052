package crash_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestWithoutNamespaces kills processes that are in no namespace of their own.
// Effects are as exact as in one. Background processes of a command may outlive a
// killed supervisor, because nothing is left to end them; if only the controller
// is killed, none does.
func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"landlock", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			killDuringTasks(t, controller, points(t, 100), "--sandbox", level)
			killDuringTasks(t, both, points(t, 100), "--sandbox", level)
			killDuringTasks(t, server, points(t, 50), "--sandbox", level)
		})
	}
}

// TestGrace kills the controller while a command runs and resumes only after the
// grace time: the supervisor ends by itself, with everything that it runs, and
// the command's result is still available.
func TestGrace(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"namespaces", "landlock", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, 2, longRunning, "--sandbox", level, "--grace", "300ms")
			in := spaces{}
			var l *deftRun
			alive, held := make(chan struct{}), make(chan *supervisor, 1)
			cancel := b.at(moment{sign: effected, n: 2}, func() {
				<-alive
				held <- b.supervisor()
				_ = l.cmd.Process.Kill()
			})
			l = b.startDeft(task)
			close(alive)
			<-l.ended
			cancel()
			if !l.killed() {
				t.Fatalf("deft run ended with %v and said: %s", l.err, l.stderr.String())
			}
			s := <-held
			if s == nil {
				t.Fatal("there is no supervisor")
			}
			in.add(s)
			must.Report(t, s.release())
			b.gone(in)
			if l := b.startDeft("--resume", "last"); !l.wait() {
				t.Fatalf("deft run ended with %v and said: %s", l.err, l.stderr.String())
			}
			if v := b.inspect(); v.interrupted > 0 {
				t.Error("the result of the command that the supervisor ended is reported as unknown")
			}
		})
	}
}

// TestOrdinaryUser runs as a user without privileges.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: all other tests run as an ordinary user")
	}
	const nobody = 65534
	b := setup(t)
	b.user = &syscall.Credential{Uid: nobody, Gid: nobody}
	err := filepath.WalkDir(b.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobody, nobody)
	})
	must.Succeed(t, err)
	for n, args := range [][]string{{task}, {"--resume", "last"}, {"--resume", "last"}} {
		var l *deftRun
		alive := make(chan struct{})
		cancel := func() {}
		if n < 2 {
			cancel = b.at(moment{sign: effected, n: 5}, func() { <-alive; _ = l.cmd.Process.Kill() })
		}
		l = b.startDeft(args...)
		close(alive)
		<-l.ended
		cancel()
		if n < 2 != l.killed() {
			t.Fatalf("run %d ended with %v and said: %s", n, l.err, l.stderr.String())
		}
	}
	if v := b.inspect(); v.interrupted > 0 {
		t.Errorf("%d actions were reported as interrupted, although their supervisor survived", v.interrupted)
	}
	b.gone(spaces{})
}
