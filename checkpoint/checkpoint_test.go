package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
)

const conversation = event.ConversationID("0f9a3a3e-6b0c-4d1e-9b8e-000000000001")

// setup is a workspace with a store.
type setup struct {
	*checkpoint.Store
	t        testing.TB
	dir, own string
}

func newSetup(t testing.TB) *setup {
	t.Helper()
	if !checkpoint.Available() {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	s := &setup{t: t, dir: t.TempDir(), own: filepath.Join(t.TempDir(), "checkpoints")}
	s.Store = checkpoint.New(checkpoint.Options{Dir: s.own, Timeout: time.Minute})
	return s
}

func (s *setup) point(ev string) checkpoint.Point {
	return checkpoint.Point{Workspace: s.dir, Conversation: conversation, Event: event.ID(ev)}
}

func (s *setup) take(ev string) checkpoint.Record {
	s.t.Helper()
	r, err := s.Take(context.Background(), s.point(ev))
	must.Succeed(s.t, err)
	return r
}

func (s *setup) restore(r checkpoint.Record) checkpoint.Changes {
	s.t.Helper()
	done, err := s.Restore(context.Background(), s.point("undone"), r)
	must.Succeed(s.t, err)
	return done
}

func (s *setup) path(name string) string { return filepath.Join(s.dir, name) }

func (s *setup) write(name, text string) {
	s.t.Helper()
	writeFile(s.t, s.path(name), text, 0o644)
}

func (s *setup) remove(names ...string) {
	s.t.Helper()
	for _, name := range names {
		must.Succeed(s.t, os.RemoveAll(s.path(name)))
	}
}

func (s *setup) link(to, name string) {
	s.t.Helper()
	must.Succeed(s.t, os.Symlink(to, s.path(name)))
}

func (s *setup) git(args ...string) {
	s.t.Helper()
	testtree.Git(s.t, s.dir, args...)
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	must.Succeed(t, err)
}

// files returns the content of a directory: files with rights, and targets of
// links.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			all[name] = "link " + to
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = info.Mode().String() + " " + string(data)
		return err
	})
	must.Succeed(t, err)
	return all
}

