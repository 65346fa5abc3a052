package conversations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// StartRequest says what conversation to start (the contract's
// AppConversationStartRequest). Fields that are empty are chosen here.
type StartRequest struct {
	SandboxID      string           `json:"sandbox_id,omitempty"`
	ConversationID string           `json:"conversation_id,omitempty"`
	InitialMessage *session.Message `json:"initial_message,omitempty"`
	Suffix         string           `json:"system_message_suffix,omitempty"`
	Model          string           `json:"llm_model,omitempty"`
	AgentProfileID string           `json:"agent_profile_id,omitempty"`
	Repository     string           `json:"selected_repository,omitempty"`
	Branch         string           `json:"selected_branch,omitempty"`
	Provider       string           `json:"git_provider,omitempty"`
	Title          string           `json:"title,omitempty"`
	Trigger        string           `json:"trigger,omitempty"`
	PRNumbers      []int            `json:"pr_number,omitempty"`
	ParentID       string           `json:"parent_conversation_id,omitempty"`
	AgentType      string           `json:"agent_type,omitempty"`
	Public         bool             `json:"public,omitempty"`
	// Confirm says which actions wait for the user; "" leaves it to the settings.
	Confirm security.Preset            `json:"confirm,omitempty"`
	Secrets map[string]json.RawMessage `json:"secrets,omitempty"`
	// Processors are those of event callbacks (package callback), and CallbackIDs the ids of
	// the callbacks, which Start makes.
	Processors  []json.RawMessage      `json:"processors,omitempty"`
	CallbackIDs []event.ConversationID `json:"callback_ids,omitempty"`
	// MCP are MCP servers by name (spec.MCPServers), in the place of those of the settings;
	// nil leaves it to these.
	MCP *schema.Map `json:"mcp_config,omitempty"`
	// Recorded is replayed in the conversation instead of asking a model, until it is through;
	// nil for nothing. There is no InitialMessage with it.
	Recorded []event.Event `json:"-"`
	// Replays says that a file has what was Recorded. Start decides it.
	Replays bool `json:"replays,omitempty"`
	// Warm says that the conversation has claimed the sandbox of its id. Start decides it.
	Warm bool `json:"warm,omitempty"`
}

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
func (s *Service) Start(ctx context.Context, owner identity.Tenant, r StartRequest) (store.Task, error) {
	if _, ok := agentTypes[r.AgentType]; !ok {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("there is no agent type %q", r.AgentType))
	}
	if r.Branch != "" && !gitfetch.IsRef(r.Branch) {
		return store.Task{}, fault.New(fault.Invalid, fmt.Sprintf("%q cannot be the name of a branch", r.Branch))
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
	if err := s.inherit(ctx, owner, &r); err != nil {
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
	if r.Warm = false; !named {
		id, ready = s.claim(&r, id, strategy)
	}
	t, release, err := s.record(ctx, owner, id, r)
	if err != nil {
		s.unclaim(ctx, t)
		s.dropRecording(ctx, t)
		ready()
		return store.Task{}, err
	}
	s.begin(t, func() {
		release()
		ready()
	})
	return t, nil
}

// record stores the task of a request with what it replays, and locks it for this server.
func (s *Service) record(ctx context.Context, owner identity.Tenant, id event.ConversationID, r StartRequest) (t store.Task, release func(), err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return t, nil, err
	}
	t = store.Task{
		ID: event.NewConversationID().Hex(), Owner: string(owner), Conversation: id, Sandbox: r.SandboxID,
		Status: store.Working, Request: raw, Created: now(),
	}
	t.Updated = t.Created
	if r.Replays {
		if err := s.o.Files.Put(ctx, startRecording(t.ID), encoded(r.Recorded)); err != nil {
			return t, nil, err
		}
	}
	if release, err = s.lock(ctx, t.ID); err != nil {
		return t, nil, err
	}
	if err := s.o.Store.AddTask(ctx, t, s.limit(owner)); err != nil {
		release()
		return t, nil, err
	}
	return t, release, nil
}

func taken(err error, id event.ConversationID) error {
	if err == nil {
		err = fault.New(fault.Conflict, "the conversation "+string(id)+" exists")
	}
	return err
}

