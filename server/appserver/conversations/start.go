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
	"slices"
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
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// The types of agents that a conversation can be started with. A planning agent changes
// nothing but its plan.
const (
	agentDefault  = "default"
	agentPlanning = "plan"
)

// cells is the tool that runs cells of Python.
const cells = "ipython"

// withCells returns an agent with the tool that runs cells.
func withCells(a *spec.Agent) (*spec.Agent, error) {
	if slices.ContainsFunc(a.Tools, func(t spec.Tool) bool { return t.Name == cells }) {
		return a, nil
	}
	list, _ := a.Doc().Get("tools").([]any)
	return a.With("tools", append(slices.Clone(list), spec.NewTool(cells)))
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
	if !slices.Contains([]string{"", agentDefault, agentPlanning}, r.AgentType) {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("there is no agent type %q", r.AgentType))
	}
	if r.Branch != "" && !gitfetch.IsRef(r.Branch) {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("%q cannot be the name of a branch", r.Branch))
	}
	if err := checkRepository(r.Repository); err != nil {
		return store.Task{}, err
	}
	if err := CheckPlugins(r.Plugins); err != nil {
		return store.Task{}, err
	}
	r.Title = strings.TrimSpace(r.Title)
	if r.Replays = r.Recorded != nil; r.Replays {
		if err := controller.CheckReplay(r.Recorded); err != nil {
			return store.Task{}, err
		}
		r.Cells = slices.ContainsFunc(r.Recorded, func(ev event.Event) bool {
			a, ok := ev.(*event.ActionEvent)
			return ok && a.ToolName == cells
		})
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
	if err := s.checkDirectory(ctx, owner, &r.Start); err != nil {
		return store.Task{}, err
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

// checkRepository refuses addresses that are not cloned: by SSH, whose keys would be the server's,
// and with a password, which the task would show.
func checkRepository(repository string) error {
	if !gitfetch.IsURL(repository) {
		return nil
	}
	u, err := url.Parse(repository)
	switch {
	case err != nil || u.Scheme != "https":
		return fault.New(fault.Invalid, "only repositories at https:// URLs are cloned here, none by SSH or from files").
			Hint("name the repository by its https:// URL, and store a token in the settings of Git hosts")
	case u.User != nil:
		return fault.New(fault.Invalid, "the URL of a repository must have no user and no password").Hint("store a token in the settings of Git hosts")
	}
	return nil
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
	spec, err := s.o.Settings.Launch(ctx, owner, r.Model, r.AgentProfileID, strings.TrimSpace(r.Suffix))
	if err != nil {
		return err
	}
	if r.Cells {
		if spec.Agent, err = withCells(spec.Agent); err != nil {
			return err
		}
	}
	if r.MCP != nil {
		if spec.Agent, err = spec.Agent.With("mcp_config", r.MCP); err != nil {
			return err
		}
	}
	if err := addPlugins(ctx, r.Plugins, spec); err != nil {
		return err
	}
	if r.AgentType == agentPlanning {
		if spec.Agent, err = spec.Agent.Planning(); err != nil {
			return err
		}
		if r.MCP != nil || len(r.Plugins) > 0 {
			spec.Warnings = append(spec.Warnings, "an agent that plans has no MCP servers, and no agents and servers of plugins")
		}
	}
	if err := step(store.WaitingForSandbox); err != nil {
		return err
	}
	in, err := s.place(ctx, owner, run, t, r)
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
		if about := spec.Agent.Context; about != nil && about.LoadProjectSkills {
			found, warnings := s.o.Settings.Organisation(ctx, owner, r.Provider, r.Repository)
			spec.Organisation, spec.Warnings = found, append(spec.Warnings, warnings...)
		}
	} else if sandboxes.Local(in) {
		if r.Worktree {
			spec.Worktree = &session.WorktreeOptions{Base: worktree.Head}
		}
		spec.AskSetUp = true
	} else if err := worktree.Init(ctx, dir); err != nil { // it works without, but shows no changes
		s.o.Log.Warn("make the workspace a git repository", "dir", dir, "err", err)
	}
	spec.Repository = session.Repository{Name: r.Repository, Branch: r.Branch}
	if err := s.o.Store.SaveConversation(ctx, store.Conversation{
		ID: t.Conversation, Owner: t.Owner, Sandbox: in.ID, Repository: r.Repository, Branch: r.Branch, Provider: r.Provider,
		Trigger: r.Trigger, Model: r.Model, AgentType: cmp.Or(r.AgentType, agentDefault), Public: r.Public, PRNumbers: r.PRNumbers, Created: t.Created,
	}); err != nil {
		return err
	}
	spec.ID, spec.Title, spec.Workspace.WorkingDir = t.Conversation, r.Title, s.o.Sandboxes.Inside(in, dir)
	spec.Autotitle = r.Title == "" && !r.Replays // which asks no model
	if spec.Secrets == nil {
		spec.Secrets = map[string]json.RawMessage{}
	}
	maps.Copy(spec.Secrets, r.Secrets)
	if err := s.o.Sandboxes.Give(ctx, in, spec); err != nil {
		return err
	}
	if r.Confirm != "" {
		spec.Confirm(r.Confirm)
	}
	spec.Network = r.Network
	if r.MaxIterations != nil {
		spec.MaxIterations = *r.MaxIterations
	}
	if r.MaxCost != nil {
		spec.MaxCost = *r.MaxCost
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
	if r.Worktree {
		if err := s.settleWorktree(ctx, owner, in, c); err != nil {
			return err
		}
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
		if err := c.ProjectHooks().Review(ctx); err != nil {
			return err
		}
	}
	if err := step(store.StartingConversation); err != nil {
		return err
	}
	first := withParameters(r.InitialMessage, r.Plugins)
	if first == nil && !r.Replays {
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
	return c.Send(ctx, *first)
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
