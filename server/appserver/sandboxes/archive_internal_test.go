package sandboxes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/appserver/store"
)

// describe lists the content of a directory.
func describe(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String() + " " + strings.TrimPrefix(name, dir+"/")
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += " " + string(raw)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			all = append(all, line+" → "+target)
			return nil
		}
		all = append(all, line+" "+info.ModTime().UTC().Format(time.DateTime))
		return nil
	})
	must.Succeed(t, err)
	return all
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = root.Close() }) // it was only used
	return root
}

// TestPack: unpacked files equal the packed ones, except files that tools make
// again.
func TestPack(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, text := range map[string]string{
		"project/a": "a", "project/.git/HEAD": "ref: refs/heads/x\n", "project/deep/er/b": "", "project/run": "#!/bin/sh\n",
		"project/node_modules/m/index.js": "left out", "project/venv/pyvenv.cfg": "left out", "project/cache/CACHEDIR.TAG": "left out",
	} {
		name = filepath.Join(from, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(name), 0o755))
		mode := fs.FileMode(0o640)
		if strings.HasSuffix(name, "/run") {
			mode = 0o751
		}
		must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
		must.Succeed(t, os.Chmod(name, mode))
	}
	for link, target := range map[string]string{"out": "/etc/passwd", "up": "../../..", "loop": "loop", "in": "a"} {
		must.Succeed(t, os.Symlink(target, filepath.Join(from, "project", link)))
	}
	must.Succeed(t, syscall.Mkfifo(filepath.Join(from, "project", "pipe"), 0o600))
	for _, name := range []string{"project/a", "project/deep/er/b", "project/deep/er", "project/deep", "project/.git/HEAD", "project/.git", "project/run", "project"} {
		must.Succeed(t, os.Chtimes(filepath.Join(from, name), old, old))
	}
	var out bytes.Buffer
	must.Succeed(t, pack(t.Context(), open(t, from), &out))
	must.Succeed(t, unpack(t.Context(), open(t, to), &out, maxArchive))
	for _, gone := range []string{"node_modules", "venv", "cache", "pipe"} {
		must.Succeed(t, os.RemoveAll(filepath.Join(from, "project", gone)))
	}
	must.Succeed(t, os.Chtimes(filepath.Join(from, "project"), old, old))
	if d := cmp.Diff(describe(t, from), describe(t, to)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestUnpackRefusals: an archive does not lead out of the directory, whatever it says.
func TestUnpackRefusals(t *testing.T) {
	t.Parallel()
	for name, members := range map[string][]tar.Header{
		"a name with dots":      {{Name: "../x", Typeflag: tar.TypeReg}},
		"an absolute name":      {{Name: "/tmp/x", Typeflag: tar.TypeReg}},
		"a file behind a link":  {{Name: "l", Linkname: "/tmp", Typeflag: tar.TypeSymlink}, {Name: "l/deft-archive-test", Typeflag: tar.TypeReg}},
		"a directory as a link": {{Name: "l", Linkname: "..", Typeflag: tar.TypeSymlink}, {Name: "l/x/", Typeflag: tar.TypeDir}},
		"a hard link":           {{Name: "h", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}},
		"a device":              {{Name: "d", Typeflag: tar.TypeChar}},
		"no directory around":   {{Name: strings.Repeat("d/", 1000), Typeflag: tar.TypeDir}},
		"more than it may have": {{Name: "zeros", Typeflag: tar.TypeReg, Size: maxArchive + 1}},
		"a file twice":          {{Name: "f", Typeflag: tar.TypeReg}, {Name: "f", Typeflag: tar.TypeReg}},
	} {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		w := tar.NewWriter(z)
		for i := range members {
			must.Succeed(t, w.WriteHeader(&members[i]))
		}
		if members[0].Size == 0 { // else it is missing
			must.Succeed(t, w.Close())
		}
		must.Succeed(t, z.Close())
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		must.Succeed(t, os.Mkdir(dir, 0o700))
		if err := unpack(t.Context(), open(t, dir), &out, maxArchive); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if all, err := os.ReadDir(top); err != nil || len(all) != 1 {
			t.Errorf("%s: beside the directory: %v, %v", name, all, err)
		}
		if _, err := os.Lstat("/tmp/deft-archive-test"); err == nil {
			t.Errorf("%s was written outside", name)
		}
	}
	if err := unpack(t.Context(), open(t, t.TempDir()), strings.NewReader("no archive"), maxArchive); err == nil {
		t.Error("what is no archive is unpacked")
	}
}

// TestMakeDirectory: only a directory may be there already.
func TestMakeDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := open(t, dir)
	for range 2 {
		must.Report(t, makeDirectory(root, "project"))
	}
	must.Succeed(t, errors.Join(os.Symlink("project", filepath.Join(dir, "link")), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)))
	for _, name := range []string{"link", "file"} {
		if err := makeDirectory(root, name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnpackHeaders: an archive of nothing but headers ends. The tar reader alone follows
// the headers of one entry for ever.
func TestUnpackHeaders(t *testing.T) {
	t.Parallel()
	var one bytes.Buffer
	must.Succeed(t, tar.NewWriter(&one).WriteHeader(&tar.Header{Name: "x", PAXRecords: map[string]string{"a.b": "c"}}))
	extended := one.Next(1024) // without the entry that it is for
	const most, there = 4 << 20, 64 << 20
	read := 0
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		z := gzip.NewWriter(w)
		for ; read < there; read += len(extended) {
			if _, err := z.Write(extended); err != nil {
				break
			}
		}
		_ = w.CloseWithError(z.Close()) // never fails
	}()
	if err := unpack(t.Context(), open(t, t.TempDir()), r, most); !fault.Is(err, fault.Limit) {
		t.Errorf("got %v", err)
	}
	_ = r.Close() // never fails
	<-done
	if read == there {
		t.Error("all of it was read")
	}
}

// TestPackLimits: an archive that would be too large is none.
func TestPackLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err == nil {
		err = f.Truncate(maxArchive + 1)
	}
	must.Succeed(t, err)
	must.Succeed(t, f.Close())
	if err := pack(t.Context(), open(t, dir), io.Discard); err == nil || !strings.Contains(err.Error(), "GiB") {
		t.Errorf("too large a workspace: %v", err)
	}
}

