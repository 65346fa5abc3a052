package workspacetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/workspace"
)

// run runs git in the workspace directly.
func (f *fixture) run(args ...string) string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), "git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with two commits, the second of which changes hello, and with
// changes that are not committed.
func (f *fixture) repository() (first, second string) {
	f.Helper()
	defer func() {
		if _, err := f.Head(f.Context(), f.dir); errors.Is(err, exec.ErrNotFound) {
			f.Skip("there is no git where the workspace is")
		}
	}()
	f.run("init", "-q", "-b", "main")
	f.run("add", "-A")
	f.run("commit", "-qm", "first")
	first = f.run("rev-parse", "HEAD")
	f.put("hello", "hello 2\n")
	f.run("commit", "-qam", "second")
	second = f.run("rev-parse", "HEAD")
	f.put("hello", "hello 3\n")
	f.put("new\nline", "new\n")
	return first, second
}

// gitQuestions are answered as git does.
func gitQuestions(f *fixture) {
	f.put("kept", "kept\n")
	first, second := f.repository()
	ctx := f.Context()
	same := func(what string, want, got any, err error) {
		f.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			f.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
		}
	}
	changes, err := f.Changes(ctx, f.dir, "HEAD")
	same("changes", []gitview.Change{{Status: gitview.Updated, Path: "hello"}, {Status: gitview.Added, Path: "new\nline"}}, changes, err)
	single, none := 1, 0
	comparison, err := f.Compare(ctx, f.dir, "HEAD")
	same("comparison", []gitview.Comparison{
		{Change: gitview.Change{Status: gitview.Updated, Path: "hello"}, Added: &single, Deleted: &single},
		{Change: gitview.Change{Status: gitview.Added, Path: "new\nline"}, Added: &single, Deleted: &none},
	}, comparison, err)
	changes, err = f.CommitChanges(ctx, f.dir, second)
	same("changes of a commit", []gitview.Change{{Status: gitview.Updated, Path: "hello"}}, changes, err)
	now, two, one := "hello 3", "hello 2", "hello"
	diff, err := f.FileDiff(ctx, f.dir+"/hello", "HEAD")
	same("diff", gitview.Diff{Modified: &now, Original: &two}, diff, err)
	diff, err = f.CommitDiff(ctx, f.dir+"/hello", second)
	same("diff of a commit", gitview.Diff{Modified: &two, Original: &one}, diff, err)
	head, err := f.Head(ctx, f.dir)
	same("head", second, head, err)
	page, err := f.Commits(ctx, f.dir, 1)
	if err != nil || len(page.Commits) != 1 || page.Commits[0].SHA != second || page.Commits[0].Subject != "second" || !page.HasMore {
		f.Errorf("commits: %+v %v", page, err)
	}
	var b bytes.Buffer
	done, err := f.Archive(ctx, f.dir, workspace.Archive{Format: workspace.GitDelta, BaseRef: first}, &b)
	want := workspace.Archived{Root: f.dir, Base: first, Repository: true, Metadata: gitview.Metadata{Branch: "main", Head: second}}
	same("patch", want, done, err)
	if !strings.Contains(b.String(), "+hello 3") || !strings.Contains(b.String(), "+new") {
		f.Errorf("the patch is\n%s", b.String())
	}
	var failed *gitview.CommandError
	if _, err = f.Archive(ctx, f.dir, workspace.Archive{Format: workspace.GitDelta, BaseRef: "nothing"}, io.Discard); !errors.As(err, &failed) || !failed.Unresolved {
		f.Errorf("an unknown base: %#v", err)
	}
	var path *gitview.PathError
	if _, err = f.FileDiff(ctx, f.dir+"/missing", "HEAD"); !errors.As(err, &path) || !strings.HasPrefix(err.Error(), "File does not exist") {
		f.Errorf("a diff of a missing file: %v", err)
	}
}

