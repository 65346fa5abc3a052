package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestIncomplete restores a checkpoint that has lost a file: nothing changes.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.write("a.txt", "1")
	s.write("dir/b.txt", "1")
	r := s.take("first")
	lost, err := filepath.Glob(s.own + "/*/git/objects/??/*")
	if err != nil || len(lost) != 3 {
		t.Fatal(lost, err)
	}
	s.write("a.txt", "2")
	s.write("dir/b.txt", "2")
	s.write("new", "2")
	want := files(t, s.dir)
	s.take("second")
	for _, path := range lost {
		must.Succeed(t, os.Rename(path, path+".lost"))
		if _, err := s.Compare(t.Context(), s.dir, r); !fault.Is(err, fault.Corrupt) {
			t.Errorf("compare without %s: %v", path, err)
		}
		if _, err := s.Restore(t.Context(), s.point("undone"), r); !fault.Is(err, fault.Corrupt) {
			t.Errorf("restore without %s: %v", path, err)
		}
		if diff := cmp.Diff(want, files(t, s.dir)); diff != "" {
			t.Error(diff)
		}
		must.Succeed(t, os.Rename(path+".lost", path))
	}
	s.restore(r)
	if diff := cmp.Diff(map[string]string{"a.txt": "-rw-r--r-- 1", "dir/b.txt": "-rw-r--r-- 1"}, files(t, s.dir)); diff != "" {
		t.Error(diff)
	}
}

// TestHalfRestored has git killed at each of its calls of a restore: the present files are
// kept, and another restore completes it. It is not parallel: it replaces git.
func TestHalfRestored(t *testing.T) {
	path := os.Getenv("PATH")
	for _, command := range []string{"diff-tree", "cat-file", "update-index -z --index-info", "checkout-index"} {
		t.Run(command, func(t *testing.T) {
			s := newSetup(t)
			real, err := exec.LookPath("git")
			must.Succeed(t, err)
			s.write("a.txt", "1")
			s.write("gone/b.txt", "1")
			want := files(t, s.dir)
			r := s.take("first")
			s.write("a.txt", "2")
			s.remove("gone")
			s.write("new/deep/c.txt", "2")
			changed := files(t, s.dir)
			bin := t.TempDir()
			writeFile(t, bin+"/git", "#!/bin/sh\ncase \"$*\" in *\" "+command+"\"*) kill -9 $$; esac\nexec "+real+" \"$@\"\n", 0o755)
			t.Setenv("PATH", bin+":"+path)
			if _, err := s.Restore(t.Context(), s.point("undone"), r); err == nil {
				t.Error("it was not killed")
			}
			t.Setenv("PATH", path)
			before, err := s.Find(t.Context(), s.point("undone"))
			must.Succeed(t, err)
			if _, err := s.Restore(t.Context(), s.point("again"), r); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, files(t, s.dir)); diff != "" {
				t.Error(diff)
			}
			s.restore(before)
			if diff := cmp.Diff(changed, files(t, s.dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
