// Package executor runs actions: it hands each [tool.Request] to the tool that is
// registered for the action's kind, at most once for each id, and keeps the
// result in a [Journal] until the controller has stored it.
//
// # Usage
//
//	j, err := executor.OpenJournal(file) // or executor.InMemoryRepeatable()
//	x := executor.New(map[string]tool.Executor{"TerminalAction": terminal}, j)
//	obs, err := x.Execute(ctx, tool.Request{Call: tool.Call{ID: ev.ID, Action: ev.Action}})
//	x.Ack(ev.ID) // the observation is durable elsewhere
//	err = x.Close(ctx)
//
// Another module extends it without a fork: it adds its [tool.Executor] to the
// map under the kind of its actions.
//
// # Exactly once
//
// A "started" record is in the journal before the tool runs, and a "finished"
// record with the result before any caller is answered. Asked again with the
// same id, Execute joins the running action or returns the recorded result. An
// action that an earlier process started and did not finish always gives
// fault.Interrupted, and never runs again.
//
// A plain write survives kill -9 of the process, so both records are one
// write each and the disk is synced in the background. Only a crash of the
// machine can lose the end of the journal; [Journal] says how that is detected.
//
// # Secrets
//
// The journal holds ids and results, no actions. In a result every secret that any
// call brought is masked before it is recorded (see package secret); output that
// is passed on while a tool runs is not.
//
// # Concurrency
//
// An Executor is safe for concurrent use. The goroutine that runs a tool
// belongs to the Executor: the action goes on when its caller stops waiting, and
// Close waits for all of them. Tools are called concurrently; the caller decides
// which actions may overlap.
//
// # Failure
//
// An error or a panic of a tool is recorded as the action's result like any
// other and is the same again on a repeat. Kinds of its own: fault.Interrupted
// (began, effect unknown), fault.Unsupported (no tool for the kind),
// fault.Invalid (bad id or action), fault.Canceled (the caller's context
// ended), fault.Unavailable (closed), fault.Full and fault.Corrupt (journal).
package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/tool"
)

// MaxIDLength is how many bytes an id may have.
const MaxIDLength = 128

// errInterrupted is the cancellation cause that a tool sees after Interrupt.
var errInterrupted = errors.New("interrupted by the user")

// Executor dispatches actions to tools. Make one with [New].
type Executor struct {
	tools   map[string]tool.Executor
	journal *Journal
	// given knows the secrets to mask: a shell keeps the secrets of earlier calls.
	given *secret.Registry

	mu      sync.Mutex // held while an id changes its state; taken before the journal's
	running map[event.ID]*run
	closed  bool
	runs    sync.WaitGroup
}

// New returns an Executor over tools, keyed by the kind of action that they
// run. It owns the tools and the journal from now on: Close closes them.
func New(tools map[string]tool.Executor, journal *Journal) *Executor {
	return &Executor{
		tools: maps.Clone(tools), journal: journal, given: secret.NewRegistry(secret.Options{}), running: map[event.ID]*run{},
	}
}

// Mask names further values that must not be in the journal, such as the values in the
// environment of commands.
func (x *Executor) Mask(values ...string) { x.given.Track(values...) }

// Execute runs an action and returns its observation, see the package comment.
// When ctx ends it returns at once with fault.Canceled and the action goes on.
func (x *Executor) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	raw, err := x.ExecuteJSON(ctx, r)
	if err != nil {
		return nil, err
	}
	return event.UnmarshalObservation(raw)
}

// ExecuteJSON is Execute for a caller that passes the observation on as JSON.
func (x *Executor) ExecuteJSON(ctx context.Context, r tool.Request) (json.RawMessage, error) {
	if err := checkID(r.ID); err != nil {
		return nil, err
	}
	run, unfollow, res, err := x.begin(r)
	if err != nil {
		return nil, err
	}
	if run == nil {
		return res.open()
	}
	if unfollow == nil {
		unfollow = run.follow(r)
	}
	defer unfollow()
	select {
	case <-run.done:
		return run.result.open()
	case <-ctx.Done():
		return nil, fault.Wrap(context.Cause(ctx), fault.Canceled, "stopped waiting for the action")
	}
}

