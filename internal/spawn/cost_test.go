package spawn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestOwnTable is not parallel: it counts threads.
func TestOwnTable(t *testing.T) {
	for range 300 {
		f, err := os.Open(os.DevNull)
		must.Succeed(t, err)
		defer f.Close()
	}
	before := tables(t) // threads of other tests may be about to end
	s := starter(t)
	made := 0
	for dir, n := range tables(t) {
		if old, ok := before[dir]; n < 20 && (!ok || old >= 20) {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d threads have a small table now, want 1", made)
	}
	// Others do not see the small one under the number of the process.
	if fds, err := os.ReadDir("/proc/self/fd"); err != nil || len(fds) < 300 {
		t.Errorf("the process seems to have %d descriptors: %v", len(fds), err)
	}
	if got := output(t, s, sh("echo on")); got != "on\n" {
		t.Errorf("got %q", got)
	}
}

// tables returns the size of each thread's table of descriptors.
func tables(t *testing.T) map[string]int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/self/task/*/fd")
	must.Succeed(t, err)
	sizes := map[string]int{}
	for _, dir := range dirs {
		if fds, err := os.ReadDir(dir); err == nil { // else the thread has ended
			sizes[dir] = len(fds)
		}
	}
	return sizes
}

// TestNoThreads is not parallel: it counts threads.
func TestNoThreads(t *testing.T) {
	s := starter(t)
	r, w, err := os.Pipe()
	must.Succeed(t, err)
	defer r.Close()
	defer w.Close()
	const n = 100
	ended := make(chan error, n)
	before := threads(t)
	for range n {
		p, err := s.Start(sh("read x", r))
		must.Succeed(t, err)
		go func() {
			_, err := p.Wait()
			ended <- err
		}()
	}
	// The last ones to wait may not do so yet; that can only hide threads of
	// theirs, and most of the hundred are there.
	if now := threads(t); now > before+n/2 {
		t.Errorf("%d children wait with %d more threads", n, now-before)
	}
	must.Succeed(t, w.Close())
	for range n {
		must.Report(t, <-ended)
	}
}

func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	must.Succeed(t, err)
	return len(tasks)
}
