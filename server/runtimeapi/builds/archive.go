package builds

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Limits of a context, unpacked.
const (
	maxContext    = 1 << 30 // bytes
	maxEntries    = 100_000
	maxNames      = 16 << 20 // bytes of all names
	maxDockerfile = 1 << 20
)

// archive checks an archive, and writes it again without the parts that an image does not
// need: owners, times and other metadata.
type archive struct {
	out     *tar.Writer
	network bool
	types   map[string]byte // of the entries and of directories around them, by name
	names   int
	bytes   int64
	found   bool // the Dockerfile
}

// checkArchive reads a tar.gz and writes it as a tar stream.
func checkArchive(r io.Reader, w io.Writer, network bool) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return damaged(err)
	}
	a := archive{out: tar.NewWriter(w), network: network, types: map[string]byte{}}
	bounded := &boundedReader{unzipped, maxContext + maxEntries*4<<10}
	in := tar.NewReader(bounded)
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damaged(err)
		}
		if err := a.add(head, in); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, bounded); err != nil { // its checksum comes last
		return damaged(err)
	}
	if !a.found {
		return refused("it has no Dockerfile in its first directory")
	}
	return a.out.Close()
}

// boundedReader fails after some bytes: headers count as well.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLarge()
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func refused(why string) error { return fault.New(fault.Invalid, "the context is refused: "+why) }

func tooLarge() error { return refused(fmt.Sprintf("unpacked it has more than %d MB", maxContext>>20)) }

// damaged is the error of an archive that cannot be read.
func damaged(err error) error {
	if k := fault.KindOf(err); k != fault.Internal { // it has a reason
		return err
	}
	return fault.New(fault.Invalid, "the context cannot be read as tar.gz").Because(err)
}

// add checks one entry and writes it.
func (a *archive) add(head *tar.Header, content io.Reader) error {
	if head.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleanName(head.Name)
	if err != nil {
		return err
	}
	if a.names += len(name); len(a.types) >= maxEntries || a.names > maxNames {
		return refused(fmt.Sprintf("it has more than %d entries, or too long names", maxEntries))
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		t, ok := a.types[dir]
		if ok && t != tar.TypeDir {
			return refused(fmt.Sprintf("%.200q lies in something that is no directory", name))
		}
		if ok {
			break
		}
		a.types[dir] = tar.TypeDir // it is made, also if no entry names it
	}
	if t, ok := a.types[name]; ok && (t != tar.TypeDir || head.Typeflag != tar.TypeDir) {
		return refused(fmt.Sprintf("%.200q is there twice", name))
	}
	out := &tar.Header{Name: name, Mode: head.Mode & 0o777, Typeflag: head.Typeflag}
	switch head.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		out.Typeflag, out.Size = tar.TypeReg, head.Size
		if a.bytes += head.Size; head.Size < 0 || a.bytes > maxContext {
			return tooLarge()
		}
	case tar.TypeDir:
		if name == "." {
			return nil
		}
		out.Name += "/"
	case tar.TypeSymlink:
		target := path.Join(path.Dir(name), head.Linkname)
		if path.IsAbs(head.Linkname) || target == ".." || strings.HasPrefix(target, "../") {
			return refused(fmt.Sprintf("the link %.200q leads out of it", name))
		}
		out.Linkname = head.Linkname
	case tar.TypeLink:
		target, err := cleanName(head.Linkname)
		if err != nil || a.types[target] != tar.TypeReg {
			return refused(fmt.Sprintf("the hard link %.200q does not lead to a file that comes before it", name))
		}
		out.Linkname = target
	default:
		return refused(fmt.Sprintf("%.200q is no file, directory or link", name))
	}
	a.types[name] = out.Typeflag
	if name == dockerfileName {
		return a.addDockerfile(out, content)
	}
	if err := a.out.WriteHeader(out); err != nil {
		return damagedName(name, err)
	}
	if out.Typeflag == tar.TypeReg {
		return a.copy(content)
	}
	return nil
}

const dockerfileName = "Dockerfile"

// addDockerfile checks the instructions, too.
func (a *archive) addDockerfile(head *tar.Header, content io.Reader) error {
	if head.Typeflag != tar.TypeReg || head.Size > maxDockerfile {
		return refused("its Dockerfile is no file, or has more than 1 MB")
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return damaged(err)
	}
	if !a.network {
		if line := remoteAdd(string(text)); line != "" {
			return refused(fmt.Sprintf("without a network for builds, ADD takes files of the context by plain names only; use COPY: %.200q", line))
		}
	}
	a.found = true
	if err := a.out.WriteHeader(head); err != nil {
		return damagedName(head.Name, err)
	}
	return a.copy(bytes.NewReader(text))
}

// copy writes the content of a file.
func (a *archive) copy(content io.Reader) error {
	b := make([]byte, 32<<10)
	for {
		n, err := content.Read(b)
		if _, failed := a.out.Write(b[:n]); failed != nil {
			return fault.Wrap(failed, fault.Full, "store the context")
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged(err)
		}
	}
}

func damagedName(name string, err error) error {
	return fault.New(fault.Invalid, fmt.Sprintf("the context is refused: %.200q", name)).Because(err)
}

// cleanName returns the name of an entry, relative and without "..".
func cleanName(name string) (string, error) {
	switch {
	case path.IsAbs(name):
		return "", refused(fmt.Sprintf("the path %.200q is absolute", name))
	case strings.Contains("/"+name+"/", "/../"):
		return "", refused(fmt.Sprintf("the path %.200q has \"..\"", name))
	case len(name) > 4096 || strings.ContainsRune(name, 0):
		return "", refused("a path is too long or has a zero byte")
	}
	return path.Clean(name), nil
}

// remoteAdd returns an instruction ADD that may fetch an address; "" for none. The engine
// itself would fetch it, with this machine's network. Names that it would have to expand or
// unquote first count as addresses: COPY does the same for files.
func remoteAdd(dockerfile string) string {
	for _, escape := range []string{`\`, "`"} { // a directive says which one holds
		for _, line := range instructions(dockerfile, escape) {
			word, rest := cutWord(line)
			if strings.EqualFold(word, "ONBUILD") {
				word, rest = cutWord(rest)
			}
			if !strings.EqualFold(word, "ADD") {
				continue
			}
			quotes := `'"`
			if strings.HasPrefix(rest, "[") {
				quotes = "'"
			}
			if strings.Contains(rest, "://") || strings.ContainsAny(rest, "$\\`"+quotes) {
				return line
			}
		}
	}
	return ""
}

// instructions returns the instructions of a Dockerfile, with continued lines joined.
func instructions(dockerfile, escape string) []string {
	var all []string
	part, continued := "", false
	for line := range strings.Lines(dockerfile) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") { // also between continued lines
			continue
		}
		if !continued {
			line = strings.TrimLeft(line, " \t\r\n\v\f")
		}
		line, continued = strings.CutSuffix(strings.TrimRight(line, " \t\r\n"), escape)
		if part += line; !continued {
			all, part = append(all, part), ""
		}
	}
	return append(all, part)
}

func cutWord(line string) (word, rest string) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, " \t\r\n\v\f")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimSpace(line[end:])
}
