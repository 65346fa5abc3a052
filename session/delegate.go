package session

import (
	"cmp"
	"context"
	"maps"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/state"
)

// Delegation is the work that a conversation has others do: children that a client starts, and
// sub-agents to which the agent gives tasks.
type Delegation struct{ c *Conversation }

// Delegation returns the delegation of the conversation.
func (c *Conversation) Delegation() Delegation { return Delegation{c} }

// ChildOptions ask for a conversation that works on a part of another's task
// (docs/openhands/sdk-wire-1.58.md section C.2).
type ChildOptions struct {
	ID       event.ConversationID // "" for a new one
	Task     string
	Title    string
	Worktree bool    // in a worktree of its own, where there is a repository
	MaxCost  float64 // its limit; 0 for this one's
}

// Start makes a conversation with the agent, the secrets and the tags of
// this one and a history of its own, and starts it. It does not wait for it.
func (g Delegation) Start(ctx context.Context, o ChildOptions) (*Conversation, error) {
	m := g.c.m
	if m.full() {
		return nil, ErrCapacity
	}
	child, err := g.newChild(cmp.Or(o.ID, event.NewConversationID()), o.Title)
	if err != nil {
		return nil, err
	}
	if o.MaxCost > 0 {
		child.rec.MaxCost = o.MaxCost
	}
	if o.Worktree {
		if inside, err := g.c.WorkspaceInside(); err != nil || inside {
			return nil, cmp.Or(err, errNoWorktree)
		}
		root, work, err := m.o.Files.AddWorktree(ctx, g.c.Workspace(), child.id, nil)
		if err != nil {
			return nil, err
		}
		child.rec.Worktree, child.rec.Workspace.WorkingDir = root, work
		if root != "" {
			if child.rec.Directory, err = workspacedir.Identify(work); err != nil {
				return nil, err
			}
		}
	}
	if err := g.store(ctx, child); err != nil {
		return nil, err
	}
	return child, g.send(ctx, child, Message{
		Role: event.RoleUser, Content: []event.Content{event.Text(o.Task)}, Run: true,
	})
}

// newChild makes a conversation in memory with the agent, the secrets and the tags of this
// one, which works in the same directory.
func (g Delegation) newChild(id event.ConversationID, title string) (*Conversation, error) {
	g.c.mu.Lock()
	child := newConversation(g.c.m, id)
	child.rec, child.agent = g.c.rec, g.c.agent
	child.meta = eventstream.Meta{Owner: g.c.meta.Owner, Title: title, Tags: maps.Clone(g.c.meta.Tags), Parent: g.c.id}
	g.c.mu.Unlock()
	child.rec.Children, child.rec.ForkedAt, child.rec.Worktree, child.rec.SubAgent, child.rec.SetUp, child.rec.AskSetUp, child.rec.Given = nil, "", "", "", false, false, 0
	return child, child.openSecrets(child.rec.Secrets)
}

// store stores a child.
func (g Delegation) store(ctx context.Context, child *Conversation) error {
	if admit := g.c.m.o.AdmitChild; admit != nil {
		if err := admit(ctx, g.c.id, child.id); err != nil {
			return err
		}
	}
	child.meta.WorkingDir = child.rec.Workspace.WorkingDir
	e := g.c.m.hold(child.id)
	if err := child.storeNew(ctx); err != nil {
		g.c.m.release(child.id, e, nil)
		return err
	}
	g.c.m.release(child.id, e, child)
	child.use.touch()
	return nil
}

// send notes a child in its parent, and sends it a message meanwhile: the child need not wait
// until the note is on disk.
func (g Delegation) send(ctx context.Context, child *Conversation, m Message) error {
	noted := make(chan error, 1)
	go func() { noted <- g.c.addChild(ctx, child.id) }()
	err := child.Send(ctx, m)
	return cmp.Or(err, <-noted)
}

// Wait is [Conversation.Wait], and returns also when a sub-agent, asking, waits for a
// confirmation; the conversation is still running then. It is for one caller at a time.
func (g Delegation) Wait(ctx context.Context) (asking *Conversation, err error) {
	w := g.c.active.Load()
	if w == nil {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- w.Wait(ctx) }()
	defer func() {
		cancel()
		<-over
	}()
	for {
		asking, asks := w.tasks.nextAsking()
		if asking != nil {
			return asking, nil
		}
		select {
		case err := <-over:
			over <- err
			return nil, err
		case <-asks:
		}
	}
}

// answerStopped records the interruption of tasks in a paused conversation that gets a
// message: the agent decides whether they continue.
func (g Delegation) answerStopped(ctx context.Context, w *worker) error {
	if w.Busy() || w.Latest().Status != state.Paused {
		return nil
	}
	var evs []event.Event
	for _, a := range pendingTasks(w.Latest()) {
		if flow, ok := a.Action.(*event.WorkflowAction); ok {
			o := failedWorkflow(flow, "The user has interrupted the workflow and written to you. Its sub-agents have stopped.")
			evs = append(evs, &event.ObservationEvent{
				Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID, ActionID: a.ID, Observation: o,
			})
			continue
		}
		o := &event.TaskObservation{TaskID: noTask, Status: taskInterrupted}
		o.Subagent = a.Action.(*event.TaskAction).SubagentType
		text := "The user has interrupted this before the sub-agent began."
		if child := w.tasks.begun(ctx, a); child != nil {
			o.TaskID, o.Subagent = string(child.id), child.SubAgent()
			text = "The user has interrupted the sub-agent and written to you. It can go on: give its task_id as resume, with a prompt."
		}
		o.Content = event.Texts(text)
		evs = append(evs, &event.ObservationEvent{
			Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID, ActionID: a.ID, Observation: o,
		})
	}
	if len(evs) == 0 {
		return nil
	}
	return w.Record(ctx, evs...)
}

// stoppedSince reports whether the user has stopped the conversation since an event.
func (g Delegation) stoppedSince(ctx context.Context, id event.ID) (bool, error) {
	given, err := g.c.m.o.Store.Get(ctx, g.c.id, id)
	if err != nil {
		return false, err
	}
	stop, err := latest(ctx, g.c, (&event.PauseEvent{}).Kind(), (&event.InterruptEvent{}).Kind())
	return err == nil && stop.Seq > given.Seq, err
}
