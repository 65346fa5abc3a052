package session_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/workspace"
)

// TestWorkspaceInside has a workspace that this machine does not have: nothing is made
// here, and the project's instructions and the files come through the sandbox.
func TestWorkspaceInside(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("one"), says("two")), nil)
	far := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Always say please.", "file": "content"} {
		must.Succeed(t, os.WriteFile(filepath.Join(far, name), []byte(text), 0o600))
	}
	files, err := workspace.Open(far)
	must.Succeed(t, err)
	defer files.Close()
	h.inside, h.work = files, filepath.Join(h.work, "only", "inside")
	const agent = `"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"k","usage_id":"agent"},"tools":[],"agent_context":{"load_project_skills":true}}`
	c := h.begin(t, agent)
	if _, err := os.Lstat(filepath.Dir(h.work)); err == nil {
		t.Error("the workspace was made on this machine")
	}
	send(t, c, "hi")
	settle(t, c)
	h.mu.Lock()
	asked := h.asked
	h.mu.Unlock()
	if !strings.Contains(asked.Prompt.Suffix, "Always say please.") || len(asked.Skills) != 1 {
		t.Errorf("the agent was told %q, with %d skills", asked.Prompt.Suffix, len(asked.Skills))
	}
	for path, want := range map[string]bool{h.work: true, h.work + "/a": true, h.work + "/../x": false, "/": false, h.work + "-other": false} {
		if got := c.WorkspaceContains(path); got != want {
			t.Errorf("%s is contained: %v", path, got)
		}
	}
	got, err := c.Environment().Files(t.Context())
	must.Succeed(t, err)
	f, err := got.Open(t.Context(), "file")
	must.Succeed(t, err)
	b, err := io.ReadAll(f)
	if err != nil || string(b) != "content" || f.Close() != nil || got.Close() != nil {
		t.Errorf("read %q %v", b, err)
	}
	if _, err := files.Stat(t.Context(), "file"); err != nil {
		t.Errorf("the sandbox's files were closed: %v", err)
	}
	s := h.request(t, agent)
	s.Worktree = &session.WorktreeOptions{}
	if _, _, err := h.Create(t.Context(), s); !fault.Is(err, fault.Invalid) {
		t.Errorf("a worktree: %v", err)
	}
	if _, err := c.Delegation().Start(t.Context(), session.ChildOptions{Task: "a part", Worktree: true}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a child in a worktree: %v", err)
	}
	h.restart(t)
	c = h.get(t, c.ID())
	if err := c.Change(t.Context(), session.Changes{WorkingDir: "/only/elsewhere"}); err != nil || c.Workspace() != "/only/elsewhere" {
		t.Errorf("another directory: %s %v", c.Workspace(), err)
	}
}