// inherit completes a request by what its parent has.
func (s *Service) inherit(ctx context.Context, owner identity.Tenant, r *StartRequest) error {
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

// lock makes this server the only one that works on a task.
func (s *Service) lock(ctx context.Context, task string) (release func(), err error) {
	id, ok := event.ParseConversationID(task)
	if !ok {
		return nil, fault.New(fault.Corrupt, fmt.Sprintf("the start task %q has no UUID", task))
	}
	return s.o.Lock.Acquire(ctx, id)
}

// ResumeTasks goes on with the tasks, and the replays, that were at work when a server ended.
func (s *Service) ResumeTasks(ctx context.Context) error {
	replays, err := s.o.Store.Replays(ctx)
	if err != nil {
		return err
	}
	for _, r := range replays {
		s.beginReplay(r)
	}
	all, err := s.o.Store.UnfinishedTasks(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := s.resume(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// resume goes on with a task unless it has ended, or another server works on it.
func (s *Service) resume(ctx context.Context, id string) error {
	release, err := s.lock(ctx, id)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := s.o.Store.UnfinishedTask(ctx, id)
	if err != nil {
		release()
		if fault.Is(err, fault.NotFound) {
			err = nil
		}
		return err
	}
	s.begin(t, release)
	return nil
}

// Orphaned implements [session.Others]: it goes on with a task, or with a replay, of a server
// that has ended.
func (s *Service) Orphaned(id event.ConversationID) bool {
	_, err := s.o.Store.UnfinishedTask(s.ctx, id.Hex())
	if fault.Is(err, fault.NotFound) {
		return s.resumeReplay(id)
	}
	if err == nil {
		err = s.resume(s.ctx, id.Hex())
	}
	if err != nil && s.ctx.Err() == nil {
		s.o.Log.Warn("cannot continue a start task of a server that has ended", "task", id, "err", err)
	}
	return true
}

// Lost implements [session.Others]: it leaves a task to the server that takes it over.
func (s *Service) Lost(id event.ConversationID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.atWork[id.Hex()]
	if ok {
		w.cancel()
	}
	return ok
}

// begin works on a task in the background. It releases the lock of the task at the end.
func (s *Service) begin(t store.Task, release func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.atWork[t.ID] = &atWork{states: []store.Task{t}, changed: make(chan struct{}), cancel: cancel}
	s.mu.Unlock()
	s.working.Go(func() {
		defer release()
		defer cancel()
		err := s.workUntilFree(ctx, &t)
		for err == nil {
			var done bool
			if done, err = s.finish(ctx, &t); done {
				s.dropRecording(ctx, t)
				break
			}
		}
		if err != nil && ctx.Err() == nil {
			t.FailedAt, t.Status, t.Detail = t.Status, store.Failed, detail(err)
			s.o.Log.Warn("a conversation could not be started", "task", t.ID, "err", err)
			s.unclaim(ctx, t)
			s.leaveSandbox(ctx, &t)
			s.dropRecording(ctx, t)
			if err := s.save(context.WithoutCancel(ctx), &t); err != nil {
				s.o.Log.Error("the state of a start task is lost", "task", t.ID, "err", err)
			}
		}
		s.mu.Lock()
		w := s.atWork[t.ID]
		w.states = append(w.states, t)
		delete(s.atWork, t.ID)
		close(w.changed)
		s.mu.Unlock()
	})
}

// A conversation whose server has ended is held for a moment by whoever notices it.
const (
	heldTries = 20
	heldPause = 250 * time.Millisecond
)

// workUntilFree is work, again while somebody else holds the conversation.
func (s *Service) workUntilFree(ctx context.Context, t *store.Task) error {
	for tries := 1; ; tries++ {
		err := s.work(ctx, t)
		if !fault.Is(err, fault.Conflict) || tries == heldTries {
			return err
		}
		timer := time.NewTimer(heldPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// detail is what the user of a task reads about an error.
func detail(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// finish sends the messages that have come meanwhile, and marks the task as ready if
// there is none.
func (s *Service) finish(ctx context.Context, t *store.Task) (done bool, err error) {
	ready := *t
	ready.Status, ready.Updated = store.Ready, now()
	done, waiting, err := s.o.Store.FinishTask(ctx, ready)
	if done {
		*t = ready
		return true, nil
	}
	for _, m := range waiting {
		var msg session.Message
		if err := json.Unmarshal(m.Content, &msg); err != nil {
			return false, fault.Wrap(err, fault.Corrupt, "read a pending message")
		}
		id, ok := event.ParseConversationID(m.ID)
		if !ok {
			return false, fault.New(fault.Corrupt, "the id of a pending message cannot be read")
		}
		msg.ID = event.ID(id) // an earlier process may have sent it and not deleted it
		c, err := s.Continue(ctx, identity.Tenant(t.Owner), t.Conversation)
		if err == nil {
			err = c.Send(ctx, msg)
		}
		if err == nil {
			err = s.o.Store.DeletePendingMessage(ctx, m.ID)
		}
		if err != nil {
			return false, err
		}
	}
	return false, err
}

// save stores how far a task is, and wakes those that wait for it.
func (s *Service) save(ctx context.Context, t *store.Task) error {
	t.Updated = now()
	err := s.o.Store.SaveTask(ctx, *t)
	s.changed(t)
	return err
}

// changed wakes those that follow a task.
func (s *Service) changed(t *store.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.atWork[t.ID]; ok {
		w.states = append(w.states, *t)
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// Follow calls f with a task and with each of its later states, until it has ended, f
// returns an error, or ctx ends.
func (s *Service) Follow(ctx context.Context, owner identity.Tenant, id string, f func(store.Task) error) error {
	// Before the store is read: a task that ends in between is then read as it ended.
	s.mu.Lock()
	w := s.atWork[id]
	s.mu.Unlock()
	t, err := s.o.Store.Task(ctx, string(owner), id)
	if err != nil {
		return err
	}
	if w == nil { // it has ended, or another server works on it
		return f(t)
	}
	last := store.TaskStatus("")
	for next := 0; ; {
		s.mu.Lock()
		states, changed := w.states[next:], w.changed
		working := s.atWork[id] == w
		s.mu.Unlock()
		next += len(states)
		for _, t := range states {
			if t.Status == last {
				continue
			}
			last = t.Status
			if err := f(t); err != nil {
				return err
			}
		}
		if last.Ended() || !working {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait returns a task when it has ended.
func (s *Service) Wait(ctx context.Context, owner identity.Tenant, id string) (t store.Task, err error) {
	err = s.Follow(ctx, owner, id, func(now store.Task) error { t = now; return nil })
	return t, err
}

// Tasks returns start tasks of an owner by their ids, nil for those that do not exist.
func (s *Service) Tasks(ctx context.Context, owner identity.Tenant, ids ...string) ([]*store.Task, error) {
	out := make([]*store.Task, len(ids))
	for i, id := range ids {
		t, err := s.o.Store.Task(ctx, string(owner), id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i] = &t
	}
	return out, nil
}

// SearchTasks returns one page of start tasks.
func (s *Service) SearchTasks(ctx context.Context, q store.TaskQuery) ([]store.Task, string, error) {
	return s.o.Store.Tasks(ctx, q)
}

// CountTasks returns how many start tasks a query selects.
func (s *Service) CountTasks(ctx context.Context, q store.TaskQuery) (int, error) {
	return s.o.Store.CountTasks(ctx, q)
}

// AddPending stores a message for a conversation whose start task is at work, to be
// sent when it is ready, and returns its id and place. It is sent at once if the task
// has ended; then place is 0.
func (s *Service) AddPending(ctx context.Context, owner identity.Tenant, id string, m session.Message) (message string, place int, err error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return "", 0, err
	}
	task, conversation, err := s.taskOf(ctx, owner, id)
	if err == nil && task != "" {
		err = s.mayWait(ctx, owner, task)
	}
	if err != nil {
		return "", 0, err
	}
	message = event.NewConversationID().Hex()
	if task != "" {
		waiting, ended, err := s.o.Store.AddPendingMessage(ctx, store.PendingMessage{ID: message, Owner: string(owner), Task: task, Content: raw, Created: now()})
		if err != nil || !ended {
			return message, waiting, err
		}
	}
	c, err := s.Continue(ctx, owner, conversation)
	if err == nil {
		err = c.Send(ctx, m)
	}
	return message, 0, err
}

// mayWait refuses a message for a conversation that is going to replay, as one that does.
func (s *Service) mayWait(ctx context.Context, owner identity.Tenant, task string) error {
	t, err := s.o.Store.Task(ctx, string(owner), task)
	if err != nil || t.Status.Ended() {
		return err
	}
	var r StartRequest
	if err := json.Unmarshal(t.Request, &r); err != nil {
		return fault.Wrap(err, fault.Corrupt, "read the request of a start task")
	}
	if r.Replays {
		return session.ErrReplays
	}
	return nil
}

// taskOf returns the start task that makes a conversation; id is the task's, as
// "task-…", or the conversation's.
func (s *Service) taskOf(ctx context.Context, owner identity.Tenant, id string) (task string, made event.ConversationID, err error) {
	if hex, ok := strings.CutPrefix(id, "task-"); ok {
		t, err := s.o.Store.Task(ctx, string(owner), strings.ReplaceAll(hex, "-", ""))
		return t.ID, t.Conversation, err
	}
	conversation, ok := event.ParseConversationID(id)
	if !ok {
		return "", "", fault.New(fault.NotFound, "there is no conversation "+id)
	}
	all, _, err := s.o.Store.Tasks(ctx, store.TaskQuery{Owner: string(owner), Conversation: conversation, Limit: 1})
	if err != nil || len(all) == 0 {
		return "", conversation, err
	}
	return all[0].ID, conversation, nil
}

// work does what is left of a task. Each step can be done again.
func (s *Service) work(ctx context.Context, t *store.Task) error {
	var r StartRequest
	if err := json.Unmarshal(t.Request, &r); err != nil {
		return fault.Wrap(err, fault.Corrupt, "read the request of a start task")
	}
	owner := identity.Tenant(t.Owner)
	step := func(to store.TaskStatus) error {
		if ctx.Err() != nil {
			return errStopped
		}
		t.Status = to
		return s.save(ctx, t)
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
	in, err := s.place(ctx, owner, t, r.Warm)
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
		if dir, err = s.clone(ctx, owner, dir, t.ID, r); err != nil {
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
func (s *Service) clone(ctx context.Context, owner identity.Tenant, dir, task string, r StartRequest) (string, error) {
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
