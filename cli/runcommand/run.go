// Package runcommand implements `deft run`: it continues one conversation of
// package session in the foreground, shows it in the terminal, asks the user where
// actions wait for confirmation, and stops on Ctrl-C.
//
// # Usage
//
//	view := runcommand.NewView(runcommand.ViewOptions{…})
//	m, err := session.Open(session.Options{Models: view.Watch(models), …})
//	err = runcommand.Run(ctx, runcommand.Options{Sessions: m, View: view, …})
//
// # Concurrency
//
// One Run at a time uses a View and catches the signals of the process.
//
// # Failure
//
// A run that ends in another way than it should is an [Exit], of which the user
// has been told already. Other errors have the kinds of package fault.
package runcommand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Options configure a run. Sessions, View, ID and Spec are required.
type Options struct {
	Sessions *session.Manager
	View     *View
	// ID is the conversation's: of a new one, or of a stored one for Resume.
	ID     event.ConversationID
	Resume bool
	// Spec returns the specification of a new conversation, or of an imported one.
	Spec func() (session.Spec, error)
	// Change returns the changes of a stored conversation; nil for none.
	Change func(*session.Conversation) (session.Changes, error)
	// Task is sent; its zero value to continue without one.
	Task Task
	// Replay is a trajectory that is run again before the task; nil for none.
	Replay []event.Event
	// ReplayFrom is the directory in which the trajectory was recorded;
	// [controller.RecordedWorkspace] gives it if it is empty. Its paths are replaced by paths
	// of the conversation's workspace.
	ReplayFrom string
	// Confirm says which actions wait for the user. If it is empty, a new conversation has
	// [security.Never], and a stored one keeps its policy.
	Confirm security.Preset
	// Analyzer rates actions in the place of Confirm's; nil for Confirm's.
	Analyzer json.RawMessage
	// Prompter asks the user; nil where there is no terminal.
	Prompter Prompter
	// Secrets are added to a stored conversation's; see [session.Spec].
	Secrets map[string]json.RawMessage
	// Grace is how long the sandbox of a run that can go on stays; 0 ends it.
	Grace time.Duration
	// KeepPrograms is how long programs that still run at the end stay, with the sandbox; 0 ends
	// them.
	KeepPrograms time.Duration
	// Done is called at the end of the run, with its summary; nil for nothing.
	Done func(context.Context) error
}

// runner is one run.
type runner struct {
	Options
	view *View
	c    *session.Conversation
	// base waits for the commit that changes are counted from.
	base func() string

	mu        sync.Mutex
	stopping  bool // no run is to begin any more
	signalled bool // the user has asked to stop
	running   bool // there is a run that can be paused
	// unanswered says that the agent has asked something, and nobody could be asked.
	unanswered bool
	endPrompt  func()

	// always are the kinds that the user accepts in this run. One goroutine at a time asks.
	always confirmation.Grants
}

// Run works on a conversation until it ends, is stopped, or the user refuses to
// go on. See the package comment for its errors.
func Run(ctx context.Context, o Options) error {
	r := &runner{Options: o, view: o.View, endPrompt: func() {}, base: func() string { return "" }}
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.work(ctx)
}

// open makes or loads the conversation and starts its sandbox.
func (r *runner) open(ctx context.Context) error {
	err := r.find(ctx)
	if err == nil {
		err = r.warnOfOthers(ctx)
	}
	if err == nil {
		r.base = r.startHead(ctx)
		_, err = r.c.State(ctx) // from here on it is locked
	}
	if err == nil && !r.Resume {
		err = r.c.SetUp(ctx)
	}
	if err == nil {
		err = r.configure(ctx)
	}
	if errors.Is(err, session.ErrLocked) {
		r.base()
		return Held(ctx, r.Sessions.Store(), r.ID)
	}
	if err != nil {
		r.base()
		return errors.Join(err, r.Sessions.Evict(ctx, r.ID, false))
	}
	return nil
}

// discard deletes a new conversation whose first message was refused: there is nothing to go on with.
func (r *runner) discard(ctx context.Context) error {
	left, err := r.Sessions.Delete(context.WithoutCancel(ctx), r.ID)
	if left != nil {
		r.warnOfRemains(left)
	}
	return err
}

