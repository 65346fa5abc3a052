package crash_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWithoutNamespaces kills where no namespace holds processes together.
// Effects are as exact as with one. What a command has left behind may outlive
// a supervisor that was killed, for nobody is left to know of it; with the
// controller alone killed nothing does.
func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"landlock", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			if n := prove(t, controller, points(t, 100), "--sandbox", level); n.strays > 0 {
				t.Errorf("%d processes were left", n.strays)
			}
			prove(t, both, points(t, 100), "--sandbox", level)
			prove(t, server, points(t, 50), "--sandbox", level)
		})
	}
}

// TestGrace kills the controller while a command runs and does not come back
// in time: the supervisor ends by itself, with everything, and the command's
// result can be had afterwards.
func TestGrace(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"namespaces", "landlock", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, 2, lingering, "--sandbox", level, "--grace", "300ms")
			in := spaces{}
			var l *life
			alive, held := make(chan struct{}), make(chan *supervisor, 1)
			cancel := b.at(moment{sign: effected, n: 2}, func() {
				<-alive
				held <- b.supervisor()
				_ = l.cmd.Process.Kill()
			})
			l = b.live(task)
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
			if err := s.release(); err != nil {
				t.Error(err)
			}
			if left := b.remain(in); len(left) > 0 {
				t.Errorf("after the grace time there is still: %v", left)
				b.end(left)
			}
			if l := b.live("--resume", "last"); !l.wait() {
				t.Fatalf("deft run ended with %v and said: %s", l.err, l.stderr.String())
			}
			if v := b.inspect(); v.interrupted > 0 {
				t.Error("the result of the command that the supervisor ended is called unknown")
			}
		})
	}
}

// TestOrdinaryUser works as somebody who may do nothing special.
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
	if err != nil {
		t.Fatal(err)
	}
	for n, args := range [][]string{{task}, {"--resume", "last"}, {"--resume", "last"}} {
		var l *life
		alive := make(chan struct{})
		cancel := func() {}
		if n < 2 {
			cancel = b.at(moment{sign: effected, n: 5}, func() { <-alive; _ = l.cmd.Process.Kill() })
		}
		l = b.live(args...)
		close(alive)
		<-l.ended
		cancel()
		if n < 2 != l.killed() {
			t.Fatalf("run %d ended with %v and said: %s", n, l.err, l.stderr.String())
		}
	}
	if v := b.inspect(); v.interrupted > 0 {
		t.Errorf("%d actions were called interrupted, though their supervisor lived", v.interrupted)
	}
	if left := b.remain(spaces{}); len(left) > 0 {
		t.Errorf("there is still: %v", left)
		b.end(left)
	}
}
