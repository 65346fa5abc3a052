package agentserver

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/agentserver/config"
)

// TestWorktreeNames wants the names of the reference: web pages show the last
// part of a workspace's path, and the branch.
func TestWorktreeNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "project")
	for _, args := range [][]string{
		{"init", "-q", dir},
		{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	cfg := &config.Loaded{Config: &config.Config{}}
	cfg.ConversationWorktreeRoot = t.TempDir()
	id := event.NewConversationID()
	root, _, err := worktrees{root: cfg.ConversationWorktreeRoot}.AddWorktree(t.Context(), dir, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(cfg.ConversationWorktreeRoot, string(id), "project"); root != want {
		t.Errorf("the worktree is %s, want %s", root, want)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "branch", "--show-current").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "openhands/"+string(id) {
		t.Errorf("the branch is %s, %v", got, err)
	}
}
