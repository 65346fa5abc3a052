package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/schema"
)

func itoa(n int) string { return strconv.Itoa(n) }

// withoutSkills empties the agent's inline skills, which REST answers carry
// only where they are asked for (docs/openhands/sdk-wire.md section 4).
func withoutSkills(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"skills":[{`)) {
		return raw
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return raw
	}
	agent, ok := v.(*schema.Map)
	if !ok {
		return raw
	}
	if about := agent.Object("agent_context"); about != nil {
		about.Set("skills", []any{})
	}
	out, err := schema.Encode(agent)
	if err != nil {
		return raw
	}
	return out
}

// dropWorktree removes the worktree of a conversation that is deleted, unless
// another works in it: a fork, or a child that shares it.
func (m *Manager) dropWorktree(ctx context.Context, root string) error {
	if root == "" || m.o.DropWorktree == nil {
		return nil
	}
	quoted, err := marshal(root)
	if err != nil {
		return err
	}
	inside := quoted[:len(quoted)-1] // and what is below it
	for q := (eventstream.ListQuery{Limit: 1000}); ; {
		page, err := m.o.Stream.List(ctx, q)
		if err != nil {
			return fmt.Errorf("look who works in %s: %w", root, err)
		}
		for _, info := range page.Infos {
			if bytes.Contains(info.Meta.Extra, inside) {
				return nil
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return m.o.DropWorktree(ctx, root)
		}
	}
}
