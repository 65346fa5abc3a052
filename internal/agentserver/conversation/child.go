package conversation

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/state"
)

// ChildRequest asks for a conversation that works on a part of another's task
// (docs/openhands/sdk-wire-1.58.md section C.2).
type ChildRequest struct {
	Task      string `json:"task"`
	Title     string `json:"title"`
	Isolation string `json:"isolation"` // worktree, the default, or shared
}

// StartChild makes a conversation with the agent, the secrets and the tags of
// this one and a history of its own, and lets it run. It does not wait.
func (c *Conversation) StartChild(ctx context.Context, r ChildRequest) (*Conversation, error) {
	m := c.m
	if m.full() {
		return nil, errCapacity
	}
	id := event.NewConversationID()
	c.mu.Lock()
	child := &Conversation{m: m, id: id, cfg: c.cfg, agent: c.agent, shown: c.shown}
	child.meta = eventstream.Meta{Title: r.Title, Tags: maps.Clone(c.meta.Tags), Parent: c.id}
	c.mu.Unlock()
	child.cfg.SubConversations, child.cfg.ForkedAt, child.cfg.Worktree = nil, "", ""
	if err := child.openSecrets(child.cfg.Secrets); err != nil {
		return nil, err
	}
	if r.Isolation == "worktree" && m.o.Worktree != nil {
		root, work, err := m.o.Worktree(ctx, c.Workspace(), id, nil)
		if err != nil {
			return nil, err
		}
		child.cfg.Worktree, child.cfg.Workspace.WorkingDir = root, work
	}
	child.meta.WorkingDir = child.cfg.Workspace.WorkingDir
	e := m.hold(id)
	if err := child.storeNew(ctx); err != nil {
		m.letGo(id, e, nil)
		return nil, err
	}
	m.letGo(id, e, child)
	if err := c.addChild(ctx, id); err != nil {
		return nil, err
	}
	return child, child.Send(ctx, Message{
		Role: event.RoleUser, Content: []event.Content{event.Text(r.Task)}, Run: true,
	})
}

// isolation says whether a child got a worktree: where there is no repository
// it shares its parent's workspace.
func (c *Conversation) isolation() string {
	if c.cfg.Worktree == "" {
		return "shared"
	}
	return "worktree"
}

func (m *Manager) postChild(w http.ResponseWriter, r *http.Request) error {
	req := ChildRequest{Isolation: "worktree"}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(req.Task) == "":
		return schema.Violations{{
			Type: "string_too_short", Loc: []any{"body", "task"}, Msg: "String should have at least 1 character",
			Input: req.Task, Ctx: map[string]any{"min_length": 1},
		}}
	case req.Isolation != "worktree" && req.Isolation != "shared":
		return schema.Violations{{
			Type: "literal_error", Loc: []any{"body", "isolation"}, Msg: "Input should be 'worktree' or 'shared'",
			Input: req.Isolation, Ctx: map[string]any{"expected": "'worktree' or 'shared'"},
		}}
	}
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	child, err := c.StartChild(r.Context(), req)
	if err != nil {
		return worded(err)
	}
	status := state.Idle
	if w := child.open.Load(); w != nil {
		status = w.State().Status
	}
	return rest.JSON(w, http.StatusCreated, map[string]any{
		"conversation_id": child.id, "parent_conversation_id": c.id, "status": status,
		"title": orNull(req.Title), "url": json.RawMessage("null"),
		"workspace": child.Workspace(), "isolation": child.isolation(),
	})
}
