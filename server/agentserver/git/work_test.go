package git_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/git"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/session"
)

const workID = "0000000000000000000000000000000a"

// here runs programs on this machine, without anybody's configuration of Git.
func here(ctx context.Context, _ string, p session.Program) (session.ProgramResult, error) {
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	var out, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, &out, &stderr
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		err = nil
	}
	return session.ProgramResult{Stdout: out.String(), Stderr: stderr.String(), ExitCode: cmd.ProcessState.ExitCode()}, err
}

// place is a workspace with the routes of its repository.
type place struct {
	t   *testing.T
	dir string
	srv *httptest.Server
}

func newPlace(t *testing.T, dir string, author git.Author) *place {
	t.Helper()
	s := git.New(git.Options{Run: here, Author: func(context.Context) (git.Author, error) { return author, nil }})
	return &place{t, dir, serve(t, s.ScopedRoutes(func(context.Context, string) (workspacescope.Workspace, error) {
		return workspacescope.Directory(dir), nil
	}))}
}

func (p *place) path(name, dir string) string {
	return "/api/conversations/" + workID + "/git/" + name + "?path=" + dir
}

func (p *place) post(name, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.srv.URL+p.path(name, p.dir), strings.NewReader(body))
	must.Succeed(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.srv.Client().Do(req)
	must.Succeed(p.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(p.t, err)
	return resp.StatusCode, string(raw)
}

func (p *place) works(name, body string) {
	p.t.Helper()
	if status, said := p.post(name, body); status != http.StatusOK {
		p.t.Fatalf("%s %s: %d %s", name, body, status, said)
	}
}

func (p *place) files() []git.File {
	p.t.Helper()
	status, raw := get(p.t, p.srv, p.path("status", p.dir))
	var st git.Status
	if err := json.Unmarshal([]byte(raw), &st); status != http.StatusOK || err != nil {
		p.t.Fatalf("%d %s %v", status, raw, err)
	}
	return st.Files
}

// TestWork: files are staged, unstaged, committed and discarded, whatever their names.
func TestWork(t *testing.T) {
	t.Parallel()
	dir, first := repository(t)
	p := newPlace(t, dir, git.Author{Name: "Ada", Email: "ada@example.com"})
	write(t, filepath.Join(dir, "a.txt"), "y\n")
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	odd := "sub/-x *' ü.txt"
	write(t, filepath.Join(dir, odd), "new\n")
	write(t, filepath.Join(dir, "sub/-x other ü.txt"), "not meant by the pattern\n")
	p.works("stage", `{"files": ["`+odd+`"]}`)
	want := []git.File{{Path: "a.txt", Unstaged: true}, {Path: odd, Staged: true}, {Path: "sub/-x other ü.txt", Unstaged: true}}
	if diff := cmp.Diff(want, p.files()); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Join(dir, odd), "newer\n")
	if got := p.files()[1]; !got.Staged || !got.Unstaged {
		t.Errorf("partly staged: %+v", got)
	}
	p.works("unstage", `{"files": ["`+odd+`"]}`)
	if got := p.files()[2]; got.Path != "sub/-x other ü.txt" || got.Staged {
		t.Errorf("unstaged: %+v", p.files())
	}
	// A directory below the repository names its files by itself.
	status, raw := get(t, p.srv, p.path("status", dir+"/sub"))
	if status != http.StatusOK || !strings.Contains(raw, `"-x other`) || strings.Contains(raw, "a.txt") {
		t.Errorf("of a directory: %d %s", status, raw)
	}
	p.works("stage", `{"files": ["a.txt"]}`)
	p.works("commit", `{"message": "second\n\n-- why"}`)
	if got := p.files(); len(got) != 2 {
		t.Errorf("a commit took what was not staged: %+v", got)
	}
	p.works("discard", `{"files": ["`+odd+`"]}`)
	if _, err := os.Stat(filepath.Join(dir, odd)); !os.IsNotExist(err) {
		t.Errorf("a new file that was discarded: %v", err)
	}
	write(t, filepath.Join(dir, "a.txt"), "z\n")
	p.works("stage", `{"files": []}`)
	p.works("discard", `{"files": ["a.txt"]}`)
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "y\n" || err != nil {
		t.Errorf("a changed file that was discarded: %q %v", b, err)
	}
	p.works("commit", `{"message": "third", "all": true}`)
	got, err := here(t.Context(), "", session.Program{Argv: []string{"git", "log", "--format=%an <%ae> %s", first + "..HEAD"}, Dir: dir})
	if err != nil || got.Stdout != "Ada <ada@example.com> third\nAda <ada@example.com> second\n" {
		t.Errorf("commits: %q %v", got.Stdout, err)
	}
	if status, said := p.post("commit", `{"message": "nothing"}`); status != http.StatusConflict || !strings.Contains(said, "nothing to commit") {
		t.Errorf("nothing to commit: %d %s", status, said)
	}
}