// hostileGit runs nothing that a repository names.
func hostileGit(f *fixture) {
	f.put("big.bin", "data\n")
	f.put(".gitattributes", "* filter=evil diff=evil\n")
	_, second := f.repository()
	planted := filepath.Join(f.dir, ".git", "PLANTED")
	evil := filepath.Join(f.dir, ".git", "evil")
	f.put(".git/evil", "#!/bin/sh\ntouch '"+planted+"'\ncat\n")
	must.Succeed(f, os.Chmod(evil, 0o755))
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"} {
		f.put(".git/hooks/"+hook, "#!/bin/sh\ntouch '"+planted+"'\n")
		must.Succeed(f, os.Chmod(filepath.Join(f.dir, ".git/hooks", hook), 0o755))
	}
	config, err := os.ReadFile(f.dir + "/.git/config")
	must.Succeed(f, err)
	f.put(".git/config", string(config)+`
[core]
	fsmonitor = `+evil+`
	hooksPath = `+filepath.Join(f.dir, ".git/hooks")+`
	pager = `+evil+`
	sshCommand = `+evil+`
[filter "evil"]
	clean = `+evil+`
	smudge = `+evil+`
	process = `+evil+`
[diff]
	external = `+evil+`
[diff "evil"]
	textconv = `+evil+`
	command = `+evil+`
[gpg]
	program = `+evil+`
[log]
	showSignature = true
[remote "origin"]
	url = ext::`+evil+`
	promisor = true
	partialclonefilter = blob:none
[protocol "ext"]
	allow = always
[alias]
	diff = !`+evil+`
`)
	ctx := f.Context()
	_, changesErr := f.Changes(ctx, f.dir, "HEAD")
	_, diffErr := f.FileDiff(ctx, f.dir+"/hello", "HEAD")
	_, commitErr := f.CommitDiff(ctx, f.dir+"/hello", second)
	_, commitsErr := f.Commits(ctx, f.dir, 10)
	_, ofErr := f.CommitChanges(ctx, f.dir, second)
	_, headErr := f.Head(ctx, f.dir)
	_, patchErr := f.Archive(ctx, f.dir, workspace.Archive{Format: workspace.GitDelta}, io.Discard)
	_, tarErr := f.Archive(ctx, f.dir, workspace.Archive{Format: workspace.TarGz}, io.Discard)
	if err := errors.Join(changesErr, diffErr, commitErr, commitsErr, ofErr, headErr, patchErr, tarErr); err != nil {
		f.Errorf("the repository is not shown: %v", err)
	}
	// A blob that is missing is not fetched from ext::.
	blob := f.run("--git-dir="+f.dir+"/.git", "-c", "core.fsmonitor=false", "-c", "alias.x=", "rev-parse", second+":big.bin")
	must.Succeed(f, os.Remove(filepath.Join(f.dir, ".git/objects", blob[:2], blob[2:])))
	_, _ = f.CommitDiff(ctx, f.dir+"/big.bin", second) // it may fail
	for _, name := range []string{"-x", "--output=" + planted, "--upload-pack=" + evil} {
		_, _ = f.Changes(ctx, f.dir, name)
		_, _ = f.CommitChanges(ctx, f.dir, name)
	}
	if _, err := os.Lstat(planted); err == nil {
		f.Error("git ran what the repository names")
	}
}

// noRepository is where nothing is, also if a file says that another one's is.
func noRepository(f *fixture) {
	hidden := f.out + "/repo"
	if out, err := exec.CommandContext(f.Context(), "git", "init", "-q", hidden).CombinedOutput(); err != nil {
		f.Fatalf("git: %v %s", err, out)
	}
	for _, pointer := range []string{"", "gitdir: " + hidden + "/.git\n"} {
		if pointer != "" {
			f.put(".git", pointer)
		}
		if _, err := f.Changes(f.Context(), f.dir, ""); !errors.Is(err, gitview.ErrNoRepository) {
			f.Errorf("with %q: %v", pointer, err)
		}
		_, err := f.Archive(f.Context(), f.dir, workspace.Archive{Format: workspace.GitDelta}, io.Discard)
		if !errors.Is(err, gitview.ErrNoRepository) {
			f.Errorf("archive with %q: %v", pointer, err)
		}
	}
}
