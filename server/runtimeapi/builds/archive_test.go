package builds

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// archiveOf makes a tar.gz. Files have their name's content unless size is given.
func archiveOf(t *testing.T, heads ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range heads {
		content := ""
		if h.Typeflag == tar.TypeReg {
			if content = h.Name; h.Linkname != "" {
				content, h.Linkname = h.Linkname, ""
			}
			h.Size = int64(len(content))
		}
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, errors.Join(w.Close(), z.Close()))
	return b.Bytes()
}

// file and link are entries; the content of a file is in its Linkname.
func file(name, content string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: content, Mode: 0o4755, Uid: 7, Uname: "somebody"}
}

func link(kind byte, name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: kind, Linkname: target, Mode: 0o777}
}

var dockerfile = file("./Dockerfile", "FROM x\nCOPY . /\n")

func TestArchive(t *testing.T) {
	t.Parallel()
	raw := archiveOf(
		t, tar.Header{Name: ".", Typeflag: tar.TypeDir}, dockerfile, tar.Header{Name: "./d/", Typeflag: tar.TypeDir, Mode: 0o700},
		file("./d/f", "content"), link(tar.TypeSymlink, "./d/up", "../Dockerfile"), link(tar.TypeLink, "hard", "d/f"),
	)
	var out bytes.Buffer
	must.Succeed(t, checkArchive(bytes.NewReader(raw), &out, false))
	var got []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(t, err)
		content, err := io.ReadAll(r)
		must.Succeed(t, err)
		got = append(got, fmt.Sprintf("%c %s %o %d%s %q %q", h.Typeflag, h.Name, h.Mode, h.Uid, h.Uname, h.Linkname, content))
	}
	want := []string{
		`0 Dockerfile 755 0 "" "FROM x\nCOPY . /\n"`, `5 d/ 700 0 "" ""`, `0 d/f 755 0 "" "content"`, `2 d/up 777 0 "../Dockerfile" ""`,
		`1 hard 777 0 "d/f" ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heads []tar.Header
		want  string
	}{
		"up":                 {[]tar.Header{dockerfile, file("../f", "")}, `".."`},
		"up in the middle":   {[]tar.Header{dockerfile, file("a/../../f", "")}, `".."`},
		"absolute":           {[]tar.Header{dockerfile, file("/etc/passwd", "")}, "absolute"},
		"link out":           {[]tar.Header{dockerfile, link(tar.TypeSymlink, "d/l", "../../etc")}, "leads out"},
		"absolute link":      {[]tar.Header{dockerfile, link(tar.TypeSymlink, "l", "/etc")}, "leads out"},
		"hard link out":      {[]tar.Header{dockerfile, link(tar.TypeLink, "l", "../x")}, "hard link"},
		"hard link to none":  {[]tar.Header{dockerfile, link(tar.TypeLink, "l", "etc/passwd")}, "hard link"},
		"through a link":     {[]tar.Header{dockerfile, link(tar.TypeSymlink, "l", "d"), file("l/f", "")}, "no directory"},
		"file for a link":    {[]tar.Header{dockerfile, link(tar.TypeSymlink, "l", "d"), file("l", "")}, "twice"},
		"device":             {[]tar.Header{dockerfile, {Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}}, "no file"},
		"character device":   {[]tar.Header{dockerfile, {Name: "mem", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 1}}, "no file"},
		"pipe":               {[]tar.Header{dockerfile, {Name: "p", Typeflag: tar.TypeFifo}}, "no file"},
		"no Dockerfile":      {[]tar.Header{file("d/Dockerfile", "FROM x")}, "no Dockerfile"},
		"Dockerfile is link": {[]tar.Header{file("f", "FROM x"), link(tar.TypeSymlink, "Dockerfile", "f")}, "Dockerfile is no file"},
		"remote ADD":         {[]tar.Header{file("Dockerfile", "FROM x\nADD http://169.254.169.254/ /x\n")}, "COPY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkArchive(bytes.NewReader(archiveOf(t, c.heads...)), io.Discard, false)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	whole := archiveOf(t, dockerfile, file("f", strings.Repeat("0123456789", 1000)))
	for _, raw := range [][]byte{nil, []byte("no archive"), whole[:len(whole)-1], whole[:len(whole)/2]} {
		if err := checkArchive(bytes.NewReader(raw), io.Discard, true); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v for %d bytes of %d", err, len(raw), len(whole))
		}
	}
}

// TestExplodingArchives: a few kilobytes that are gigabytes, or a million entries.
func TestExplodingArchives(t *testing.T) {
	t.Parallel()
	written := &counter{}
	big := func(w *tar.Writer) error {
		err := w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: maxContext + 1})
		return err
	}
	many := func(w *tar.Writer) error {
		for i := range maxEntries + 1 {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeDir}); err != nil {
				return err
			}
		}
		return nil
	}
	names := func(w *tar.Writer) error {
		for i := range maxNames / 3800 {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(i) + strings.Repeat("n", 3900), Typeflag: tar.TypeReg}); err != nil {
				return err
			}
		}
		return nil
	}
	deep := func(w *tar.Writer) error { // directories that no entry names
		for i := range maxEntries / 1000 {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(i) + strings.Repeat("/d", 2000), Typeflag: tar.TypeReg}); err != nil {
				return err
			}
		}
		return nil
	}
	for what, make := range map[string]func(*tar.Writer) error{"bytes": big, "entries": many, "names": names, "directories": deep} {
		r, w := io.Pipe()
		go func() {
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			err := make(tar.NewWriter(z))
			w.CloseWithError(errors.Join(err, z.Close()))
		}()
		err := checkArchive(r, written, true)
		_ = r.Close()
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if written.n > maxEntries*1024 {
		t.Errorf("%d bytes were written", written.n)
	}
	if err := checkArchive(bytes.NewReader(zipped(t, &zeros{left: 2 * maxNames})), io.Discard, true); err == nil {
		t.Error("zeros are no archive")
	}
	bounded := &boundedReader{&zeros{left: 10}, 5}
	if n, err := io.Copy(io.Discard, bounded); n != 5 || !fault.Is(err, fault.Invalid) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	clear(p[:n])
	z.left -= n
	return n, nil
}

func zipped(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.Copy(z, r)
	must.Succeed(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

func TestRemoteAdd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"FROM x\nADD a b\n":                             false,
		"FROM x\nADD [\"a b\", \"c\"]\n":                false,
		"FROM x\nRUN echo ADD http://x\n":               false,
		"FROM x\nRUN a \\\nADD http://x /\n":            true, // with the directive escape=` it is an instruction
		"# ADD http://x /\nFROM x":                      false,
		"FROM x\nADD http://x /\n":                      true,
		"FROM x\r\n\tadd HTTP://x /\r\n":                true,
		"FROM x\nA\\\nDD http://x /":                    true,
		"FROM x\nADD \\\n # comment\n\n  http://x /":    true,
		"FROM x\nADD \\  \nhttp:\\\n//x /":              true,
		"# escape=`\nFROM x\nADD `\nhttps://x /":        true,
		"FROM x\nARG u=http://x\nADD $u /":              true,
		"FROM x\nADD ht\"\"tp:/\"\"/x /":                true,
		"FROM x\nADD http:\\/\\/x /":                    true,
		"FROM x\nADD [\"http:\\u002f\\u002fx\", \"/\"]": true,
		"FROM x\nONBUILD  ADD http://x /":               true,
		"FROM x\nADD --chown=1 http://x /":              true,
	} {
		if got := remoteAdd(text) != ""; got != want {
			t.Errorf("%v for %q", got, text)
		}
	}
}