// TestWorkRefusals: a request can't reach anything but files of the working tree, and
// gets the words of git, or of a hook.
func TestWorkRefusals(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	p := newPlace(t, dir, git.Author{})
	for _, path := range []string{"../x", "/etc/passwd", ".", "", "sub/..", ".git/config", "a\\u0000b"} {
		for _, name := range []string{"stage", "unstage", "discard"} {
			if status, said := p.post(name, `{"files": ["`+path+`"]}`); status != http.StatusUnprocessableEntity {
				t.Errorf("%s %q: %d %s", name, path, status, said)
			}
		}
	}
	if status, said := p.post("stage", `{"files": ["no/such"]}`); status != http.StatusConflict || !strings.Contains(said, "did not match") {
		t.Errorf("a file that does not exist: %d %s", status, said)
	}
	for body, says := range map[string]string{`{"files": ["no/such"]}`: "no/such", `{"files": []}`: "names of files"} {
		if status, said := p.post("discard", body); status != http.StatusConflict || !strings.Contains(said, says) {
			t.Errorf("discard %s: %d %s", body, status, said)
		}
	}
	for _, body := range []string{`{"message": " "}`, `{"message": ""}`, `{}`, `[]`} {
		if status, said := p.post("commit", body); status != http.StatusUnprocessableEntity {
			t.Errorf("commit %s: %d %s", body, status, said)
		}
	}
	if status, _ := get(t, p.srv, p.path("status", "/etc")); status != http.StatusUnprocessableEntity {
		t.Errorf("a directory outside: %d", status)
	}
	hook := filepath.Join(dir, ".git/hooks/pre-commit")
	must.Succeed(t, os.MkdirAll(filepath.Dir(hook), 0o700))
	must.Succeed(t, os.WriteFile(hook, []byte("#!/bin/sh\necho no tests, no commit >&2\nexit 1\n"), 0o700))
	write(t, filepath.Join(dir, "a.txt"), "y\n")
	if status, said := p.post("commit", `{"message": "x", "all": true}`); status != http.StatusConflict || !strings.Contains(said, "no tests, no commit") {
		t.Errorf("a hook that refuses: %d %s", status, said)
	}
}

// TestWorkConflicts: while a merge has conflicts, all changes are not committed.
func TestWorkConflicts(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	p := newPlace(t, dir, git.Author{Name: "Ann", Email: "ann@example.com"})
	run := func(ok bool, args ...string) {
		t.Helper()
		argv := append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@b"}, args...)
		if got, err := here(t.Context(), "", session.Program{Argv: argv, Dir: dir}); err != nil || (got.ExitCode == 0) != ok {
			t.Fatalf("%q: %+v, %v", args, got, err)
		}
	}
	name := "sub dir/ü.txt"
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "sub dir"), 0o700))
	write(t, filepath.Join(dir, name), "base\n")
	p.works("commit", `{"message": "base", "all": true}`)
	run(true, "checkout", "-q", "-b", "theirs")
	write(t, filepath.Join(dir, name), "theirs\n")
	p.works("commit", `{"message": "theirs", "all": true}`)
	run(true, "checkout", "-q", "-")
	write(t, filepath.Join(dir, name), "ours\n")
	p.works("commit", `{"message": "ours", "all": true}`)
	run(false, "merge", "-q", "theirs")
	write(t, filepath.Join(dir, "a.txt"), "also\n")
	if status, said := p.post("commit", `{"message": "merge", "all": true}`); status != http.StatusConflict || !strings.Contains(said, name) || !strings.Contains(said, "not resolved") {
		t.Errorf("a commit of conflicts: %d %s", status, said)
	}
	write(t, filepath.Join(dir, name), "both\n")
	p.works("stage", `{"files": ["`+name+`"]}`)
	p.works("commit", `{"message": "merge", "all": true}`)
	if files := p.files(); len(files) != 0 {
		t.Errorf("after the merge: %+v", files)
	}
}

