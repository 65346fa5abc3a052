package gitfetch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/must"
)

// bundle packs the HEAD of a clone that has a commit more, and returns its file and commit.
func bundle(t *testing.T, url, token, says string) (file, commit string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := gitfetch.Clone(t.Context(), dir, gitfetch.Source{URL: url, Token: token}); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "b.bundle")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `set -e; echo "$0" >>f; git -c user.name=t -c user.email=t@example.com commit -qam "$0"; git bundle create -q "$1" HEAD; git rev-parse HEAD`, says, file)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file, strings.TrimSpace(string(out))
}

// TestPush: commits reach a branch over HTTP, new or not, and a refused push gives
// the reason.
func TestPush(t *testing.T) {
	t.Parallel()
	const token = "secret-of-the-forge"
	repo := repository(t)
	must.Succeed(t, exec.CommandContext(t.Context(), "git", "-C", repo, "config", "http.receivepack", "true").Run())
	url := serve(t, filepath.Dir(repo), token) + "/r.git"
	mine, commit := bundle(t, url, token, "mine")
	theirs, _ := bundle(t, url, token, "theirs")
	for _, branch := range []string{"fix/one", "main"} {
		must.Succeed(t, gitfetch.Push(t.Context(), mine, gitfetch.Source{URL: url, Branch: branch, Token: token}))
		if got, err := gitfetch.Output(t.Context(), repo, "rev-parse", "refs/heads/"+branch); got != commit || err != nil {
			t.Errorf("%s: %s, %v; want %s", branch, got, err, commit)
		}
	}
	hook := filepath.Join(repo, "hooks", "update")
	must.Succeed(t, os.MkdirAll(filepath.Dir(hook), 0o700))
	must.Succeed(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in */kept) exit 1;; esac\n"), 0o700))
	broken := filepath.Join(t.TempDir(), "broken")
	must.Succeed(t, os.WriteFile(broken, []byte("# v2 git bundle\n"+commit+" HEAD\n\nPACKnothing"), 0o600))
	for name, c := range map[string]struct {
		file, branch, token string
		kind                fault.Kind
		says                string
	}{
		"other commits":  {theirs, "main", token, fault.Conflict, "has commits that are not here"},
		"a wrong token":  {mine, "main", "wrong", fault.Auth, "refuses the token"},
		"no token":       {mine, "main", "", fault.Auth, "there is no token"},
		"a refusal":      {mine, "kept", token, fault.Denied, "hook declined"},
		"an option":      {mine, "--force", token, fault.Invalid, "name"},
		"a refspec":      {mine, "a:b", token, fault.Invalid, "name"},
		"no branch":      {mine, "", token, fault.Invalid, "name"},
		"a broken file":  {broken, "main", token, fault.Invalid, "read the commits"},
		"a missing file": {broken + "-not", "main", token, fault.Invalid, "read the commits"},
	} {
		err := gitfetch.Push(t.Context(), c.file, gitfetch.Source{URL: url, Branch: c.branch, Token: c.token})
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v %v", name, fault.KindOf(err), err)
		}
	}
}