// Held is the error of a conversation that another process has locked.
func Held(ctx context.Context, s eventstream.Stream, id event.ConversationID) error {
	text := "the conversation " + string(id)
	if info, err := s.Info(ctx, id); err == nil && info.Status != string(state.Running) && info.Status != "" {
		return fault.New(fault.Conflict, text+" is open in another process, as in an agent server; its status is "+info.Status).
			Hint("close that process; a server closes a conversation by itself some minutes after its last use")
	}
	return fault.New(fault.Conflict, text+" is running in another process").Hint("wait for it, or stop it there")
}

// find sets r.c.
func (r *runner) find(ctx context.Context) error {
	if !r.Resume {
		s, err := r.Spec()
		if err != nil {
			return err
		}
		s.ID = r.ID
		if r.c, _, err = r.Sessions.Create(ctx, s); err != nil {
			return fmt.Errorf("create the conversation: %w", err)
		}
		return nil
	}
	c, err := r.Sessions.Get(ctx, r.ID)
	switch {
	case fault.Is(err, fault.Unsupported):
		return r.setUp(ctx, err)
	case err != nil:
		return err
	}
	r.c = c
	if r.Change == nil {
		return nil
	}
	changes, err := r.Change(c)
	if err != nil {
		return err
	}
	before := c.Agent().LLM.Model
	if err := c.Change(ctx, changes); err != nil {
		return err
	}
	if after := c.Agent().LLM.Model; after != before {
		r.view.note("the model is " + safeText(after) + " from now on")
	}
	return nil
}

// setUp gives an agent to an imported conversation. why is the error of Get.
func (r *runner) setUp(ctx context.Context, why error) error {
	s, err := r.Spec()
	if err != nil {
		return err
	}
	r.c, err = r.Sessions.SetUp(ctx, r.ID, s)
	if fault.Is(err, fault.Conflict) && !errors.Is(err, session.ErrLocked) {
		return why // it has an agent of a kind that cannot run
	}
	return err
}

// configure applies settings that are events.
func (r *runner) configure(ctx context.Context) error {
	s, err := r.c.State(ctx)
	if err != nil {
		return err
	}
	r.view.warnings(&event.ConversationStateUpdateEvent{Key: "warnings", Value: s.Fields["warnings"]})
	if r.Replay == nil && r.Task.Text == "" && !hasTask(s.View) {
		return fault.New(fault.Invalid, "conversation "+string(r.ID)+" has no task yet").
			Hint("give one: " + r.view.resumeCommand(r.ID) + ` "…"`)
	}
	if !r.Resume {
		return nil
	}
	if len(r.Secrets) > 0 {
		if err := r.c.SetSecrets(ctx, r.Secrets); err != nil {
			return err
		}
	}
	if r.Confirm == "" {
		return nil
	}
	if err := r.c.Confirmation().SetPreset(ctx, r.Confirm); err != nil || r.Analyzer == nil {
		return err
	}
	return r.c.Confirmation().SetAnalyzer(ctx, r.Analyzer)
}

// hasTask reports whether a user has said anything in these events.
func hasTask(events []event.Event) bool {
	return slices.ContainsFunc(events, func(ev event.Event) bool {
		m, ok := ev.(*event.MessageEvent)
		return ok && m.Source == event.SourceUser
	})
}

