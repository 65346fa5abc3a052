// Package workspacetest is the conformance suite of [workspace.Files]: every
// implementation runs it.
//
//	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Files { … })
//
// It works on the directory directly too, as a hostile program in it would.
package workspacetest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/workspace"
)

// Open opens a directory as a workspace, until the test ends.
type Open func(t *testing.T, dir string) workspace.Files

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*fixture){
		"reading":         reading,
		"writing":         writing,
		"broken writes":   brokenWrites,
		"names":           names,
		"outside":         outside,
		"errors":          failures,
		"huge files":      hugeFiles,
		"archives":        archives,
		"huge archives":   hugeArchives,
		"huge deltas":     hugeDeltas,
		"exchanged links": exchangedLinks,
		"git":             gitQuestions,
		"hostile git":     hostileGit,
		"no repository":   noRepository,
		"skills":          skills,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(setUp(t, open))
		})
	}
}

// fixture is a workspace, and a directory beside it with a secret.
type fixture struct {
	*testing.T
	workspace.Files
	dir, out string
}

const secret = "SECRET-OF-OTHERS"

func setUp(t *testing.T, open Open) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	f := &fixture{T: t, dir: filepath.Join(base, "ws"), out: filepath.Join(base, "out")}
	f.put("hello", "hello")
	must.Succeed(t, os.Mkdir(f.out, 0o755))
	must.Succeed(t, os.WriteFile(f.out+"/secret", []byte(secret), 0o644))
	f.Files = open(t, f.dir)
	return f
}

