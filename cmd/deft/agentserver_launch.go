package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/agentserver/files"
	mcproom "github.com/deft-dev/deft/internal/agentserver/mcp"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/launch"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool/client"
	"github.com/deft-dev/deft/tool/mcp"
)

// launcher makes the agents that requests ask for.
type launcher struct {
	settings *settings.Service
	ring     *keyring.Ring
}

// additions are what a launch adds to an agent (docs/openhands/sdk-wire-1.58.md
// section B.2).
type additions struct {
	Suffix     string            `json:"system_message_suffix_append"`
	LLMProfile string            `json:"llm_profile_ref"`
	Skills     []json.RawMessage `json:"skills"`
}

func (l launcher) resolve(ctx context.Context, r *conversation.StartRequest) (*conversation.Launch, error) {
	var add additions
	if len(r.LaunchAdditions) > 0 && string(r.LaunchAdditions) != "null" {
		if err := rest.Decode(r.LaunchAdditions, &add, "body", "agent_launch_additions"); err != nil {
			return nil, err
		}
	}
	src := launch.Source{Agent: r.Agent, Settings: r.AgentSettings, LLMProfile: add.LLMProfile, Keys: l.ring}
	if r.AgentProfileID != nil {
		src.ProfileID = *r.AgentProfileID
	}
	if add.LLMProfile != "" && src.ProfileID == "" {
		return nil, schema.Invalid("llm_profile_ref needs an agent_profile_id", add.LLMProfile, "body", "agent_launch_additions")
	}
	var stores *launch.Stores
	if src.ProfileID != "" || len(src.Agent) == 0 || string(src.Agent) == "null" { // an agent refers to nothing
		var err error
		if stores, err = l.settings.LaunchStores(); err != nil {
			return nil, err
		}
	}
	resolved, err := launch.Resolve(ctx, src, stores)
	if err != nil {
		return nil, err
	}
	rt, err := runtimeOf(r, add)
	if err != nil {
		return nil, err
	}
	a, err := launch.Finalize(resolved, rt)
	if err != nil {
		return nil, err
	}
	out := &conversation.Launch{Agent: a}
	if p := resolved.Profile; p != nil {
		out.SecretRefs = p.SecretRefs
		out.Profile, err = json.Marshal(p)
	}
	return out, err
}

// runtimeOf is what the place and the request add to a launch.
func runtimeOf(r *conversation.StartRequest, add additions) (launch.Runtime, error) {
	var rt launch.Runtime
	if strings.TrimSpace(add.Suffix) != "" {
		rt.Suffixes = []string{add.Suffix}
	}
	for _, raw := range add.Skills {
		m, err := schema.Parse(raw)
		if err != nil {
			return rt, err
		}
		if doc, ok := m.(*schema.Map); ok {
			rt.Skills = append(rt.Skills, doc)
		}
	}
	return rt, nil
}

// llm reads the LLM of a request, with its provider connection.
func (l launcher) llm(ctx context.Context, raw json.RawMessage) (*spec.LLM, error) {
	m, err := spec.DecodeLLM(raw, schema.Reading{Keys: l.ring}, "body", "llm")
	if err != nil {
		return nil, err
	}
	return m, m.Resolve(l.settings.Profiles.Connections.Find(ctx), "")
}

// profile returns the LLM of a stored profile.
func (l launcher) profile(ctx context.Context, name string) (*spec.LLM, error) {
	return l.settings.Profiles.LLMs.Load(ctx, name)
}

// usableTool reports whether agents of this server can have a tool.
func usableTool(name string) bool {
	return slices.Contains(mcproom.UsableNames(mcproom.Catalogue()), name)
}

// probeServer tries an MCP server.
func probeServer(ctx context.Context, p mcproom.Probe) (mcproom.Result, error) {
	s, err := mcp.ParseServer(p.Server)
	if err != nil {
		return mcproom.Result{}, err
	}
	got, err := mcp.Probe(ctx, p.Name, s, p.Limit, p.Tool, p.Arguments)
	return mcproom.Result(got), err
}

// checkClientTool says what is wrong with a client's tool.
func checkClientTool(raw json.RawMessage) error {
	var s client.Spec
	if err := rest.Decode(raw, &s, "body", "client_tools"); err != nil {
		return err
	}
	if usableTool(s.Name) {
		return rest.Fail(http.StatusUnprocessableEntity,
			"Client tool name '"+s.Name+"' collides with an existing non-client tool. Choose a unique client tool name.")
	}
	return nil
}

func userSkillDirs(home, persistence string) []string { return skill.UserDirs(home, persistence) }

// lookup answers secrets whose URL is this server's own, so that it does not
// call itself.
func (h *house) lookup(ctx context.Context, url string) (string, bool) {
	name, ok := secret.LocalName(h.url, url)
	if !ok {
		return "", false
	}
	v, err := h.settings.Secret(ctx, name)
	if err != nil {
		h.log.Warn("a stored secret cannot be read", "secret", name, "err", err)
		return "", true
	}
	return string(v), true
}

func (h *house) storedSecret(ctx context.Context, name string) (string, error) {
	v, err := h.settings.Secret(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return string(v), err
}

// addWorktree makes a worktree for a conversation; where there is no repository
// it works in dir itself, as at the reference: the web page asks for a worktree
// wherever a conversation starts.
func (h *house) addWorktree(ctx context.Context, dir string, id event.ConversationID, o *conversation.WorktreeOptions) (root, work string, err error) {
	w := worktree.Options{
		Root: h.cfg.ConversationWorktreeRoot, Dir: dir, Name: string(id), Branch: "openhands/" + string(id),
	}
	if o != nil {
		w.Base = o.Base
		if o.Ref != nil {
			w.Ref = *o.Ref
		}
		if o.BranchPrefix != nil {
			w.Branch = *o.BranchPrefix + string(id)
		}
	}
	t, err := worktree.Add(ctx, w)
	if errors.Is(err, worktree.ErrNoRepository) {
		return "", dir, nil
	}
	return t.Root, t.Dir, err
}

func dropWorktree(ctx context.Context, root string) error { return worktree.Remove(ctx, root) }

// trajectory writes the files of a conversation as OpenHands lays them out.
func (h *house) trajectory(ctx context.Context, id string, add files.AddFile) error {
	cid, ok := event.ParseConversationID(id)
	if !ok {
		return fault.New(fault.NotFound, "Conversation not found: "+id)
	}
	dir, err := os.MkdirTemp("", "deft-trajectory-")
	if err != nil {
		return fault.Wrap(err, fault.Full, "make a directory for the trajectory")
	}
	defer os.RemoveAll(dir)
	path, err := openhands.Export(ctx, h.store, cid, dir)
	if err != nil {
		return err
	}
	return files.DirectoryTrajectory(func(context.Context, string) (string, error) { return path, nil })(ctx, id, add)
}