// work runs the conversation to its end and reports.
func (r *runner) work(ctx context.Context) error {
	began := time.Now()
	s, err := r.c.State(ctx)
	if err != nil {
		return err
	}
	r.view.recall(s)
	r.view.shown = eventstream.Seq(s.Seq)
	runCtx, leave := context.WithCancel(ctx)
	defer leave()
	unwatch := r.c.Watch(r.view.transient)
	endAgents := r.view.agents.begin(ctx)
	stopSignals := r.catchSignals(runCtx, leave)
	stopShowing := r.show(ctx, eventstream.Seq(s.Seq)+1)
	base := r.base()
	err = r.drive(runCtx)
	s, serr := r.c.State(ctx)
	if err = errors.Join(err, serr); serr == nil {
		err = errors.Join(err, stopShowing(eventstream.Seq(s.Seq)))
	}
	endAgents()
	stat := ""
	if err == nil && (acted(s) || !r.told()) { // else the sandbox may not even be there
		over := r.view.slow("the list of the changed files")
		stat = r.diffstat(ctx, base, began)
		over()
	}
	if runCtx.Err() == nil { // else it is closed with the sessions, while it runs
		stays := !r.through(s)
		if err == nil {
			over := r.view.slow("the list of the programs that still run")
			l := r.leftRunning(ctx, s)
			over()
			keep := r.Grace
			if !stays {
				keep = r.keepLeft(ctx, l)
			}
			stays = stays || keep > 0
			r.tellLeft(l, keep)
		}
		if cerr := r.Sessions.Evict(ctx, r.ID, stays); err == nil && cerr != nil {
			r.warnOfRemains(cerr) // the request is done
		} else {
			err = errors.Join(err, cerr)
		}
		unwatch()
	}
	stopSignals()
	if err != nil {
		if _, refused := errors.AsType[*session.MessageError](err); refused && !r.Resume && r.Replay == nil && s != nil && !hasTask(s.View) {
			return errors.Join(err, r.discard(ctx))
		}
		return r.failed(err)
	}
	r.view.summary(r.ID, s, time.Since(began), stat)
	if r.Done != nil {
		if err := r.Done(ctx); err != nil {
			return err
		}
	}
	if err := r.view.exit(s.Status); err != nil {
		return err
	}
	if r.unanswered {
		r.view.Warn("the agent waits for an answer: " + r.view.resumeCommand(r.ID) + ` "…"`)
		return Exit(fault.ExitQuestion)
	}
	return r.replayed()
}

// warnOfRemains tells the user that the sandbox could not be ended.
func (r *runner) warnOfRemains(err error) {
	text := "warning: the sandbox may be left behind: " + safeText(err.Error())
	if hint := fault.HintOf(err); hint != "" {
		text += "\n  → " + hint
	}
	r.view.Warn(text)
}

// through reports whether nothing in the sandbox is worth keeping for a resume.
func (r *runner) through(s *state.State) bool {
	if s == nil {
		return false
	}
	return s.Status == state.Finished || r.Grace <= 0 || s.Status == state.Errored && !acted(s)
}

// acted reports whether the agent has done anything.
func acted(s *state.State) bool {
	return slices.ContainsFunc(s.View, func(ev event.Event) bool {
		_, ok := ev.(*event.ActionEvent)
		return ok
	})
}

// failed says how to go on after an error that is not part of the
// conversation.
func (r *runner) failed(err error) error {
	kind, msg := fault.KindOf(err), "conversation "+string(r.ID)
	if errors.Is(err, context.Canceled) {
		kind, err = fault.Interrupted, errors.New("left before its end")
	}
	next := "to go on: " + r.view.resumeCommand(r.ID)
	if hint := fault.HintOf(err); hint != "" {
		next = hint + "; " + next
	}
	return fault.New(kind, msg).Because(err).Hint(next)
}

// show follows the stream until it is stopped with the last event that is to be
// shown.
func (r *runner) show(ctx context.Context, from eventstream.Seq) (stop func(last eventstream.Seq) error) {
	ctx, cancel := context.WithCancel(ctx)
	store := r.Sessions.Store()
	var wg sync.WaitGroup
	var failed error
	upTo := make(chan eventstream.Seq, 1)
	wg.Go(func() {
		next := from
		live := store.Follow(ctx, r.ID, from)
		if !r.view.live() { // facts for the end are read at the end
			live = func(func(eventstream.Record, error) bool) {}
		}
		for rec, err := range live {
			if err != nil {
				if ctx.Err() == nil {
					failed = err
				}
				break
			}
			r.view.record(rec)
			next = rec.Seq + 1
		}
		last := <-upTo
		for rec, err := range store.Read(context.WithoutCancel(ctx), r.ID, next) {
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			if rec.Seq > last {
				return
			}
			r.view.record(rec)
		}
	})
	return func(last eventstream.Seq) error {
		upTo <- last
		cancel()
		wg.Wait()
		return failed
	}
}
