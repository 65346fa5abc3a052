package agentserver

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session"
)

// TestWorktreeNames wants the names of the reference: web pages show the last
// part of a workspace's path, and the branch.
func TestWorktreeNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "project")
	must.Succeed(t, os.Mkdir(dir, 0o755))
	testtree.Commit(t, dir)
	cfg := &config.Loaded{Config: &config.Config{}}
	cfg.ConversationWorktreeRoot = t.TempDir()
	id := event.NewConversationID()
	root, _, err := directories{Worktrees: session.Worktrees{Root: cfg.ConversationWorktreeRoot}}.AddWorktree(t.Context(), dir, id, nil)
	must.Succeed(t, err)
	if want := filepath.Join(cfg.ConversationWorktreeRoot, string(id), "project"); root != want {
		t.Errorf("the worktree is %s, want %s", root, want)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "branch", "--show-current").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "openhands/"+string(id) {
		t.Errorf("the branch is %s, %v", got, err)
	}
}

// TestRefusedWorkspaces wants nothing to be made in a directory where no
// conversation may work.
func TestRefusedWorkspaces(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	home, data := filepath.Join(dir, "home"), filepath.Join(dir, "data")
	for _, d := range []string{home + "/.ssh", home + "/project", data} {
		must.Succeed(t, os.MkdirAll(d, 0o700))
	}
	must.Succeed(t, os.Symlink(home+"/.ssh", dir+"/innocent"))
	w := directories{rules: workspacedir.Rules{Home: home, Data: []string{data}}, log: slog.New(slog.DiscardHandler)}
	for _, ws := range []string{home, home + "/.ssh", dir + "/innocent", dir + "/innocent/new", data, data + "/new", dir} {
		if err := w.Prepare(t.Context(), ws, true); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", ws, err)
		}
		for _, made := range []string{ws + "/.git", data + "/new", home + "/.ssh/new"} {
			if _, err := os.Lstat(made); err == nil {
				t.Errorf("%s: %s was made", ws, made)
			}
		}
	}
	if err := w.Prepare(t.Context(), home+"/project", true); err != nil {
		t.Errorf("a project: %v", err)
	}
	if _, err := os.Lstat(home + "/project/.git/HEAD"); err != nil {
		t.Error("a project is no repository")
	}
}
