package program

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// holding is the result of build.sh for some content, whose size about has.
func holding(t *testing.T, content string, size int) fs.FS {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.Close())
	return fstest.MapFS{
		binaryFile: {Data: packed.Bytes()},
		aboutFile:  {Data: fmt.Appendf(nil, "%x %d\n", sha256.Sum256([]byte(content)), size)},
	}
}

// install writes the program, and returns its path.
func install(from fs.FS, dir string) (string, error) {
	path, install, err := find(from, dir)
	if path != "" {
		err = install()
	}
	return path, err
}

// TestFind: nothing is written before it is needed.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "program")
	path, install, err := find(holding(t, "a program", 9), dir)
	if err != nil || filepath.Base(path) != Name || install == nil {
		t.Fatalf("%q, %v", path, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is written at once: %v", err)
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	const content = "a program"
	from := holding(t, content, len(content))
	dir := filepath.Join(t.TempDir(), "made", "program")
	var all sync.WaitGroup
	for range 8 { // as several processes that start at once
		all.Go(func() {
			if _, err := install(from, dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	path, err := install(from, dir)
	must.Succeed(t, err)
	for name, spoil := range map[string]func() error{
		"nothing":           func() error { return nil },
		"removed":           func() error { return os.Remove(path) },
		"cut off":           func() error { return os.Truncate(path, 3) },
		"writable for all":  func() error { return os.Chmod(path, 0o777) },
		"a link in its way": func() error { return os.Rename(path, path+".x") },
	} {
		must.Succeed(t, spoil())
		if name == "a link in its way" {
			must.Succeed(t, os.Symlink(path+".x", path))
		}
		if again, err := install(from, dir); err != nil || again != path {
			t.Errorf("%s: %q, %v", name, again, err)
		}
		st, err := os.Lstat(path)
		if err != nil || st.Mode() != mode {
			t.Errorf("%s: %v, %v", name, st, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s: the file has %q, %v", name, got, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", ".new-*")); err != nil || left != nil {
		t.Errorf("files are left: %q, %v", left, err)
	}
}

// TestOldVersions: versions of weeks ago are removed by the first start of
// another.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for _, content := range []string{"old", "recent"} {
		path, err := install(holding(t, content, len(content)), dir)
		must.Succeed(t, err)
		paths = append(paths, path)
	}
	old := time.Now().Add(-2 * oldAge)
	must.Succeed(t, os.Chtimes(filepath.Dir(paths[0]), old, old))
	if _, err := install(holding(t, "new", 3), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(paths[0])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old version is there: %v", err)
	}
	if _, err := os.Stat(paths[1]); err != nil {
		t.Error(err)
	}
}

func TestCannotInstall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	if path, err := install(fstest.MapFS{}, t.TempDir()); path != "" || err != nil {
		t.Errorf("not built in: %q, %v", path, err)
	}
	for name, c := range map[string]struct {
		from fs.FS
		dir  string
		path bool // is known all the same
	}{
		"another size":   {holding(t, "a program", 5), t.TempDir(), true},
		"no directory":   {holding(t, "x", 1), file, true},
		"no about":       {fstest.MapFS{binaryFile: {}}, t.TempDir(), false},
		"a path as hash": {fstest.MapFS{binaryFile: {}, aboutFile: {Data: []byte("../../x 3")}}, t.TempDir(), false},
		"not compressed": {fstest.MapFS{binaryFile: {Data: []byte("x")}, aboutFile: {Data: fmt.Appendf(nil, "%064d 1", 0)}}, t.TempDir(), true},
	} {
		if path, err := install(c.from, c.dir); path != "" != c.path || !fault.Is(err, fault.Internal) {
			t.Errorf("%s: %q, %v", name, path, err)
		}
		if left, err := filepath.Glob(filepath.Join(c.dir, "*", "*")); err != nil || left != nil {
			t.Errorf("%s: files are left: %q, %v", name, left, err)
		}
	}
}
