package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox/image"
)

// write makes files below a new directory, by path; names with "->TARGET" are links.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	testtree.Write(t, dir, files)
	return dir
}

func plan(t *testing.T, r image.Request, base string) *image.Plan {
	t.Helper()
	p, err := image.NewPlan(r, base)
	must.Succeed(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// sent returns the entries of the context, with their contents or targets.
func sent(t *testing.T, p *image.Plan) map[string]string {
	t.Helper()
	var raw bytes.Buffer
	must.Succeed(t, p.WriteContext(&raw))
	got := map[string]string{}
	for r := tar.NewReader(&raw); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		must.Succeed(t, err)
		b, err := io.ReadAll(r)
		must.Succeed(t, err)
		if h.Typeflag == tar.TypeSymlink {
			b = []byte("->" + h.Linkname)
		}
		if h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() > 0 {
			t.Errorf("%s has an owner or a time: %+v", h.Name, h)
		}
		got[h.Name] = string(b)
	}
}

const ignores = ".deft.dockerfile\n.dockerignore\n"

func TestContext(t *testing.T) {
	t.Parallel()
	outside := write(t, map[string]string{"secret": "outside"})
	dir := write(t, map[string]string{
		"Dockerfile": "FROM scratch\nCOPY . /\n", ".dockerignore": "*.log\nbuild\n!build/keep\n.env\n",
		"a": "1", "sub/b": "2", "x.log": "no", "build/no": "no", "build/keep": "yes", ".env": "TOKEN=x",
		"link": "->" + outside + "/secret", "dir": "->" + outside, "private/key": "hidden",
	})
	must.Succeed(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	p := plan(t, image.Request{Dockerfile: filepath.Join(dir, "Dockerfile"), Hidden: []string{filepath.Join(dir, "private")}}, "")
	want := map[string]string{
		".deft.dockerfile": "FROM scratch\nCOPY . /\n", ".dockerignore": ignores,
		"Dockerfile": "FROM scratch\nCOPY . /\n", "a": "1", "sub/": "", "sub/b": "2", "build/keep": "yes",
		"link": "->" + outside + "/secret", "dir": "->" + outside,
	}
	if diff := cmp.Diff(want, sent(t, p)); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

func TestExtraDeps(t *testing.T) {
	t.Parallel()
	p := plan(t, image.Request{Base: "debian:12", ExtraDeps: "apt-get update\nCOPY /etc /x && echo \"hi\""}, "id")
	want := "FROM debian:12\n\nUSER root\nRUN [\"/bin/sh\",\"-c\",\"apt-get update\\nCOPY /etc /x && echo \\\"hi\\\"\"]\n"
	if diff := cmp.Diff(map[string]string{".deft.dockerfile": want, ".dockerignore": ignores}, sent(t, p)); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

// TestTags change with the inputs that they name, and with nothing else.
func TestTags(t *testing.T) {
	t.Parallel()
	files := map[string]string{"Dockerfile": "FROM a\n", "f": "1", "x.log": "1", ".dockerignore": "*.log"}
	dir := write(t, files)
	r := image.Request{Dockerfile: filepath.Join(dir, "Dockerfile"), ExtraDeps: "true"}
	first := plan(t, r, "").Tags()
	valid := regexp.MustCompile(`^deft-sandbox:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	for _, tag := range first {
		if !valid.MatchString(tag) {
			t.Errorf("%q is not a tag", tag)
		}
	}
	change := func(name, text string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	same := func(want string) {
		t.Helper()
		got := ""
		for i, tag := range plan(t, r, "").Tags() {
			if tag == first[i] {
				got += "="
			} else {
				got += "x"
			}
		}
		if got != want {
			t.Errorf("tags: %s, want %s", got, want)
		}
	}
	same("===")
	change("x.log", "2") // ignored
	same("===")
	change("f", "2")
	same("x==")
	change("f", "1")
	same("===")
	r.ExtraDeps = "false"
	same("xx=")
	r.ExtraDeps = "true"
	change("Dockerfile", "FROM b\n")
	same("xx=")

	deps := image.Request{Base: "a", ExtraDeps: "true"}
	if x, y := plan(t, deps, "id1").Tags(), plan(t, deps, "id2").Tags(); x[0] == y[0] || x[1] == y[1] || x[2] != y[2] {
		t.Errorf("another image under the name: %q, %q", x, y)
	}
}

func TestSafeTag(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"debian:12":                             "debian_t_12",
		"ghcr.io/x/y:1":                         "ghcr.io_s_x_s_y_t_1",
		"a@sha256:ff é":                         "a_sha256_t_ff__",
		strings.Repeat("x", 200) + ":tag":       strings.Repeat("x", 90) + "_t_tag",
		"localhost:5000/deep/path/to/image:1.0": "localhost_t_5000_s_deep_s_path_s_to_s_image_t_1.0",
	} {
		if got := image.SafeTag(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestChangedContext(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"Dockerfile": "FROM a\n", "f": "1"})
	p := plan(t, image.Request{Dockerfile: filepath.Join(dir, "Dockerfile")}, "")
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "f"), []byte("22"), 0o644))
	if err := p.WriteContext(io.Discard); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	outside := write(t, map[string]string{"secret": "FROM x"})
	dir := write(t, map[string]string{"link": "->" + outside + "/secret", "bad/.dockerignore": "[", "bad/Dockerfile": "FROM a"})
	for name, r := range map[string]image.Request{
		"nothing":              {},
		"blank":                {Base: "a", ExtraDeps: "  "},
		"no base":              {ExtraDeps: "true"},
		"lines in the base":    {Base: "a\nRUN evil", ExtraDeps: "true"},
		"no Dockerfile":        {Dockerfile: filepath.Join(dir, "none")},
		"no directory":         {Dockerfile: filepath.Join(dir, "none", "none")},
		"directory":            {Dockerfile: dir},
		"link out of it":       {Dockerfile: filepath.Join(dir, "link")},
		"wrong ignore pattern": {Dockerfile: filepath.Join(dir, "bad", "Dockerfile")},
	} {
		if _, err := image.NewPlan(r, ""); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestLargeContext: a sparse file takes no space, and is read whole.
func TestLargeContext(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"Dockerfile": "FROM base\n", "sparse": ""})
	must.Succeed(t, os.Truncate(filepath.Join(dir, "sparse"), 5<<40))
	_, err := image.NewPlan(image.Request{Dockerfile: filepath.Join(dir, "Dockerfile")}, "")
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "sparse") || !strings.Contains(fault.HintOf(err), ".dockerignore") {
		t.Errorf("%v", err)
	}
}
