package gitview_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/must"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	must.Succeed(t, syscall.Mkfifo(path, 0o600))
}

func text(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

func TestFileDiff(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for name, content := range map[string]string{"a.txt": "one\ntwo\n", "gone": "x\n", "crlf": "a\r\nb\r\n", "dir/x": "x", "bin": "a\xff", "large": "x"} {
		r.write(name, content)
	}
	r.commit("first")
	r.write("a.txt", "  one\n\n three \n")
	r.remove("gone")
	r.write("new", "n")
	r.write("bin", "b\xff")
	r.write("large", strings.Repeat("x", 1<<20+1))
	mkfifo(t, filepath.Join(r.dir, "pipe"))
	must.Succeed(t, os.Symlink("/etc/hostname", filepath.Join(r.dir, "link")))
	for _, c := range []struct{ file, modified, original, err string }{
		{"a.txt", "  one\n\n three ", "one\ntwo", ""},
		{"gone", "", "x", ""},
		{"new", "n", "", ""},
		{"crlf", "a\nb", "a\nb", ""},
		{"bin", "", "a\uFFFD", ""},
		{"pipe", "", "", ""},
		{"dir", "", "", ""},
		{"none", "", "", "File does not exist: " + r.dir + "/none"},
		{"gone/deeper", "", "", "File does not exist: " + r.dir + "/gone/deeper"},
		{"large", "", "", "File too large for git diff: 1048577 bytes (max: 1048576 bytes)"},
		{"a\x00b", "", "", "Path must not contain null bytes"},
	} {
		d, err := everywhere.FileDiff(t.Context(), r.dir+"/"+c.file, "")
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q: %v", c.file, err)
			}
			continue
		}
		if err != nil || text(d.Modified) != c.modified || text(d.Original) != c.original {
			t.Errorf("%q: %q %q %v", c.file, text(d.Modified), text(d.Original), err)
		}
	}
	if _, err := everywhere.FileDiff(t.Context(), r.dir+"/link", ""); !errors.Is(err, gitview.ErrNoRepository) {
		t.Errorf("a link out of the repository: %v", err)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	v, err := gitview.Open(r.dir)
	must.Succeed(t, err)
	defer v.Close()
	if page, err := v.Commits(t.Context(), 5); err != nil || len(page.Commits) != 0 || page.HasMore {
		t.Errorf("no commits: %+v %v", page, err)
	}
	r.write("a", "1\n")
	first := r.commit("first\x1fsubject\n\nbody")
	r.write("a", "2\n")
	r.write("b", "x\n")
	second := r.commit("second")
	page, err := v.Commits(t.Context(), 1)
	want := gitview.Commits{HasMore: true, Commits: []gitview.Commit{{SHA: second, ShortSHA: second[:7], Subject: "second", Author: "N", Timestamp: "2026-11-21T10:00:00+02:00"}}}
	if diff := cmp.Diff(want, page); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if page, err = v.Commits(t.Context(), 2); err != nil || page.HasMore || page.Commits[1].Subject != "first\x1fsubject" {
		t.Errorf("%+v %v", page, err)
	}
	for sha, want := range map[string][]gitview.Change{
		first: {{Status: gitview.Added, Path: "a"}}, second[:8]: {{Status: gitview.Updated, Path: "a"}, {Status: gitview.Added, Path: "b"}},
	} {
		got, err := v.CommitChanges(t.Context(), sha)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", sha, err, diff)
		}
	}
	if d, err := everywhere.CommitDiff(t.Context(), r.dir+"/a", second); err != nil || *d.Original != "1" || *d.Modified != "2" {
		t.Errorf("%+v %v", d, err)
	}
	r.remove("a")
	if d, err := everywhere.CommitDiff(t.Context(), r.dir+"/a", first[:10]); err != nil || *d.Original != "" || *d.Modified != "1" {
		t.Errorf("%+v %v", d, err)
	}
	var refused *gitview.CommandError
	if _, err := everywhere.CommitDiff(t.Context(), r.dir+"/a", "abcd"); !errors.As(err, &refused) {
		t.Errorf("unknown commit: %v", err)
	}
}

// TestDelta applies a patch to a clone and compares the trees.
func TestDelta(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "1\n")
	r.write("gone", "x\n")
	base := r.commit("first")
	r.git("update-ref", "refs/remotes/origin/main", "HEAD")
	before := r.git("count-objects")
	r.write("a", "2\n")
	r.write("bin", "\x00\x01\xff")
	r.remove("gone")
	r.write("node_modules/x/y", "heavy")
	r.write("build", "a file, not a directory")
	index, err := os.ReadFile(r.dir + "/.git/index")
	must.Succeed(t, err)
	v, err := gitview.Open(r.dir)
	must.Succeed(t, err)
	defer v.Close()
	var patch bytes.Buffer
	got, err := v.Delta(t.Context(), "", []string{"node_modules/", "build/"}, anyFile, &patch)
	if err != nil || got != base {
		t.Fatalf("base %q, %v", got, err)
	}
	if after, _ := os.ReadFile(r.dir + "/.git/index"); !bytes.Equal(index, after) || r.git("count-objects") != before {
		t.Error("the repository was changed")
	}
	clone := repo{t, filepath.Join(filepath.Dir(r.dir), "clone")}
	r.git("clone", "-q", r.dir, clone.dir)
	cmd := exec.Command("git", "apply")
	cmd.Dir, cmd.Stdin = clone.dir, &patch
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v %s", err, out)
	}
	if got := changes(t, clone.dir, "HEAD"); got != "U a\nA bin\nA build\nD gone\n" {
		t.Errorf("the patch brings %q", got)
	}
	m, err := v.Metadata(t.Context())
	if err != nil || m.Head != base || m.Branch != "main" || m.Remote != "" {
		t.Errorf("%+v %v", m, err)
	}
	r.git("remote", "add", "origin", "https://user:secret@example.com/r.git?token=secret")
	if m, err = v.Metadata(t.Context()); err != nil || m.Remote != "https://****@example.com/r.git?token=%3Credacted%3E" {
		t.Errorf("%+v %v", m, err)
	}
}

func FuzzRef(f *testing.F) {
	r := newRepo(f)
	r.write("a", "x")
	r.commit("first")
	for _, s := range []string{"HEAD", "main", "--output=x", "HEAD~1", "HEAD:a", "a\nb", "^main", "main..main", "@{u}", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		_, err := everywhere.Changes(t.Context(), r.dir, ref)
		var refused *gitview.CommandError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("ref %q: %v", ref, err)
		}
	})
}