// TestWorkWithoutGit: a sandbox without git says so.
func TestWorkWithoutGit(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	s := git.New(git.Options{Run: func(ctx context.Context, conversation string, p session.Program) (session.ProgramResult, error) {
		p.Argv = append([]string{"env", "PATH=/nowhere"}, append([]string{"/bin/sh"}, p.Argv[1:]...)...)
		return here(ctx, conversation, p)
	}})
	srv := serve(t, s.ScopedRoutes(func(context.Context, string) (workspacescope.Workspace, error) {
		return workspacescope.Directory(dir), nil
	}))
	p := &place{t, dir, srv}
	if status, said := get(t, srv, p.path("status", dir)); status != http.StatusConflict || !strings.Contains(said, "has no git") {
		t.Errorf("%d %s", status, said)
	}
}

// TestWorkBeginning: there may be no commit yet, nor a repository.
func TestWorkBeginning(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	p := newPlace(t, dir, git.Author{})
	if status, raw := get(t, p.srv, p.path("status", dir)); status != http.StatusOK || strings.TrimSpace(raw) != "null" {
		t.Errorf("without a repository: %d %s", status, raw)
	}
	if got, err := here(t.Context(), "", session.Program{Argv: []string{"git", "init", "-q", "-b", "main"}, Dir: dir}); err != nil || got.ExitCode != 0 {
		t.Fatal(got, err)
	}
	write(t, filepath.Join(dir, "a"), "x")
	p.works("stage", `{"files": ["a"]}`)
	p.works("unstage", `{"files": ["a"]}`)
	if diff := cmp.Diff([]git.File{{Path: "a", Unstaged: true}}, p.files()); diff != "" {
		t.Error(diff)
	}
	p.works("commit", `{"message": "first", "all": true}`)
	status, raw := get(t, p.srv, p.path("status", dir))
	if !strings.Contains(raw, `"branch":"main"`) || !strings.Contains(raw, `"unpushed":null`) || status != http.StatusOK {
		t.Errorf("after the first commit: %d %s", status, raw)
	}
	got, err := here(t.Context(), "", session.Program{Argv: []string{"git", "log", "--format=%an %ae"}, Dir: dir})
	if err != nil || got.Stdout != "Deft deft@localhost\n" {
		t.Errorf("without a name: %q %v", got.Stdout, err)
	}
}

// TestInnerRepository: a repository within the tree is named as such, recorded or not.
func TestInnerRepository(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	p := newPlace(t, dir, git.Author{Name: "Ada", Email: "ada@example.com"})
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "inner"), 0o700))
	in := func(script string) {
		t.Helper()
		if got, err := here(t.Context(), "", session.Program{Argv: []string{"sh", "-ec", script}, Dir: filepath.Join(dir, "inner")}); err != nil || got.ExitCode != 0 {
			t.Fatal(got, err)
		}
	}
	commit := "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a"
	in("git init -q . && " + commit)
	if diff := cmp.Diff([]git.File{{Path: "inner", Unstaged: true, Repository: true}}, p.files()); diff != "" {
		t.Error(diff)
	}
	p.works("stage", `{"files": ["inner"]}`)
	p.works("commit", `{"message": "inner"}`)
	in(commit)
	if diff := cmp.Diff([]git.File{{Path: "inner", Unstaged: true, Repository: true}}, p.files()); diff != "" {
		t.Error(diff)
	}
}
