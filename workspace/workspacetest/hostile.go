package workspacetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/workspace"
)

// failures keep the errors that callers compare with.
func failures(f *fixture) {
	f.put("dir/file", "x")
	must.Succeed(f, syscall.Mkfifo(f.dir+"/pipe", 0o600))
	f.link("loop", "loop")
	open := func(path string) error { _, err := f.text(path); return err }
	write := func(path string) error {
		_, err := f.Write(f.Context(), path, strings.NewReader("y"))
		return err
	}
	list := func(path string) error { _, err := f.List(f.Context(), path); return err }
	archive := func(path string) error {
		_, err := f.Archive(f.Context(), path, workspace.Archive{Format: workspace.TarGz}, io.Discard)
		return err
	}
	make := func(path string) error { return f.MakeDirectory(f.Context(), path) }
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"open a missing file", open("missing"), fs.ErrNotExist},
		{"open below a file", open("hello/x"), syscall.ENOTDIR},
		{"open a directory", open("dir"), workspace.ErrNotFile},
		{"open a pipe", open("pipe"), workspace.ErrNotFile},
		{"open a loop", open("loop"), syscall.ELOOP},
		{"open a null byte", open("a\x00b"), syscall.EINVAL},
		{"open a long name", open(strings.Repeat("n", 300)), syscall.ENAMETOOLONG},
		{"write a directory", write("dir"), workspace.ErrIsDirectory},
		{"write a pipe", write("pipe"), workspace.ErrNotFile},
		{"write below a file", write("hello/x"), workspace.ErrParent},
		{"list a missing directory", list("missing"), fs.ErrNotExist},
		{"list a file", list("hello"), syscall.ENOTDIR},
		{"archive a missing directory", archive("missing"), fs.ErrNotExist},
		{"archive a file", archive("hello"), workspace.ErrNotDirectory},
		{"make a file", make("hello"), workspace.ErrNotDirectory},
	} {
		if !errors.Is(c.err, c.want) {
			f.Errorf("%s: got %v, want %v", c.name, c.err, c.want)
		}
	}
}

// hugeFiles are read in part, and streamed in both directions.
func hugeFiles(f *fixture) {
	const size = 1 << 40
	f.put("sparse", "")
	if err := os.Truncate(f.dir+"/sparse", size); err != nil {
		f.Skipf("this file system has no sparse files: %v", err)
	}
	file, err := f.Open(f.Context(), "sparse")
	must.Succeed(f, err)
	defer file.Close()
	if at, err := file.Seek(-4, io.SeekEnd); at != size-4 || err != nil {
		f.Fatal(at, err)
	}
	if b, err := io.ReadAll(file); len(b) != 4 || err != nil {
		f.Errorf("the end: %v %v", b, err)
	}
	const large = 48 << 20
	sent, taken := sha256.New(), sha256.New()
	source := io.LimitReader(pattern{}, large)
	if n, err := f.Write(f.Context(), "large", io.TeeReader(source, sent)); n != large || err != nil {
		f.Fatalf("write: %d %v", n, err)
	}
	big, err := f.Open(f.Context(), "large")
	must.Succeed(f, err)
	defer big.Close()
	if n, err := io.Copy(taken, big); n != large || err != nil || !bytes.Equal(sent.Sum(nil), taken.Sum(nil)) {
		f.Errorf("read: %d %v", n, err)
	}
}

// pattern is endless.
type pattern struct{}

func (pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}

// members returns the files of a tar.gz by name.
func (f *fixture) members(archive io.Reader) map[string]string {
	f.Helper()
	z, err := gzip.NewReader(archive)
	must.Succeed(f, err)
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		must.Succeed(f, err)
		b, err := io.ReadAll(r)
		must.Succeed(f, err)
		out[h.Name] = string(b)
	}
}