// TestRestore changes a workspace in many ways, and brings it back.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after func(s *setup)
	}{
		"nothing":         {func(*setup) {}, func(*setup) {}},
		"an empty one":    {func(s *setup) { s.remove("a.txt", "dir") }, func(s *setup) { s.write("new", "x") }},
		"a change":        {func(*setup) {}, func(s *setup) { s.write("a.txt", "other") }},
		"the same length": {func(*setup) {}, func(s *setup) { s.write("a.txt", "eno\n") }},
		"a new file":      {func(*setup) {}, func(s *setup) { s.write("new/deep/file", "x") }},
		"a removal":       {func(*setup) {}, func(s *setup) { s.remove("dir") }},
		"a move":          {func(*setup) {}, func(s *setup) { s.write("moved", "one\n"); s.remove("a.txt") }},
		"rights":          {func(s *setup) { s.write("run", "#!") }, func(s *setup) { writeFile(s.t, s.path("run"), "#!", 0o755) }},
		"no rights": {
			func(s *setup) { writeFile(s.t, s.path("key"), "private", 0o600) },
			func(s *setup) { writeFile(s.t, s.path("key"), "public", 0o644) },
		},
		"links": {
			func(s *setup) { s.link("a.txt", "l"); s.link("/nowhere", "dangling"); s.link("dir", "ld") },
			func(s *setup) { s.remove("l", "ld"); s.link("b.txt", "l"); s.write("ld/x", "x") },
		},
		"a file becomes a directory": {func(*setup) {}, func(s *setup) { s.remove("a.txt"); s.write("a.txt/x", "x") }},
		"a directory becomes a file": {func(*setup) {}, func(s *setup) { s.remove("dir"); s.write("dir", "x") }},
		"bytes": {
			func(s *setup) { s.write("bin", "\x00\xff\r\n\n\r"); s.write("crlf.txt", "one\r\ntwo\r\n") },
			func(s *setup) { s.write("bin", "\x00"); s.write("crlf.txt", "one\ntwo\n") },
		},
		"names": {
			func(s *setup) {
				for _, n := range []string{"a\nb", "tab\there", `back\slash`, `quo"te`, " space ", "-n", "ümlaut", "\xff\xfe", ":(glob)x", "git~1", "a.txt "} {
					s.write(n, n)
				}
			},
			func(s *setup) {
				s.remove("a\nb", "\xff\xfe")
				s.write(`back\slash`, "x")
				s.write("c\nd", "x")
				s.write("-n", "x")
			},
		},
		"ignored files": {
			func(s *setup) { s.write(".gitignore", "*.log\nout/\n"); s.write("x.log", "1"); s.write("out/bin", "1") },
			func(s *setup) { s.write("x.log", "2"); s.remove("out"); s.write("y.log", "2") },
		},
		"attributes": {
			func(s *setup) {
				s.write(".gitattributes", "* text eol=crlf ident\n*.utf working-tree-encoding=UTF-16\n")
				s.write("x.utf", "plain")
				s.write("id.txt", "$Id: 12$\n")
			},
			func(s *setup) { s.write("a.txt", "$Id$\r\n"); s.write("x.utf", "other"); s.write("id.txt", "x") },
		},
		"a repository": {
			func(s *setup) {
				s.git("init", "-q")
				s.git("add", ".")
				s.git("commit", "-qm", "1")
				s.write("a.txt", "dirty")
			},
			func(s *setup) { s.write("a.txt", "x"); s.write("untracked", "x") },
		},
		"a repository in it": {
			func(s *setup) {
				s.write("sub/file", "1")
				for _, args := range [][]string{{"init", "-q", "sub"}, {"-C", "sub", "add", "."}, {"-C", "sub", "commit", "-qm", "1"}, {"init", "-q", "unborn"}} {
					s.git(args...)
				}
				s.write("unborn/file", "1")
			},
			func(s *setup) {
				s.write("sub/file", "2")
				s.write("sub/new", "2")
				s.remove("unborn/file")
				s.remove("a.txt")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			s.write("a.txt", "one\n")
			s.write("dir/b.txt", "two\n")
			c.before(s)
			want := files(t, s.dir)
			r := s.take("first")
			c.after(s)
			changed := files(t, s.dir)
			later := s.take("second")
			s.restore(r)
			if diff := cmp.Diff(want, files(t, s.dir)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			s.restore(later)
			if diff := cmp.Diff(changed, files(t, s.dir)); diff != "" {
				t.Errorf("and back (-want +got):\n%s", diff)
			}
			s.write("a.txt/../unseen", "not in a checkpoint")
			s.restore(r)
			if diff := cmp.Diff(want, files(t, s.dir)); diff != "" {
				t.Errorf("restored again (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLeftAlone changes files that are not kept: a restore does not touch them.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.git("init", "-q")
	s.write("a.txt", "1")
	s.git("add", ".")
	s.git("commit", "-qm", "1")
	for _, name := range []string{"node_modules/x/index.js", "target/CACHEDIR.TAG", "target/bin", "env/pyvenv.cfg", "env/lib.py"} {
		s.write(name, "1")
	}
	large := s.path("large")
	s.write("large", "")
	must.Succeed(t, os.Truncate(large, 64<<20+1))
	r := s.take("first")
	if diff := cmp.Diff([]string{"large"}, r.LeftOut); diff != "" || r.Files != 1 {
		t.Errorf("%d files, left out: %s", r.Files, diff)
	}
	s.write("a.txt", "2")
	s.write("target/bin", "2")
	s.write("node_modules/y/index.js", "2")
	s.git("commit", "-qam", "2")
	must.Succeed(t, os.Truncate(large, 64<<20+2))
	want := files(t, s.dir)
	done := s.restore(r)
	if diff := cmp.Diff(checkpoint.Changes{Written: []string{"a.txt"}}, done); diff != "" {
		t.Error(diff)
	}
	want["a.txt"] = "-rw-r--r-- 1"
	if diff := cmp.Diff(want, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
}

// TestBecomesCache marks a directory as a cache that is in a checkpoint.
func TestBecomesCache(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("src/a.txt", "1")
	r := s.take("first")
	s.write("src/CACHEDIR.TAG", "")
	s.write("src/a.txt", "2")
	if n := s.take("second").Files; n != 0 {
		t.Errorf("%d files", n)
	}
	s.restore(r)
	if diff := cmp.Diff(map[string]string{"src/a.txt": "-rw-r--r-- 1", "src/CACHEDIR.TAG": "-rw-r--r-- "}, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
}

// TestTakenOnce takes a checkpoint of one event twice: the first one counts.
func TestTakenOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("a.txt", "1")
	r := s.take("first")
	s.write("a.txt", "2")
	if again := s.take("first"); again.Tree != r.Tree {
		t.Error("the checkpoint was taken again")
	}
	found, err := s.Find(t.Context(), s.point("first"))
	if err != nil || found.Tree != r.Tree {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := s.Find(t.Context(), s.point("other")); !fault.Is(err, fault.NotFound) {
		t.Errorf("an event without a checkpoint: %v", err)
	}
	if _, err := s.Find(t.Context(), s.point("../../x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("an id that is no name: %v", err)
	}
}

// TestKilled leaves the same files behind as a process that is killed at the worst
// time.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("a.txt", "1")
	r := s.take("first")
	store, err := filepath.Glob(s.own + "/*")
	if err != nil || len(store) != 1 {
		t.Fatal(store, err)
	}
	writeFile(t, store[0]+"/index.lock", "half", 0o600)
	s.write("b.txt", "2")
	s.take("second")
	writeFile(t, store[0]+"/index", "DIRC damaged", 0o600)
	s.write("b.txt", "3")
	s.take("third")
	writeFile(t, store[0]+"/index", "", 0o600)
	s.restore(r)
	if diff := cmp.Diff(map[string]string{"a.txt": "-rw-r--r-- 1"}, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
}

// TestRemove removes a conversation's checkpoints and keeps another one's.
func TestRemove(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("a.txt", "secret")
	s.take("first")
	other := s.point("second")
	other.Conversation = "0f9a3a3e-6b0c-4d1e-9b8e-000000000002"
	s.write("a.txt", "public")
	kept, err := s.Take(t.Context(), other)
	must.Succeed(t, err)
	count := func() int {
		objects, err := filepath.Glob(s.own + "/*/git/objects/??/*")
		must.Succeed(t, err)
		packs, err := filepath.Glob(s.own + "/*/git/objects/pack/*.pack")
		must.Succeed(t, err)
		return len(objects) + len(packs)
	}
	if n := count(); n != 4 {
		t.Errorf("%d objects before, want two files and two trees", n)
	}
	must.Succeed(t, s.Remove(t.Context(), conversation))
	if n := count(); n != 1 {
		t.Errorf("%d objects after, want one pack", n)
	}
	if _, err := s.Find(t.Context(), s.point("first")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a checkpoint that was removed: %v", err)
	}
	s.write("a.txt", "x")
	s.restore(kept)
	if diff := cmp.Diff(map[string]string{"a.txt": "-rw-r--r-- public"}, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
	for _, id := range []event.ConversationID{conversation, other.Conversation} { // the restore has kept the present files
		must.Succeed(t, s.Remove(t.Context(), id))
	}
	if n := count(); n != 0 {
		t.Errorf("%d objects in the end", n)
	}
	s.take("again")
}

// TestFork gives files and checkpoints to another workspace.
func TestFork(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("a.txt", "1")
	first := s.take("first")
	s.write("a.txt", "2")
	s.write("new", "2")
	second := s.take("second")
	s.write("a.txt", "3")
	s.take("third")
	dst := *s
	dst.dir = t.TempDir()
	dst.write("other", "a file that was there")
	to := checkpoint.Point{Workspace: dst.dir, Conversation: "0f9a3a3e-6b0c-4d1e-9b8e-000000000002", Event: "second"}
	must.Succeed(t, s.Fork(t.Context(), s.point(""), to, []event.ID{"first", "none", "second"}, second))
	if diff := cmp.Diff(map[string]string{"a.txt": "-rw-r--r-- 2", "new": "-rw-r--r-- 2"}, files(t, dst.dir)); diff != "" {
		t.Error(diff)
	}
	if err := s.Remove(t.Context(), conversation); err != nil { // the fork needs nothing of it
		t.Fatal(err)
	}
	all, err := s.All(t.Context(), dst.dir, to.Conversation)
	if diff := cmp.Diff(map[event.ID]checkpoint.Record{"first": first, "second": second}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	dst.restore(first)
	if diff := cmp.Diff(map[string]string{"a.txt": "-rw-r--r-- 1"}, files(t, dst.dir)); diff != "" {
		t.Error(diff)
	}
	if err := s.Fork(t.Context(), s.point(""), s.point(""), nil, first); !fault.Is(err, fault.Invalid) {
		t.Errorf("a fork into its own workspace: %v", err)
	}
}

// TestTooLong gives a workspace up that takes too long, and tries again after a day.
// It is not parallel: it replaces git.
func TestTooLong(t *testing.T) {
	s := newSetup(t)
	s.write("a.txt", "1")
	path, bin := os.Getenv("PATH"), t.TempDir()
	writeFile(t, bin+"/git", "#!/bin/sh\nexec sleep 60\n", 0o755)
	t.Setenv("PATH", bin+":"+path)
	s.Store = checkpoint.New(checkpoint.Options{Dir: s.own, Timeout: 300 * time.Millisecond})
	if _, err := s.Take(t.Context(), s.point("first")); !fault.Is(err, fault.Limit) {
		t.Errorf("git hangs: %v", err)
	}
	t.Setenv("PATH", path)
	s.Store = checkpoint.New(checkpoint.Options{Dir: s.own})
	if _, err := s.Take(t.Context(), s.point("first")); !fault.Is(err, fault.Limit) {
		t.Errorf("the workspace was tried again at once: %v", err)
	}
	marks, err := filepath.Glob(s.own + "/*/too-large")
	if err != nil || len(marks) != 1 {
		t.Fatal(marks, err)
	}
	for times, ages := range map[string][2]time.Duration{
		"":  {9 * time.Minute, 11 * time.Minute}, // of an earlier version
		"1": {9 * time.Minute, 11 * time.Minute}, "2": {19 * time.Minute, 21 * time.Minute}, "90": {23 * time.Hour, 25 * time.Hour},
	} {
		for i, age := range ages {
			writeFile(t, marks[0], times, 0o600)
			before := time.Now().Add(-age)
			must.Succeed(t, os.Chtimes(marks[0], before, before))
			_, err := s.Take(t.Context(), s.point("after"+times+"-"+strconv.Itoa(i)))
			if i == 0 && !fault.Is(err, fault.Limit) || i == 1 && err != nil {
				t.Errorf("after %s times, %v: %v", times, age, err)
			}
		}
		if _, err := os.Stat(marks[0]); !os.IsNotExist(err) {
			t.Errorf("the mark of %s times: %v", times, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(ctx, s.point("second")); !errors.Is(err, context.Canceled) && !fault.Is(err, fault.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestGoesOn: files that were read before the time was over are not read again.
func TestGoesOn(t *testing.T) {
	s := newSetup(t)
	for i := range 12_000 {
		s.write(fmt.Sprintf("d%d/f%d", i%50, i), strconv.Itoa(i))
	}
	real, err := exec.LookPath("git")
	must.Succeed(t, err)
	pipe := s.path(".git/pipe") // the third part hangs, and says so
	writeFile(t, s.path(".git/x"), "", 0o600)
	must.Succeed(t, unix.Mkfifo(pipe, 0o600))
	bin, path := t.TempDir(), os.Getenv("PATH")
	writeFile(t, bin+"/git", `#!/bin/sh
case "$*" in *" --add "*)
	[ ! -e .git/two ] || { echo >.git/pipe; exec sleep 60; }
	[ ! -e .git/one ] || : >.git/two
	: >.git/one
esac
exec `+real+` "$@"
`, 0o755)
	t.Setenv("PATH", bin+":"+path)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if _, err := os.ReadFile(pipe); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Take(ctx, s.point("first")); err == nil {
		t.Error("it did not hang")
	}
	<-ctx.Done()
	t.Setenv("PATH", path)
	indexes, err := filepath.Glob(s.own + "/*/index")
	if err != nil || len(indexes) != 1 {
		t.Fatal(indexes, err)
	}
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "GIT_DIR="+filepath.Dir(indexes[0])+"/git", "GIT_INDEX_FILE="+indexes[0])
	if out, err := cmd.Output(); err != nil || bytes.Count(out, []byte{0}) != 10_000 {
		t.Errorf("%d files are in the index, %v", bytes.Count(out, []byte{0}), err)
	}
	r := s.take("first")
	anew := *s
	anew.own = filepath.Join(t.TempDir(), "checkpoints")
	anew.Store = checkpoint.New(checkpoint.Options{Dir: anew.own, Timeout: time.Minute})
	if other := anew.take("first"); r.Files != 12_000 || r.Tree != other.Tree {
		t.Errorf("%d files, the tree is %s, want %s", r.Files, r.Tree, other.Tree)
	}
}

// TestNoDirectory takes a checkpoint of a missing directory.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.dir = s.path("none")
	if _, err := s.Take(t.Context(), s.point("first")); !fault.Is(err, fault.Invalid) {
		t.Errorf("no directory: %v", err)
	}
}

// TestHostile takes a checkpoint of a repository that wants programs to run.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	mark := filepath.Join(t.TempDir(), "ran")
	s.git("init", "-q")
	program := "touch " + mark + "; cat"
	for _, set := range [][2]string{
		{"core.fsmonitor", program}, {"core.hooksPath", s.path("hooks")}, {"filter.evil.clean", program}, {"filter.evil.smudge", program},
		{"filter.evil.process", program}, {"core.attributesFile", s.path("attr")}, {"core.pager", program}, {"core.worktree", "/"},
	} {
		s.git("config", set[0], set[1])
	}
	s.write(".gitattributes", "* filter=evil\n[attr]binary filter=evil\n")
	s.write("attr", "* filter=evil\n")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		for _, dir := range []string{"hooks/", ".git/hooks/"} {
			writeFile(t, s.path(dir+hook), "#!/bin/sh\n"+program+"\n", 0o755)
		}
	}
	s.write("a.txt", "1")
	r := s.take("first")
	s.write("a.txt", "2")
	s.restore(r)
	if got := files(t, s.dir)["a.txt"]; !strings.HasSuffix(got, " 1") {
		t.Errorf("a.txt is %q", got)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program of the workspace ran")
	}
}

// TestLinksOut replaces directories by links out of the workspace.
func TestLinksOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "f"), "secret", 0o600)
	s.write("d/f", "1")
	s.write("d/g", "1")
	r := s.take("first")
	s.remove("d")
	s.link(outside, "d")
	s.take("second")
	s.restore(r)
	if diff := cmp.Diff(map[string]string{"d/f": "-rw-r--r-- 1", "d/g": "-rw-r--r-- 1"}, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"f": "-rw------- secret"}, files(t, outside)); diff != "" {
		t.Errorf("outside: %s", diff)
	}
}

// TestSlowSteps leaves steps out after one that was slow, until another checkpoint is fast.
func TestSlowSteps(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slow := checkpoint.New(checkpoint.Options{Dir: s.own, Timeout: time.Minute, StepTime: time.Nanosecond, StepFiles: 1})
	fast := checkpoint.New(checkpoint.Options{Dir: s.own, Timeout: time.Minute, StepTime: time.Minute, StepFiles: 1})
	step := func(st *checkpoint.Store, ev string) error {
		p := s.point(ev)
		p.Step = true
		_, err := st.Take(t.Context(), p)
		return err
	}
	s.write("a.txt", "1")
	if _, err := slow.Take(t.Context(), s.point("message")); err != nil || s.Slow(s.dir) {
		t.Errorf("the first checkpoint, which reads all, says that steps are slow: %v", err)
	}
	if err := step(slow, "one"); err != nil || !s.Slow(s.dir) {
		t.Errorf("a slow step: %v", err)
	}
	if err := step(fast, "two"); !errors.Is(err, checkpoint.ErrSlow) {
		t.Errorf("the step after it: %v", err)
	}
	if _, err := fast.Take(t.Context(), s.point("second")); err != nil || s.Slow(s.dir) {
		t.Errorf("a fast one leaves steps slow: %v", err)
	}
	must.Report(t, step(fast, "three"))
}
