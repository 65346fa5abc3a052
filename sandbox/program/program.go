// Package program has the program that runs in sandboxes: cmd/deft-sandbox, built into deft
// by build.sh. It is several times smaller than deft, and so a sandbox with it starts
// sooner.
//
// # Usage
//
//	path, install, err := program.Find(filepath.Join(data, "program"))
//	if path == "" { … } // not built in: deft itself can do all that it does
//	err = install()     // before a sandbox starts: it takes a tenth of a second, once
//
// A binary that was built without build.sh, as by go install or for a test, has none.
//
// # Concurrency and failure
//
// Installing is safe for concurrent use, by several processes too: each file has its content's
// hash in its path, appears there whole, and never changes. The first start of a version
// removes files that are older than [oldAge]: a running program has its file open, and an
// older deft that still runs writes its own again.
package program

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// built is where build.sh puts the program, compressed, and a line about it.
//
//go:embed all:built
var built embed.FS

const (
	binaryFile = "built/deft-sandbox.gz"
	aboutFile  = "built/deft-sandbox.about" // hash and size
)

// Name is the name of the program's file.
const Name = "deft-sandbox"

// about distinguishes one version from others.
type about struct {
	hash string
	size int64
}

// Find returns the path of the program below dir, "" if it is not built in, and the function that writes
// it there if it is not there. Others can read it: engines of containers mount it. Install
// fails with fault.Denied, or fault.Internal, if it cannot be written.
func Find(dir string) (path string, install func() error, err error) { return find(built, dir) }

func find(from fs.FS, dir string) (path string, install func() error, err error) {
	if _, err := fs.Stat(from, binaryFile); errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	a, err := readAbout(from)
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, a.hash, Name)
	var one sync.Mutex // unpacking it twice would take twice the time
	return path, func() error {
		one.Lock()
		defer one.Unlock()
		return put(from, dir, path, a)
	}, nil
}

// put writes the program to path if it is not there.
func put(from fs.FS, dir, path string, a about) error {
	if there(path, a.size) {
		return nil
	}
	err := write(from, path, a.size)
	if err == nil {
		err = removeOld(dir, a.hash)
	}
	kind := fault.Internal
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOSPC) {
		kind = fault.Denied
	}
	return fault.Wrap(err, kind, "write the program of sandboxes to "+path)
}

func readAbout(from fs.FS) (a about, err error) {
	text, err := fs.ReadFile(from, aboutFile)
	if err == nil {
		_, err = fmt.Fscan(bytes.NewReader(text), &a.hash, &a.size)
	}
	if err != nil || len(a.hash) != 64 || strings.Trim(a.hash, "0123456789abcdef") != "" {
		return a, fault.New(fault.Internal, "the program of sandboxes is not built in properly").Because(err)
	}
	return a, nil
}

// oldAge is how long another version stays at least. A week lets two versions work side by
// side without each removing the program that the other is about to start.
const oldAge = 7 * 24 * time.Hour

// removeOld removes other versions.
func removeOld(dir, own string) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range all {
		st, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process does the same
		case err != nil:
			errs = append(errs, err)
		case e.Name() != own && time.Since(st.ModTime()) > oldAge:
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// there reports whether the file is this user's, whole, and no other user can change it.
func there(path string, size int64) bool {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == size && st.Mode&0o777 == mode && int(st.Uid) == os.Geteuid()
}

const mode = 0o755

// write makes the file in one step: two processes may do it at once.
func write(from fs.FS, path string, size int64) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	packed, err := from.Open(binaryFile)
	if err != nil {
		return err
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	n, err := io.Copy(out, in)
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes, and should have %d", n, size)
	}
	err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
