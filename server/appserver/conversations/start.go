package conversations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/state"
)

// agentTypes are those that a conversation can be started with.
var agentTypes = map[string]string{
	"": "", "default": "",
	// A planning agent works in the same files: it must not change them.
	"plan": "You are the planning agent. Study the repository and the task, ask what is unclear, and write a plan into PLAN.md in the workspace. Do not change any other file.",
}

// limit bounds what an owner has at work.
func (s *Service) limit(owner identity.Tenant) store.RunLimit {
	return store.RunLimit{Most: s.o.MaxRuns, Running: func(ctx context.Context) ([]event.ConversationID, error) {
		page, err := s.Scope(owner).Infos(ctx, eventstream.ListQuery{Status: string(state.Running), Limit: s.o.MaxRuns, Damaged: s.damaged})
		ids := make([]event.ConversationID, len(page.Infos))
		for i := range page.Infos {
			ids[i] = page.Infos[i].ID
		}
		return ids, err
	}}
}

// Start records a task that starts a conversation, and returns while it is at work.
// What is wrong with the request itself is Invalid, or NotFound for a sandbox or parent
// that does not exist; [store.ErrTooManyRuns] refuses one too many.
func (s *Service) Start(ctx context.Context, owner identity.Tenant, asked StartRequest) (store.Task, error) {
	r := storedStart{StartRequest: asked}
	if _, ok := agentTypes[r.AgentType]; !ok {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("there is no agent type %q", r.AgentType))
	}
	if r.Branch != "" && !gitfetch.IsRef(r.Branch) {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("%q cannot be the name of a branch", r.Branch))
	}
	if u, err := url.Parse(r.Repository); err == nil && u.User != nil { // else its task would show it
		return store.Task{}, fault.New(fault.Invalid, "the URL of a repository must have no password").Hint("store a token in the settings of Git hosts")
	}
	r.Title = strings.TrimSpace(r.Title)
	if r.Replays = r.Recorded != nil; r.Replays {
		if err := controller.CheckReplay(r.Recorded); err != nil {
			return store.Task{}, err
		}
	}
	if err := s.o.Store.MayRun(ctx, string(owner), s.limit(owner)); err != nil { // before a sandbox is claimed
		return store.Task{}, err
	}
	id, named := event.NewConversationID(), r.ConversationID != ""
	if named {
		var ok bool
		if id, ok = event.ParseConversationID(r.ConversationID); !ok {
			return store.Task{}, fault.New(fault.Invalid, "conversation_id is no UUID")
		}
		if exists, err := s.o.Sessions.Exists(ctx, id); err != nil || exists {
			return store.Task{}, taken(err, id)
		}
	}
	r.ConversationID = id.Hex()
	if err := s.inherit(ctx, owner, &r.Start); err != nil {
		return store.Task{}, err
	}
	if r.Branch != "" && r.Repository == "" {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("the branch %q is of no repository", r.Branch)).Hint("name the repository, too")
	}
	if r.SandboxID != "" {
		if _, err := s.o.Sandboxes.Get(ctx, owner, r.SandboxID); err != nil {
			return store.Task{}, err
		}
	}
	if err := addCallbackIDs(&r); err != nil {
		return store.Task{}, err
	}
	strategy, err := s.strategy(ctx, owner)
	if err != nil {
		return store.Task{}, err
	}
	ready := func() {}
	if !named {
		id, ready = s.claim(&r, id, strategy)
	}
	t, err := s.record(ctx, owner, id, r, ready)
	if err != nil {
		s.unclaim(ctx, t)
		s.dropRecording(ctx, t)
		ready()
		return store.Task{}, err
	}
	return t, nil
}

// record adds the job of a request with the recording that it replays. ready is called when
// this server is through with the job.
func (s *Service) record(ctx context.Context, owner identity.Tenant, id event.ConversationID, r storedStart, ready func()) (store.Task, error) {
	t := store.Task{ID: event.NewConversationID().Hex(), Owner: string(owner), Conversation: id, Sandbox: r.SandboxID, Status: store.Working}
	var err error
	if t.Request, err = json.Marshal(r); err != nil {
		return t, err
	}
	if r.Replays {
		if err := s.o.Files.Put(ctx, startRecording(t.ID), encoded(r.Recorded)); err != nil {
			return t, err
		}
	}
	j, err := s.o.Jobs.Add(ctx, job.Request{
		ID: t.ID, Kind: store.StartKind, Owner: owner, Subject: id, Key: string(owner) + "/" + string(id),
		Args: t.Request, Progress: t.Progress(), Then: ready,
	}, func(ctx context.Context, j job.Job) error { return s.o.Store.AddRun(ctx, j, s.limit(owner)) })
	if errors.Is(err, job.ErrExists) {
		err = fault.New(fault.Conflict, "the conversation "+string(id)+" is being started")
	}
	t.Created, t.Updated = j.Created, j.Updated
	return t, err
}

func taken(err error, id event.ConversationID) error {
	if err == nil {
		err = fault.New(fault.Conflict, "the conversation "+string(id)+" exists")
	}
	return err
}

// inherit completes a request by what its parent has.
func (s *Service) inherit(ctx context.Context, owner identity.Tenant, r *Start) error {
	if r.ParentID == "" {
		return nil
	}
	id, ok := event.ParseConversationID(r.ParentID)
	if !ok {
		return fault.New(fault.Invalid, "parent_conversation_id is no UUID")
	}
	parent, err := s.One(ctx, owner, id)
	if err != nil {
		return err
	}
	row := parent.Conversation
	for to, from := range map[*string]string{&r.SandboxID: row.Sandbox, &r.Repository: row.Repository, &r.Branch: row.Branch, &r.Provider: row.Provider, &r.Model: row.Model} {
		if *to == "" {
			*to = from
		}
	}
	return nil
}