// archives have files and directories, and no links.
func archives(f *fixture) {
	f.put("sub/a", "A")
	f.put("sub/inv\xffalid", "B")
	f.put("left/out", "C")
	f.link("secret", filepath.Join(f.out, "secret"))
	f.link("dir", f.out)
	var b bytes.Buffer
	done, err := f.Archive(f.Context(), f.dir, workspace.Archive{Format: workspace.TarGz, Excludes: []string{"left/"}}, &b)
	if err != nil || done.Root != f.dir || done.Repository {
		f.Fatalf("archive: %+v %v", done, err)
	}
	got := f.members(&b)
	if got["ws/archive_manifest.json"] == "" {
		f.Error("there is no manifest")
	}
	delete(got, "ws/archive_manifest.json")
	want := map[string]string{"ws/": "", "ws/hello": "hello", "ws/sub/": "", "ws/sub/a": "A", "ws/sub/inv\xffalid": "B"}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("members (-want +got):\n%s", diff)
	}
	for _, a := range []workspace.Archive{{Format: "zip"}, {Format: workspace.GitDelta, BaseRef: "--output=/tmp/x"}} {
		if _, err := f.Archive(f.Context(), ".", a, io.Discard); err == nil {
			f.Errorf("%+v is accepted", a)
		}
	}
	full := errors.New("the disk is full")
	if _, err := f.Archive(f.Context(), ".", workspace.Archive{Format: workspace.TarGz}, failing{full}); !errors.Is(err, full) {
		f.Errorf("an archive that could not be written: %v", err)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// hugeArchives are refused before a byte is packed: a few blocks on disk would become 100 GB, or take minutes.
func hugeArchives(f *fixture) {
	f.put("before", strings.Repeat("text", 50_000))
	for size, refused := range map[int64]error{workspace.MaxArchive + 1: workspace.ErrTooLarge, 30 << 30: workspace.ErrHoles, workspace.MaxHoles + 2<<20: workspace.ErrHoles, 5 << 20: nil} {
		f.sparse(size)
		var packed bytes.Buffer
		if _, err := f.Archive(f.Context(), ".", workspace.Archive{Format: workspace.TarGz}, &packed); !errors.Is(err, refused) || err != nil && packed.Len() > 0 {
			f.Errorf("a file of %d bytes: %v, %d bytes were packed", size, err, packed.Len())
		}
	}
}

// hugeDeltas are refused before Git reads the file.
func hugeDeltas(f *fixture) {
	f.repository()
	for size, refused := range map[int64]error{30 << 30: workspace.ErrHoles, workspace.MaxHoles + 2<<20: workspace.ErrHoles, 5 << 20: nil} {
		f.sparse(size)
		if _, err := f.Archive(f.Context(), ".", workspace.Archive{Format: workspace.GitDelta}, io.Discard); !errors.Is(err, refused) {
			f.Errorf("a file of %d bytes: %v", size, err)
		}
	}
	f.sparse(30 << 30)
	if _, err := f.Archive(f.Context(), ".", workspace.Archive{Format: workspace.GitDelta, Excludes: []string{"sparse"}}, io.Discard); err != nil {
		f.Errorf("without the file: %v", err)
	}
}

// sparse makes a file of some size with little data.
func (f *fixture) sparse(size int64) {
	f.Helper()
	f.put("sparse", "data")
	must.Succeed(f, os.Truncate(f.dir+"/sparse", size))
}

// exchangedLinks are never followed out, though a program exchanges them all the time.
func exchangedLinks(f *fixture) {
	f.put("dir/secret", "inside")
	f.link("dir.link", f.out)
	f.put("file", "inside")
	f.link("file.link", filepath.Join(f.out, "secret"))
	ctx, stop := context.WithCancel(f.Context())
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for ctx.Err() == nil {
			for _, name := range []string{"dir", "file"} {
				path := filepath.Join(f.dir, name)
				if err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path+".link", unix.RENAME_EXCHANGE); err != nil {
					f.Errorf("exchange %s: %v", name, err)
					return
				}
			}
		}
	})
	for range 150 {
		for _, path := range []string{"dir/secret", "file"} {
			if got, err := f.text(path); strings.Contains(got, secret) {
				f.Errorf("read %s: %q %v", path, got, err)
			}
			_, _ = f.Write(f.Context(), path, strings.NewReader("inside"))
			_, _ = f.Write(f.Context(), "dir/planted", strings.NewReader("planted"))
			_ = f.MakeDirectory(f.Context(), "dir/made/deep") // the outcome of all of them depends on the moment
		}
		var b bytes.Buffer
		if _, err := f.Archive(f.Context(), "dir", workspace.Archive{Format: workspace.TarGz}, &b); err == nil {
			for name, text := range f.members(&b) {
				if strings.Contains(text, secret) {
					f.Errorf("the archive has %s", name)
				}
			}
		}
	}
	stop()
	flipping.Wait()
	entries, err := os.ReadDir(f.out)
	b, readErr := os.ReadFile(f.out + "/secret")
	if err != nil || readErr != nil || len(entries) != 1 || string(b) != secret {
		f.Errorf("outside is %v, %q (%v %v)", slices.Collect(nameOf(entries)), b, err, readErr)
	}
}

func nameOf(entries []os.DirEntry) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Name()) {
				return
			}
		}
	}
}
