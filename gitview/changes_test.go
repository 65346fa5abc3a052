package gitview_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/must"
)

// changes writes a list as "A path" lines.
func changes(t *testing.T, dir, ref string) string {
	t.Helper()
	list, err := everywhere.Changes(t.Context(), dir, ref)
	must.Succeed(t, err)
	var b strings.Builder
	for _, c := range list {
		b.WriteString(string(c.Status[0]) + " " + c.Path + "\n")
	}
	return b.String()
}

func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if got := changes(t, r.dir, ""); got != "" {
		t.Errorf("an empty repository: %q", got)
	}
	r.write("new.txt", "x")
	if got := changes(t, r.dir, "HEAD"); got != "A new.txt\n" {
		t.Errorf("no commit yet: %q", got)
	}
	r.write("a.txt", "a\n")
	r.write("d.txt", "d\n")
	r.write("sub/r.txt", strings.Repeat("same\n", 20))
	r.write(".gitignore", "ignored\n")
	first := r.commit("first")
	r.write("a.txt", "b\n")
	r.remove("d.txt")
	r.git("mv", "sub/r.txt", "sub/moved.txt")
	r.write("sp ace \"q\"\\.txt", "x")
	r.write("line\nbreak", "x")
	r.write("tab\tü", "x")
	r.write("bad\xff", "x")
	r.write("-flag", "x")
	r.write("ignored", "x")
	r.write("mine.own", "x")
	want := "A -flag\nU a.txt\nA bad\uFFFD\nD d.txt\nA line\nbreak\nA sp ace \"q\"\\.txt\nA sub/moved.txt\nD sub/r.txt\nA tab\tü\n"
	if diff := cmp.Diff(want, changes(t, r.dir, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := changes(t, filepath.Join(r.dir, "sub"), ""); got != "A moved.txt\nD r.txt\n" {
		t.Errorf("in a directory: %q", got)
	}
	r.remove("mine.own")
	r.commit("second")
	if got := changes(t, r.dir, ""); got != "" {
		t.Errorf("after a commit: %q", got)
	}
	if got := changes(t, r.dir, first); got != want {
		t.Errorf("against the first commit: %q", got)
	}
	for _, ref := range []string{"nope", "--help", "-x", "a b", "a\nb", "a\x00b", ":x", "@{-1}", "HEAD:a.txt"} {
		var refused *gitview.CommandError
		if _, err := everywhere.Changes(t.Context(), r.dir, ref); !errors.As(err, &refused) {
			t.Errorf("ref %q: %v", ref, err)
		}
	}
	for _, dir := range []string{filepath.Dir(r.dir) + "/none", r.dir + "/a.txt", "/", "a\x00b"} {
		if _, err := everywhere.Changes(t.Context(), dir, ""); !errors.Is(err, gitview.ErrNoRepository) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("base", "x")
	r.commit("base")
	r.git("checkout", "-q", "-b", "work")
	r.write("done", "x")
	r.commit("work")
	if got := changes(t, r.dir, ""); got != "A done\n" {
		t.Errorf("a branch of main: %q", got)
	}
	r.git("remote", "add", "origin", "ext::sh -c 'touch "+r.dir+"/network'")
	r.git("update-ref", "refs/remotes/origin/main", "main")
	if got := changes(t, r.dir, ""); got != "A done\n" {
		t.Errorf("origin has main: %q", got)
	}
	r.git("update-ref", "refs/remotes/origin/work", "work")
	if got := changes(t, r.dir, ""); got != "A done\n" {
		t.Errorf("all pushed, nothing changed: %q", got)
	}
	r.write("done", "y")
	if got := changes(t, r.dir, ""); got != "U done\n" {
		t.Errorf("pushed, then edited: %q", got)
	}
	r.git("checkout", "-q", "--detach")
	if got := changes(t, r.dir, ""); got != "A done\n" {
		t.Errorf("detached: %q", got)
	}
}

func TestNestedRepositories(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	outer := filepath.Dir(r.dir)
	r.write("a", "x")
	if got := changes(t, outer, ""); got != "A repo/a\n" {
		t.Errorf("a directory of repositories: %q", got)
	}
	o := repo{t, outer}
	o.git("init", "-q", "-b", "main")
	o.write("repository", "x")
	o.write("broken/.git/HEAD", "nonsense")
	if got := changes(t, outer, ""); !strings.Contains(got, "A repo/a\nA repository\n") {
		t.Errorf("a repository in a repository: %q", got)
	}
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "x")
	r.commit("first")
	tree := filepath.Join(filepath.Dir(r.dir), "tree")
	r.git("worktree", "add", "-q", "-b", "side", tree)
	r = repo{t, tree}
	r.write("a", "y")
	r.write("b", "z")
	if got := changes(t, tree, ""); got != "U a\nA b\n" {
		t.Errorf("changes: %q", got)
	}
}

// TestHostileConfiguration sets everything in a repository that can name a
// program, and wants none of it run.
func TestHostileConfiguration(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "one\n")
	r.write("b.lfs", "two\n")
	sha := r.commit("first")
	proof := filepath.Join(filepath.Dir(r.dir), "ran")
	run := "sh -c 'touch " + proof + "; cat' #"
	for name, value := range map[string]string{
		"core.fsmonitor": run, "core.hooksPath": r.dir + "/hooks", "core.pager": run, "core.sshCommand": run, "core.editor": run,
		"diff.external": run, "diff.evil.textconv": run, "diff.evil.command": run, "filter.evil.clean": run, "filter.evil.smudge": run,
		"filter.evil.process": run, "filter.evil.required": "true", "log.showSignature": "true", "gpg.program": run, "core.attributesFile": r.dir + "/attributes",
		"remote.origin.url": "ext::" + run, "remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none", "extensions.partialClone": "origin",
		"core.alternateRefsCommand": run, "core.worktree": "/etc", "status.showUntrackedFiles": "no", "credential.helper": "!" + run, "core.repositoryFormatVersion": "1",
	} {
		r.git("config", name, value)
	}
	for _, file := range []string{".gitattributes", ".git/info/attributes", "attributes"} {
		r.write(file, "* filter=evil diff=evil\n")
	}
	for _, hook := range []string{"hooks/pre-auto-gc", "hooks/post-index-change", ".git/hooks/post-index-change", ".git/hooks/fsmonitor-watchman"} {
		r.write(hook, "#!/bin/sh\ntouch "+proof+"\n")
	}
	r.write("a.txt", "changed\n")
	r.write("b.lfs", "changed too\n")
	if got := changes(t, r.dir, ""); !strings.Contains(got, "U a.txt\n") || !strings.Contains(got, "A hooks/pre-auto-gc\n") {
		t.Errorf("changes: %q", got)
	}
	if d, err := everywhere.FileDiff(t.Context(), filepath.Join(r.dir, "a.txt"), ""); err != nil || *d.Original != "one" || *d.Modified != "changed" {
		t.Errorf("diff: %+v %v", d, err)
	}
	v, err := gitview.Open(r.dir)
	must.Succeed(t, err)
	defer v.Close()
	if _, err := v.Commits(t.Context(), 5); err != nil {
		t.Error(err)
	}
	if _, err := v.CommitChanges(t.Context(), sha); err != nil {
		t.Error(err)
	}
	if _, err := v.CommitChanges(t.Context(), strings.Repeat("1", 40)); err == nil { // would be fetched
		t.Error("an unknown commit has changes")
	}
	var patch strings.Builder
	if _, err := v.Delta(t.Context(), "HEAD", nil, anyFile, &patch); err != nil || !strings.Contains(patch.String(), "+changed too") {
		t.Errorf("patch: %v\n%s", err, patch.String())
	}
	if _, err := v.Metadata(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("a program that the repository names was run")
	}
	// A git that reads the configuration does run programs, so the above can fail. Its
	// output does not matter.
	cmd := exec.Command("git", "-c", "core.worktree="+r.dir, "diff", "HEAD")
	cmd.Dir = r.dir
	_, _ = cmd.CombinedOutput()
	if _, err := os.Stat(proof); err != nil {
		t.Error("the configuration names no program that git runs")
	}
}

func TestPipesDoNotBlock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "x")
	r.commit("first")
	for _, name := range []string{".git/commondir", ".git/HEAD"} {
		path := filepath.Join(r.dir, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		mkfifo(t, path)
	}
	mkfifo(t, filepath.Join(r.dir, "pipe"))
	if d, err := everywhere.FileDiff(t.Context(), filepath.Join(r.dir, "pipe"), ""); err == nil {
		t.Errorf("a repository without a HEAD: %+v", d)
	}
}
