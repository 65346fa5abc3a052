package gitview_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// compared writes a list as "STATUS path <from +added -deleted mode>mode" lines.
func compared(t *testing.T, dir, ref string) string {
	t.Helper()
	list, err := everywhere.Compare(t.Context(), dir, ref)
	must.Succeed(t, err)
	var b strings.Builder
	for _, c := range list {
		b.WriteString(string(c.Status[0]) + " " + c.Path)
		if c.From != "" {
			b.WriteString(" <" + c.From)
		}
		if c.Added != nil {
			fmt.Fprintf(&b, " +%d -%d", *c.Added, *c.Deleted)
		}
		if c.Binary {
			b.WriteString(" binary")
		}
		if c.ModeBefore != "" {
			b.WriteString(" " + c.ModeBefore + ">" + c.ModeAfter)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if got := compared(t, r.dir, ""); got != "" {
		t.Errorf("an empty repository: %q", got)
	}
	r.write("new.txt", "one\ntwo")
	if got := compared(t, r.dir, "HEAD"); got != "A new.txt +2 -0\n" {
		t.Errorf("no commit yet: %q", got)
	}
	text := strings.Repeat("same\n", 20)
	for name, content := range map[string]string{
		"a.txt": "1\n2\n3\n", "gone": "x\n", "picture": "a\x00b", "script": "echo\n", "sub/r.txt": text + "r\n", "sub/s.txt": text + "s\n", "was": "file\n",
		".gitignore": "ignored\n",
	} {
		r.write(name, content)
	}
	r.commit("first")
	r.write("a.txt", "1\n3\n4\n5\n")
	r.remove("gone")
	r.write("picture", "a\x00c")
	r.write("new.png", "\x00png")
	r.write("ignored", "x")
	r.write("sp ace\tü\n\"", "more\n")
	r.write("bad\xff", "other\n")
	must.Succeed(t, os.Chmod(filepath.Join(r.dir, "script"), 0o600))
	r.git("mv", "sub/r.txt", "sub/staged.txt")
	r.remove("sub/s.txt") // moved without telling git
	r.write("sub/moved.txt", text+"s2\n")
	r.remove("was")
	r.write("was/file", "now a directory\n")
	index, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	must.Succeed(t, err)
	want := "U a.txt +2 -1\n" +
		"A bad\uFFFD +1 -0\n" +
		"D gone +0 -1\n" +
		"A new.png binary\n" +
		"U picture binary\n" +
		"U script +0 -0 100755>100644\n" +
		"A sp ace\tü\n\" +1 -0\n" +
		"M sub/moved.txt <sub/s.txt +1 -1\n" +
		"M sub/staged.txt <sub/r.txt +0 -0\n" +
		"D was +0 -1\n" +
		"A was/file +1 -0\n"
	if diff := cmp.Diff(want, compared(t, r.dir, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := compared(t, r.dir+"/sub", ""); got != "M moved.txt <s.txt +1 -1\nM staged.txt <r.txt +0 -0\n" {
		t.Errorf("in a directory: %q", got)
	}
	after, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	if err != nil || string(after) != string(index) {
		t.Errorf("the repository's index was written: %v", err)
	}
}

func TestCompareNestedRepositories(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "a\n")
	r.commit("first")
	inner := repo{t, filepath.Join(r.dir, "inner")}
	inner.write("b.txt", "b\n")
	inner.git("init", "-q", "-b", "main")
	inner.commit("inner")
	inner.git("mv", "b.txt", "c.txt")
	if got := compared(t, r.dir, ""); got != "M inner/c.txt <inner/b.txt +0 -0\n" {
		t.Errorf("%q", got)
	}
}

// Where the content of files is too much for git, they are listed without counts.
func TestCompareLargeFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("large.txt", "x\n")
	r.commit("first")
	r.write("large.txt", strings.Repeat("text\n", 2<<20))
	if got := compared(t, r.dir, ""); got != "U large.txt binary\n" {
		t.Errorf("%q", got)
	}
}

func TestCompareConflict(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "1\n")
	r.commit("first")
	r.git("checkout", "-q", "-b", "other")
	r.write("a.txt", "2\n")
	r.commit("other")
	r.git("checkout", "-q", "main")
	r.write("a.txt", "3\n")
	r.commit("main")
	// The exit code of a merge with conflicts is an error.
	cmd := exec.Command("git", "-C", r.dir, "-c", "user.name=N", "-c", "user.email=n@example.com", "merge", "-q", "other")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the merge has no conflict: %s", out)
	}
	if got := compared(t, r.dir, "HEAD"); got != "U a.txt +4 -0\n" {
		t.Errorf("%q", got)
	}
}
