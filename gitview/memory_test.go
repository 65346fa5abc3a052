package gitview_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/must"
)

// object stores an object of size bytes without git and returns its name.
func (r repo) object(kind string, size int64, content io.Reader) (name string) {
	r.t.Helper()
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	must.Succeed(r.t, err)
	sum := sha1.New()
	to := io.MultiWriter(z, sum)
	fmt.Fprintf(to, "%s %d\x00", kind, size)
	if _, err := io.CopyN(to, content, size); err != nil {
		r.t.Fatal(err)
	}
	must.Succeed(r.t, z.Close())
	name = hex.EncodeToString(sum.Sum(nil))
	r.write(filepath.Join(".git/objects", name[:2], name[2:]), packed.String())
	return name
}

// tree stores a tree with count entries that are all one object.
func (r repo) tree(mode, name string, count int) string {
	r.t.Helper()
	raw, err := hex.DecodeString(name)
	must.Succeed(r.t, err)
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "%s %03d\x00%s", mode, i, raw)
	}
	return r.object("tree", int64(b.Len()), strings.NewReader(b.String()))
}

func (r repo) commitOf(tree string) string {
	text := "tree " + tree + "\nauthor n <n@example.com> 1 +0000\ncommitter n <n@example.com> 1 +0000\n\nm\n"
	return r.object("commit", int64(len(text)), strings.NewReader(text))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestMemory shows small repositories that take git much memory: one huge file, and
// directories that hold each other many times over.
func TestMemory(t *testing.T) {
	files := newRepo(t)
	huge := files.object("blob", 320<<20, endless{})
	files.write(".git/refs/heads/main", files.commitOf(files.tree("100644", huge, 3))+"\n")
	files.write("000", "x")
	nested := newRepo(t)
	top := nested.tree("100644", nested.object("blob", 1, strings.NewReader("x")), 200)
	for range 4 {
		top = nested.tree("40000", top, 200)
	}
	nested.write(".git/refs/heads/main", nested.commitOf(top)+"\n")
	for name, r := range map[string]repo{"huge files": files, "nested directories": nested} {
		sha := strings.TrimSpace(r.git("rev-parse", "HEAD"))
		size := int64(0)
		if err := filepath.Walk(r.dir, func(_ string, st os.FileInfo, err error) error {
			if err == nil {
				size += st.Size()
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		s := only(t, r.dir)
		_, changes := s.Changes(t.Context(), r.dir, "")
		_, diff := s.FileDiff(t.Context(), r.dir+"/000", "")
		_, commit := s.CommitDiff(t.Context(), r.dir+"/000", sha)
		v, err := s.Open(r.dir)
		must.Succeed(t, err)
		_, list := v.CommitChanges(t.Context(), sha)
		_, patch := v.Delta(t.Context(), "HEAD", nil, anyFile, io.Discard)
		must.Report(t, v.Close())
		t.Logf("%s, %d KB: changes: %v; diff: %v; commit: %v; its changes: %v; patch: %v", name, size>>10, changes, diff, commit, list, patch)
	}
	var used syscall.Rusage
	must.Succeed(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used))
	t.Logf("the largest program took %d MB", used.Maxrss>>10)
	// The mapped parts of packs, and the program itself, come on top.
	if most := int64(gitlimit.Memory+96<<20) >> 10; used.Maxrss > most {
		t.Errorf("a git program took %d KB, more than %d", used.Maxrss, most)
	}
}
