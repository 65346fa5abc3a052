package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/deft-dev/deft/fault"
)

// maxContext is how many bytes the files of a context may have: all are read before
// anything is printed, and a sparse file is read whole.
const maxContext = 8 << 30

// readIgnore reads the .dockerignore, if there is one.
func (p *Plan) readIgnore() error {
	var patterns []string
	text, err := p.read(ignoreName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		patterns, err = ignorefile.ReadAll(strings.NewReader(text))
	}
	if err == nil {
		p.ignore, err = patternmatcher.New(patterns)
	}
	return fault.Wrap(err, fault.Invalid, "read "+ignoreName)
}

// WriteContext writes the context as a tar stream: the files without owner and time,
// links as links. The error is of kind fault.Conflict if it differs from the context
// that NewPlan read.
func (p *Plan) WriteContext(w io.Writer) error {
	sum := sha256.New()
	if err := p.writeContext(io.MultiWriter(w, sum)); err != nil {
		return err
	}
	if hash(string(sum.Sum(nil))) != p.source {
		return fault.New(fault.Conflict, "files of the build context have changed during the build").Hint("start it again")
	}
	return nil
}

func (p *Plan) writeContext(w io.Writer) error {
	out := tar.NewWriter(w)
	p.left = maxContext
	for _, f := range []struct{ name, text string }{
		{DockerfileName, p.dockerfile},
		{ignoreName, DockerfileName + "\n" + ignoreName + "\n"}, // the engine drops both
	} {
		err := out.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.WriteString(out, f.text)
		}
		if err != nil {
			return err
		}
	}
	if p.root != nil {
		if err := fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error { return p.add(out, name, d, err) }); err != nil {
			return err
		}
	}
	return out.Close()
}

// add writes one entry of the context, unless it is left out.
func (p *Plan) add(out *tar.Writer, name string, d fs.DirEntry, err error) error {
	if name == "." || name == ignoreName || name == DockerfileName {
		return err
	}
	skip := error(nil)
	if d != nil && d.IsDir() {
		skip = fs.SkipDir
	}
	if p.hidden(name) {
		return skip
	}
	ignored, failed := p.ignore.MatchesOrParentMatches(name)
	switch {
	case failed != nil:
		return fault.Wrap(failed, fault.Invalid, "match "+ignoreName)
	case ignored && p.ignore.Exclusions() && skip != nil && err == nil:
		return nil // something in it may not be ignored
	case ignored:
		return skip
	case err != nil:
		return p.unreadable(name, err)
	}
	info, err := d.Info()
	if err != nil {
		return p.unreadable(name, err)
	}
	head := &tar.Header{Name: filepath.ToSlash(name), Mode: int64(info.Mode().Perm())}
	switch {
	case d.IsDir():
		head.Typeflag, head.Name = tar.TypeDir, head.Name+"/"
		return out.WriteHeader(head)
	case info.Mode()&fs.ModeSymlink != 0: // never followed
		head.Typeflag = tar.TypeSymlink
		if head.Linkname, err = p.root.Readlink(name); err != nil {
			return p.unreadable(name, err)
		}
		return out.WriteHeader(head)
	case info.Mode().IsRegular():
		return p.addFile(out, name, head)
	}
	return nil // sockets, pipes and devices are no part of an image
}

func (p *Plan) addFile(out *tar.Writer, name string, head *tar.Header) error {
	// Not through a link that has taken its place, and not waiting for a pipe.
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return p.unreadable(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no longer a file")
	}
	if err != nil {
		return p.unreadable(name, err)
	}
	if p.left -= info.Size(); p.left < 0 {
		return fault.New(fault.Invalid, fmt.Sprintf("the files for the image have more than %d GiB; %s alone has %d bytes", maxContext>>30, name, info.Size())).
			Hint("exclude what the image does not need in " + ignoreName + ", or build it with `docker build` and name it with --image")
	}
	head.Typeflag, head.Size = tar.TypeReg, info.Size()
	if err := out.WriteHeader(head); err != nil {
		return err
	}
	n, err := io.CopyN(out, f, head.Size)
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Conflict, fmt.Sprintf("%s has shrunk to %d bytes while it was read", name, n)).Hint("start the build again")
	}
	return err
}

func (p *Plan) unreadable(name string, err error) error {
	return fault.New(fault.Invalid, "read "+name+" for the image").Hint("exclude it in " + ignoreName).Because(err)
}

// hidden reports whether an entry is, or lies in, one of the hidden paths.
func (p *Plan) hidden(name string) bool {
	path := filepath.Join(p.dir, name)
	for _, hidden := range p.request.Hidden {
		if path == hidden || strings.HasPrefix(path, strings.TrimSuffix(hidden, "/")+"/") {
			return true
		}
	}
	return false
}