// put writes a file of the workspace directly.
func (f *fixture) put(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	must.Succeed(f, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(f, os.WriteFile(path, []byte(text), 0o644))
}

func (f *fixture) link(name, to string) {
	f.Helper()
	must.Succeed(f, os.Symlink(to, filepath.Join(f.dir, name)))
}

// text reads a file through the implementation.
func (f *fixture) text(path string) (string, error) {
	file, err := f.Open(f.Context(), path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(file)
	return string(b), errors.Join(err, file.Close())
}

// want reads a file through the implementation and compares it.
func (f *fixture) want(path, text string) {
	f.Helper()
	if got, err := f.text(path); got != text || err != nil {
		f.Errorf("%q holds %q (%v), want %q", path, got, err, text)
	}
}

// reading opens files by absolute and relative paths, through links inside, and reads
// parts of them.
func reading(f *fixture) {
	f.put("sub/a.txt", "0123456789")
	f.link("inside", "sub")
	f.link("absolute", filepath.Join(f.dir, "sub/a.txt"))
	for _, path := range []string{"sub/a.txt", f.dir + "/sub/a.txt", "inside/a.txt", "absolute", "inside/../sub//./a.txt"} {
		f.want(path, "0123456789")
	}
	file, err := f.Open(f.Context(), "sub/a.txt")
	must.Succeed(f, err)
	defer file.Close()
	st, err := file.Stat()
	if err != nil || st.Name() != "a.txt" || st.Size() != 10 || !st.Mode().IsRegular() || st.ModTime().IsZero() {
		f.Errorf("stat: %v %v", st, err)
	}
	b := make([]byte, 3)
	for _, c := range []struct {
		offset int64
		whence int
		want   string
	}{{0, io.SeekStart, "012"}, {2, io.SeekCurrent, "567"}, {-3, io.SeekEnd, "789"}, {1, io.SeekStart, "123"}} {
		if _, err := file.Seek(c.offset, c.whence); err != nil {
			f.Fatal(err)
		}
		if _, err := io.ReadFull(file, b); err != nil || string(b) != c.want {
			f.Errorf("at %d from %d: %q %v, want %q", c.offset, c.whence, b, err, c.want)
		}
	}
	if _, err := file.Seek(20, io.SeekStart); err != nil {
		f.Error(err)
	}
	if n, err := file.Read(b); n != 0 || !errors.Is(err, io.EOF) {
		f.Errorf("behind the end: %d %v", n, err)
	}
}

// writing replaces files and creates directories.
func writing(f *fixture) {
	f.put("old", "a longer text than before")
	f.link("to-old", "old")
	must.Succeed(f, os.Chmod(f.dir+"/old", 0o755))
	for path, text := range map[string]string{"new/deep/file": "new", "to-old": "other", f.dir + "/empty": ""} {
		if n, err := f.Write(f.Context(), path, strings.NewReader(text)); n != int64(len(text)) || err != nil {
			f.Errorf("write %s: %d %v", path, n, err)
		}
		f.want(path, text)
	}
	st, err := os.Lstat(f.dir + "/to-old")
	if err != nil || st.Mode()&fs.ModeSymlink == 0 {
		f.Errorf("the link was replaced: %v %v", st, err)
	}
	if st, err := os.Stat(f.dir + "/old"); err != nil || st.Mode().Perm() != 0o755 {
		f.Errorf("the mode has changed: %v %v", st, err)
	}
	must.Report(f, f.MakeDirectory(f.Context(), "x/y/z"))
	if st, err := f.Stat(f.Context(), "x/y/z"); err != nil || !st.IsDir() {
		f.Errorf("made: %v %v", st, err)
	}
}

// brokenWrites keep the old content and leave nothing behind.
func brokenWrites(f *fixture) {
	broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(errors.New("the client has gone")))
	if _, err := f.Write(f.Context(), "hello", broken); err == nil {
		f.Error("a write that broke off succeeded")
	}
	f.want("hello", "hello")
	// A server may hear of the end of its client later than the client.
	for range 1000 {
		if f.entries() == "hello" {
			return
		}
		if _, err := f.Stat(f.Context(), "hello"); err != nil {
			f.Fatal(err)
		}
	}
	f.Errorf("left behind: %s", f.entries())
}

func (f *fixture) entries() string {
	list, err := f.List(f.Context(), ".")
	must.Succeed(f, err)
	var names []string
	for _, st := range list {
		names = append(names, st.Name())
	}
	return strings.Join(names, " ")
}

// names are bytes.
func names(f *fixture) {
	const newline, invalid, query = "new\nline", "inv\xff\xfealid", "a b?c=d&e%2f#g+h;i"
	want := []string{query, "hello", invalid, newline}
	for _, name := range want {
		f.put(name, name)
		f.want(name, name)
		f.want(f.dir+"/"+name, name)
		if st, err := f.Stat(f.Context(), name); err != nil || st.Name() != name {
			f.Errorf("stat %q: %v %v", name, st, err)
		}
		if _, err := f.Write(f.Context(), name, strings.NewReader("w"+name)); err != nil {
			f.Errorf("write %q: %v", name, err)
		}
		f.want(name, "w"+name)
	}
	f.link("z-link", f.out)
	list, err := f.List(f.Context(), "")
	must.Succeed(f, err)
	var got []string
	for _, st := range list {
		got = append(got, st.Name())
	}
	if diff := cmp.Diff(append(want, "z-link"), got); diff != "" {
		f.Errorf("list (-want +got):\n%s", diff)
	}
	if last := list[len(list)-1]; last.Mode()&fs.ModeSymlink == 0 {
		f.Errorf("a link is listed as %v", last.Mode())
	}
}

// outside is refused, whatever the way.
func outside(f *fixture) {
	f.link("file", filepath.Join(f.out, "secret"))
	f.link("dir", f.out)
	f.link("up", "..")
	f.link("chain", "dir")
	for _, path := range []string{"../out/secret", f.out + "/secret", "/etc/passwd", "file", "dir/secret", "up/out/secret", "chain/secret"} {
		got, err := f.text(path)
		_, statErr := f.Stat(f.Context(), path)
		_, writeErr := f.Write(f.Context(), path, strings.NewReader("planted"))
		for _, err := range []error{err, statErr, writeErr, f.MakeDirectory(f.Context(), path+"/new")} {
			if !errors.Is(err, workspace.ErrOutside) {
				f.Errorf("%s: %v", path, err)
			}
		}
		if got != "" {
			f.Errorf("%s: read %q", path, got)
		}
		if d, err := f.FileDiff(f.Context(), path, ""); err == nil {
			f.Errorf("%s: a diff: %v", path, d)
		}
	}
	for _, path := range []string{"dir", "up", "/", ".."} {
		_, err := f.List(f.Context(), path)
		_, archiveErr := f.Archive(f.Context(), path, workspace.Archive{Format: workspace.TarGz}, io.Discard)
		if !errors.Is(err, workspace.ErrOutside) || !errors.Is(archiveErr, workspace.ErrOutside) {
			f.Errorf("%s: list: %v, archive: %v", path, err, archiveErr)
		}
	}
	b, err := os.ReadFile(f.out + "/secret")
	entries, dirErr := os.ReadDir(f.out)
	if err != nil || dirErr != nil || string(b) != secret || len(entries) != 1 {
		f.Errorf("outside is %q, %v (%v %v)", b, entries, err, dirErr)
	}
}

// skills are the project's skills.
func skills(f *fixture) {
	f.put("AGENTS.md", "Always say please.")
	f.put("sub/AGENTS.md", "Rules of sub.")
	f.put(".agents/skills/one/SKILL.md", "---\nname: one\ndescription: the first\n---\nText of one.")
	f.put(".agents/skills/bad/SKILL.md", "---\nname: [\n---\n")
	f.link(".agents/skills/out.md", filepath.Join(f.out, "secret"))
	found, warnings, err := f.Skills(f.Context())
	must.Succeed(f, err)
	want, wantWarnings := skill.LoadProject(f.dir)
	if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" || len(found) < 3 {
		f.Errorf("skills (-want +got):\n%s", diff)
	}
	if len(warnings) != len(wantWarnings) || len(warnings) < 2 {
		f.Errorf("warnings: %v, want %v", warnings, wantWarnings)
	}
}
