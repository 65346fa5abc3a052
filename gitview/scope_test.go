package gitview_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/spawn"
)

// only shows one directory.
func only(t *testing.T, dir string) gitview.Scope {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must.Succeed(t, err)
	t.Cleanup(func() { root.Close() })
	return gitview.Scope{Root: root}
}

func list(t *testing.T, s gitview.Scope, dir string) (string, error) {
	t.Helper()
	found, err := s.Changes(t.Context(), dir, "")
	var b strings.Builder
	for _, c := range found {
		b.WriteString(string(c.Status[0]) + " " + c.Path + "\n")
	}
	return b.String(), err
}

// TestScope shows repositories in, around and beside the directory.
func TestScope(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "ignored\n")
	r.write("a", "x")
	r.write("sub/b", "x")
	r.commit("first")
	tree := filepath.Join(filepath.Dir(r.dir), "tree")
	r.git("worktree", "add", "-q", "-b", "side", tree)
	for _, dir := range []string{r.dir, tree} {
		own := repo{t, dir}
		own.write("a", "y")
		own.write("sub/b", "y")
		own.write("sub/ignored", "y")
		own.write("sub/mine.own", "y")
	}
	for dir, want := range map[string]string{
		r.dir: "U a\nU sub/b\n", r.dir + "/sub": "U b\n", tree: "U a\nU sub/b\n", tree + "/sub": "U b\n",
	} {
		s := only(t, dir)
		if got, err := list(t, s, dir); got != want || err != nil {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
		file := dir + "/" + strings.Fields(want)[1]
		if d, err := s.FileDiff(t.Context(), file, ""); err != nil || *d.Original != "x" || *d.Modified != "y" {
			t.Errorf("%s: %+v, %v", file, d, err)
		}
		if _, err := s.FileDiff(t.Context(), filepath.Dir(r.dir)+"/x", ""); err == nil {
			t.Errorf("%s shows a file outside", dir)
		}
		v, err := s.Open(dir)
		must.Succeed(t, err)
		var patch strings.Builder
		if _, err := v.Delta(t.Context(), "HEAD", nil, anyFile, &patch); err != nil || !strings.Contains(patch.String(), "+y") {
			t.Errorf("%s: %v\n%s", dir, err, patch.String())
		}
		must.Report(t, v.Close())
	}
}

// TestForeignRepository makes a directory claim another repository as its own.
func TestForeignRepository(t *testing.T) {
	t.Parallel()
	if !spawn.CanConfine() {
		if os.Getenv("CI") == "true" {
			t.Fatal("this kernel has no Landlock with ABI 2")
		}
		t.Skip("this kernel has no Landlock with ABI 2")
	}
	r := newRepo(t)
	r.write("file", "of somebody else")
	sha := r.commit("first")
	r.git("remote", "add", "origin", "https://example.com/of-somebody-else")
	tree := filepath.Join(filepath.Dir(r.dir), "tree")
	r.git("worktree", "add", "-q", "-b", "side", tree)
	git := r.dir + "/.git"
	for name, files := range map[string]map[string]string{
		"a file that names it":            {".git": "gitdir: " + git + "\n"},
		"a file that names its worktree":  {".git": "gitdir: " + git + "/worktrees/tree\n"},
		"a directory in common":           {".git/HEAD": "ref: refs/heads/main\n", ".git/commondir": git + "\n"},
		"a link to it":                    {".git": "-> " + git},
		"a link to its objects":           {".git/HEAD": sha + "\n", ".git/objects": "-> " + git + "/objects", ".git/refs/x": sha},
		"its objects as alternates":       {".git/HEAD": sha + "\n", ".git/objects/info/alternates": git + "/objects\n", ".git/refs/x": sha},
		"links to its refs and packs":     {".git/HEAD": "ref: refs/heads/main\n", ".git/refs": "-> " + git + "/refs", ".git/objects": "-> " + git + "/objects"},
		"a link to its configuration":     {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "-> " + git + "/config", ".git/objects/x": "", ".git/refs/x": sha},
		"a pipe where the file should be": {".git": "|"},
	} {
		ws := repo{t, filepath.Join(t.TempDir(), "ws")}
		dir, err := filepath.EvalSymlinks(filepath.Dir(ws.dir))
		must.Succeed(t, err)
		ws.dir = filepath.Join(dir, "ws")
		ws.write("file", "x")
		for file, text := range files {
			path := filepath.Join(ws.dir, file)
			to, link := strings.CutPrefix(text, "-> ")
			switch {
			case text == "|":
				mkfifo(t, path)
			case link:
				must.Succeed(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)))
			default:
				ws.write(file, text)
			}
		}
		s := only(t, ws.dir)
		var seen strings.Builder
		if d, err := s.FileDiff(t.Context(), ws.dir+"/file", ""); err == nil && d.Original != nil {
			seen.WriteString(*d.Original)
		}
		if d, err := s.CommitDiff(t.Context(), ws.dir+"/file", sha); err == nil && d.Modified != nil {
			seen.WriteString(*d.Modified)
		}
		if v, err := s.Open(ws.dir); err == nil {
			if m, err := v.Metadata(t.Context()); err == nil {
				seen.WriteString(m.Remote)
			}
			if c, err := v.Commits(t.Context(), 5); err == nil && len(c.Commits) > 0 {
				seen.WriteString("somebody else's commit")
			}
			var patch strings.Builder
			if _, err := v.Delta(t.Context(), "HEAD", nil, anyFile, &patch); err == nil {
				seen.WriteString(patch.String())
			}
			must.Report(t, v.Close())
		}
		if strings.Contains(seen.String(), "somebody") {
			t.Errorf("%s shows %q", name, seen.String())
		}
	}
}