// work does what is left of a task. Each step can be done again.
func (s *Service) work(ctx context.Context, run *job.Run, t *store.Task) error {
	r, err := stored(*t)
	if err != nil {
		return err
	}
	owner := identity.Tenant(t.Owner)
	step := func(to store.TaskStatus) error {
		if ctx.Err() != nil {
			return errStopped
		}
		t.Status = to
		return save(ctx, run, t)
	}
	suffix := strings.TrimSpace(agentTypes[r.AgentType] + "\n\n" + r.Suffix)
	spec, err := s.o.Settings.Launch(ctx, owner, r.Model, r.AgentProfileID, suffix)
	if err != nil {
		return err
	}
	if r.MCP != nil {
		if spec.Agent, err = spec.Agent.With("mcp_config", r.MCP); err != nil {
			return err
		}
	}
	if err := step(store.WaitingForSandbox); err != nil {
		return err
	}
	in, err := s.place(ctx, owner, run, t, r.Warm)
	if err != nil {
		return err
	}
	dir, err := sandboxes.Directory(in, "")
	if err != nil {
		return err
	}
	if r.Repository != "" {
		if err := step(store.PreparingRepository); err != nil {
			return err
		}
		if dir, err = s.clone(ctx, owner, dir, t.ID, r.Start); err != nil {
			return err
		}
	} else if err := worktree.Init(ctx, dir); err != nil { // it works without, but shows no changes
		s.o.Log.Warn("make the workspace a git repository", "dir", dir, "err", err)
	}
	if err := s.o.Store.SaveConversation(ctx, store.Conversation{
		ID: t.Conversation, Owner: t.Owner, Sandbox: in.ID, Repository: r.Repository, Branch: r.Branch, Provider: r.Provider,
		Trigger: r.Trigger, Model: r.Model, AgentType: cmp.Or(r.AgentType, "default"), Public: r.Public, PRNumbers: r.PRNumbers, Created: t.Created,
	}); err != nil {
		return err
	}
	spec.ID, spec.Title, spec.Workspace.WorkingDir = t.Conversation, r.Title, s.o.Sandboxes.Inside(in, dir)
	spec.Autotitle = r.Title == "" && !r.Replays // which asks no model
	if spec.Secrets == nil {
		spec.Secrets = map[string]json.RawMessage{}
	}
	maps.Copy(spec.Secrets, r.Secrets)
	if r.Confirm != "" {
		spec.Confirm(r.Confirm)
	}
	if err := s.o.Callbacks.Add(ctx, callbacksOf(t, r)...); err != nil {
		return err
	}
	if r.ParentID != "" {
		spec.Parent, _ = event.ParseConversationID(r.ParentID) // checked
	}
	c, made, err := s.Scope(owner).Create(ctx, *spec)
	if err != nil {
		return err
	}
	if r.Repository != "" {
		inside, err := c.WorkspaceInside()
		if err == nil && inside {
			err = s.upload(ctx, c, dir)
		}
		if err != nil {
			return err
		}
		if err := s.setUp(ctx, c, t, step); err != nil {
			return err
		}
	}
	if err := step(store.StartingConversation); err != nil {
		return err
	}
	if r.InitialMessage == nil && !r.Replays {
		return nil
	}
	if !made { // an earlier server has made it, and may have sent the message or begun the replay
		st, err := c.State(ctx)
		if err != nil {
			return err
		}
		if st.LastUserMessage != "" {
			return nil
		}
	}
	if r.Replays {
		recorded, err := s.recording(ctx, startRecording(t.ID))
		if err != nil {
			return err
		}
		return s.beginRecorded(ctx, owner, c, recorded)
	}
	return c.Send(ctx, *r.InitialMessage)
}

// clone brings the repository of a request into a directory below dir, unless it is
// there already, and returns it. It is cloned beside its place and moved there: a server
// that is killed leaves no half of one.
func (s *Service) clone(ctx context.Context, owner identity.Tenant, dir, task string, r Start) (string, error) {
	from, err := s.o.Settings.Repository(ctx, owner, r.Provider, r.Repository)
	if err != nil {
		return "", err
	}
	from.Branch = r.Branch
	to, part := filepath.Join(dir, path.Base(gitfetch.RepositoryName(from.URL))), filepath.Join(dir, ".clone-"+task)
	switch there, err := os.ReadDir(to); {
	case err == nil && len(there) > 0: // another conversation of the sandbox works in it
		fi, err := os.Lstat(to)
		if err == nil && !fi.IsDir() {
			err = fault.New(fault.Invalid, to+" is not a directory")
		}
		return to, err
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fault.Wrap(err, fault.Invalid, "look for the repository")
	}
	if err := os.RemoveAll(part); err != nil {
		return "", fault.Wrap(err, fault.Denied, "remove what is left of a clone")
	}
	if _, err := gitfetch.Clone(ctx, part, from); err != nil {
		return "", err
	}
	if err := os.Rename(part, to); err != nil {
		return "", errors.Join(fault.Wrap(err, fault.Conflict, "put the repository into its place"), os.RemoveAll(part))
	}
	return to, nil
}