// begin returns the run of the request's action, starting it if it has to be, or its
// recorded result. A request that starts it follows its output, until unfollow is
// called: for one that joins, unfollow is nil, since showing it the tail may take time.
func (x *Executor) begin(r tool.Request) (_ *run, unfollow func(), _ result, _ error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if run := x.running[r.ID]; run != nil {
		return run, nil, result{}, nil
	}
	res, state, err := x.journal.lookup(r.ID)
	switch {
	case err != nil:
		return nil, nil, result{}, fmt.Errorf("read the result of action %s: %w", r.ID, err)
	case state == stateFinished:
		return nil, nil, res, nil
	case state == stateStarted:
		return nil, nil, result{}, interruptedError("the action was running when its server died; its effect is unknown")
	case x.closed:
		return nil, nil, result{}, fault.New(fault.Unavailable, "the executor is closed")
	case r.Action == nil:
		return nil, nil, result{}, fault.New(fault.Invalid, "a new action id without an action")
	}
	t := x.tools[r.Action.Kind()]
	if t == nil {
		return nil, nil, result{}, fault.New(fault.Unsupported, fmt.Sprintf("no tool here runs a %q", r.Action.Kind()))
	}
	if r.Again && !x.journal.provesNeverStarted() {
		return nil, nil, result{}, interruptedError("it is unknown whether the action was started before a crash")
	}
	if err := x.journal.start(r.ID, r.Again); err != nil {
		return nil, nil, result{}, fmt.Errorf("record the start of action %s: %w", r.ID, err)
	}
	run, unfollow := x.launch(r, t)
	return run, unfollow, result{}, nil
}

func interruptedError(msg string) error {
	return fault.New(fault.Interrupted, msg).Hint("check the current state before repeating the action")
}

// launch starts the goroutine that owns the action; the request follows its output from
// the first byte. x.mu is held.
func (x *Executor) launch(r tool.Request, t tool.Executor) (started *run, unfollow func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	run := newRun(cancel)
	x.running[r.ID] = run
	unfollow = run.follow(r)
	for _, value := range r.Secrets {
		x.given.Track(value)
	}
	x.runs.Go(func() {
		defer cancel(nil)
		call := r.Call
		call.Progress = run.progress
		call.Mask = func() tool.Masker { return x.given.Stream() }
		run.execute(ctx, t, call, x.given, func(res result) {
			x.mu.Lock()
			// A result that cannot be written stays in memory and is still
			// returned: the controller stores it. It is lost only if this
			// process dies first, and then the started record remains.
			x.journal.finish(r.ID, res)
			delete(x.running, r.ID)
			x.mu.Unlock()
			run.finish(res)
		})
	})
	return run, unfollow
}

// Prepare says that the caller has no action pending, so that from now on a new
// journal proves which actions never started. A caller that stores actions
// before they run calls Prepare before it stores the first one: otherwise an
// action that was stored and never asked for could not be distinguished, after
// a crash, from one in a journal that was lost.
func (x *Executor) Prepare() error {
	if err := x.journal.complete(); err != nil {
		return fmt.Errorf("prepare the journal: %w", err)
	}
	return nil
}

// Interrupt cancels the context of a running action; its Execute then returns
// the result so far. It reports whether the action runs.
func (x *Executor) Interrupt(id event.ID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	run := x.running[id]
	if run != nil {
		run.cancel(errInterrupted)
	}
	return run != nil
}

// Ack says that the results of these actions are stored durably elsewhere, so
// that the journal may drop them. Ids that are unknown or still run are
// ignored. An acknowledged id must not be asked for again.
func (x *Executor) Ack(ids ...event.ID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	done := make([]event.ID, 0, len(ids))
	for _, id := range ids {
		if x.running[id] == nil {
			done = append(done, id)
		}
	}
	if err := x.journal.ack(done); err != nil {
		return fmt.Errorf("acknowledge results: %w", err)
	}
	return nil
}

// Running returns the ids of the actions that run, sorted.
func (x *Executor) Running() []event.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.running))
}

// Kinds returns the kinds of actions that have a tool, sorted.
func (x *Executor) Kinds() []string { return slices.Sorted(maps.Keys(x.tools)) }

// JournalErr returns the first error of writing or syncing the journal in the
// background, which is not returned by any call, or nil.
func (x *Executor) JournalErr() error { return x.journal.failure() }

// Close refuses new actions, interrupts running ones and waits until they
// have ended and are recorded, then closes the tools and the journal. If ctx
// ends first, the tools are closed nevertheless and the error is of kind
// fault.Timeout when actions still run even then. A second Close does nothing.
func (x *Executor) Close(ctx context.Context) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	for _, run := range x.running {
		run.cancel(errInterrupted)
	}
	x.mu.Unlock()

	ended := make(chan struct{})
	go func() { x.runs.Wait(); close(ended) }()
	var stuck error
	select {
	case <-ended:
	case <-ctx.Done():
		stuck = fault.New(fault.Timeout, "actions did not stop in time")
	}
	errs := []error{stuck}
	for kind, t := range x.tools {
		if err := t.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the tool of %s: %w", kind, err))
		}
	}
	return errors.Join(append(errs, x.journal.Close())...)
}

func checkID(id event.ID) error {
	if id == "" || len(id) > MaxIDLength {
		return fault.New(fault.Invalid, fmt.Sprintf("an action id has 1 to %d characters", MaxIDLength))
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f {
			return fault.New(fault.Invalid, "an action id is printable ASCII without spaces")
		}
	}
	return nil
}