// TestPackRepository: Git works with the unpacked files, with commits that are
// nowhere else.
func TestPackRepository(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	testtree.Git(t, from, "init", "-q")
	testtree.Git(t, from, "commit", "-q", "--allow-empty", "-m", "not pushed")
	var out bytes.Buffer
	must.Succeed(t, pack(t.Context(), open(t, from), &out))
	must.Succeed(t, unpack(t.Context(), open(t, to), &out, maxArchive))
	if said := testtree.Git(t, to, "log", "--format=%s") + "\n" + testtree.Git(t, to, "status", "--short") + testtree.Git(t, to, "fsck"); !strings.HasPrefix(said, "not pushed\n") {
		t.Errorf("git says %s", said)
	}
}

// TestMoved: a directory of the workspace is found again where the sandbox is now.
func TestMoved(t *testing.T) {
	t.Parallel()
	b := sandboxAt("/here/workspaces/id")
	for dir, want := range map[string]string{
		"/here/workspaces/id/project":        "/here/workspaces/id/project",
		"/there/workspaces/id/project/repo":  "/here/workspaces/id/project/repo",
		"/there/workspaces/id":               "/here/workspaces/id",
		"/there/workspaces/other/project":    "",
		"/there/workspaces/id/../../project": "",
		"/workspace/project":                 "/here/workspaces/id/project",
	} {
		got, err := Moved(b, dir)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", dir, got, err, want)
		}
	}
}

func sandboxAt(dir string) store.Sandbox {
	return store.Sandbox{ID: filepath.Base(dir), Directory: dir}
}
