// Package external runs actions in a program of any language: a custom executor
// without a fork. docs/executors.md describes the protocol, a line of JSON for each
// message over standard input and output.
//
// # Usage
//
//	p, err := external.Start(ctx, external.Options{Path: "/opt/deploy.py", Workspace: dir, Starter: starter})
//	for _, kind := range p.Kinds() {
//		tools[kind] = p // beside the built-in executors
//	}
//	defs := p.Tools() // tools that the program brings
//
// The program handles the actions that it names when it starts.
//
// # Concurrency
//
// A Program is safe for concurrent use. Actions are sent to the program as they
// come; it may answer them in any order, or one after the other.
//
// # Failure
//
// Start gives fault.NotFound, fault.Denied, fault.Invalid (the program breaks the
// protocol) or fault.Timeout (it is silent). Later the program may end, break the
// protocol or ignore an interrupt: the actions that it runs then give observations
// that say so, and the next action starts it again. Each start calls its init hook,
// and [Program.Close] its close hook.
package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Defaults of [Options].
const (
	DefaultStartTimeout   = 30 * time.Second
	DefaultInterruptGrace = 5 * time.Second
	DefaultCloseTimeout   = 3 * time.Second
)

// maxText is how many bytes of text an observation may have.
const maxText = 256 << 10

// Options say which program runs and how. Path, Workspace and Starter are required.
type Options struct {
	// Path is the program's file, absolute.
	Path string
	// Workspace is the conversation's directory, which the program is told.
	Workspace string
	// Env is the environment that Starter gives the program; it is told the names.
	Env []string
	// Starter starts it.
	Starter tool.Starter
	// Reserved are kinds of actions that it cannot handle, because they never reach
	// an executor.
	Reserved []string
	// StartTimeout bounds the time from its start until it has answered init,
	// InterruptGrace the time until an interrupted action ends, and CloseTimeout its
	// close hook.
	StartTimeout, InterruptGrace, CloseTimeout time.Duration
	// Masked are values that neither errors nor Log show.
	Masked []string
	// Log gets failures; default: nothing.
	Log *slog.Logger
}

// Program is an executor program. Make one with [Start].
type Program struct {
	o     Options
	kinds []string
	tools []tool.External

	mu      sync.Mutex // held while the program starts
	running *process   // the present or the last one
	closed  bool
}

var (
	_ tool.Executor = (*Program)(nil)
	_ tool.Offering = (*Program)(nil)
)

// Check returns why a file of this machine cannot be an executor program. It does
// not run it.
func Check(path string) error {
	if !filepath.IsAbs(path) {
		return fault.New(fault.Invalid, "the executor program "+path+" must be an absolute path")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "the executor program "+path+" does not exist").Hint("check the path after exec:")
	case err != nil:
		return fault.Wrap(err, fault.Denied, "the executor program cannot be looked at")
	case !info.Mode().IsRegular():
		return fault.New(fault.Invalid, "the executor program "+path+" is not a file")
	case info.Mode().Perm()&0o111 == 0:
		return fault.New(fault.Invalid, "the executor program "+path+" is not executable").Hint("chmod +x " + path)
	}
	return nil
}

// Start starts the program and waits for its list of actions.
func Start(ctx context.Context, o Options) (*Program, error) {
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.InterruptGrace <= 0 {
		o.InterruptGrace = DefaultInterruptGrace
	}
	if o.CloseTimeout <= 0 {
		o.CloseTimeout = DefaultCloseTimeout
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Program{o: o}
	run, offer, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.running, p.tools, p.kinds = run, offer.Tools, offer.kinds()
	return p, nil
}

// start runs the program up to the end of the handshake.
func (p *Program) start(ctx context.Context) (_ *process, offer offer, err error) {
	child, err := p.o.Starter.StartProgram(ctx, tool.Program{Command: p.o.Path, Dir: p.o.Workspace})
	if err != nil {
		return nil, offer, fmt.Errorf("start the executor program: %w", err)
	}
	run := follow(child, p.o.Log)
	run.hide(p.o.Masked)
	defer func() {
		if err != nil {
			err = run.explain(err)
		}
	}()
	limited, cancel := context.WithTimeout(ctx, p.o.StartTimeout)
	defer cancel()
	names := make([]string, 0, len(p.o.Env))
	for _, kv := range p.o.Env {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	raw, err := run.call(limited, methodInit, initParams{Protocol: Version, Workspace: p.o.Workspace, Environment: names})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, offer, fault.Wrap(context.Cause(ctx), fault.Canceled, "start the executor program")
	case err != nil && limited.Err() != nil:
		return nil, offer, fault.New(fault.Timeout, fmt.Sprintf("the executor program %s has not answered init within %v", p.o.Path, p.o.StartTimeout)).
			Hint("it must read a line from standard input and flush its answer")
	case err != nil:
		return nil, offer, fmt.Errorf("start the executor program %s: %w", p.o.Path, err)
	}
	if offer, err = readOffer(raw, p.o.Reserved); err != nil {
		return nil, offer, fmt.Errorf("executor program %s: %w", p.o.Path, err)
	}
	return run, offer, nil
}

// Kinds returns the kinds of actions that the program handles, sorted.
func (p *Program) Kinds() []string { return slices.Clone(p.kinds) }

// Tools implements [tool.Offering].
func (p *Program) Tools() []tool.External { return slices.Clone(p.tools) }

// live returns the running program, starting it again if it has ended.
func (p *Program) live(ctx context.Context) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.New(fault.Unavailable, "the executor program is closed")
	}
	if !p.running.over() {
		return p.running, nil
	}
	p.o.Log.Warn("executor program is started again", "program", p.o.Path)
	run, offer, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range p.kinds {
		if !slices.Contains(offer.kinds(), kind) {
			err := fault.New(fault.Invalid, "the executor program "+p.o.Path+" was started again and does not handle "+kind+" any more")
			return nil, errors.Join(err, run.end())
		}
	}
	p.running = run
	return run, nil
}

// Execute implements [tool.Executor].
func (p *Program) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	action, err := event.MarshalAction(c.Action)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the action has no JSON")
	}
	kind := p.observationKind(c.Action.Kind())
	run, err := p.live(ctx)
	if err != nil {
		return failed(kind, "The executor program cannot be started: "+err.Error())
	}
	defer run.listen(c.ID, c.Progress)()
	run.hide(slices.Collect(maps.Values(c.Secrets)))
	raw, err := p.ask(ctx, run, executeParams{ID: c.ID, Tool: c.Tool, Action: action, Secrets: c.Secrets})
	var said *refusal
	switch {
	case err == nil:
		return observation(kind, raw)
	case errors.As(err, &said):
		return failed(kind, said.Message)
	}
	err = run.explain(err)
	return failed(kind, fmt.Sprintf("The executor program %s has ended while it ran this action, whose effect is unknown: %v. It is started again for the next action.",
		filepath.Base(p.o.Path), err))
}

// ask sends an action. When ctx ends it interrupts the action, and ends the program
// if that has no effect.
func (p *Program) ask(ctx context.Context, run *process, q executeParams) (json.RawMessage, error) {
	sent, err := run.begin(methodExecute, q)
	if err != nil {
		return nil, err
	}
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		run.notify(methodInterrupt, interruptParams{ID: q.ID})
		select {
		case <-time.After(p.o.InterruptGrace):
			cancel(fmt.Errorf("it was interrupted and has not stopped within %v", p.o.InterruptGrace))
		case <-lasting.Done():
		}
	})()
	return sent.wait(lasting)
}

// observationKind is the kind of an action's observation.
func (p *Program) observationKind(action string) string {
	for _, t := range p.tools {
		if t.ActionKind == action {
			return t.ObservationKind
		}
	}
	return strings.TrimSuffix(action, "Action") + "Observation"
}

// Close implements [tool.Executor]: it calls the close hook and ends the program.
func (p *Program) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	if !p.running.over() {
		ctx, cancel := context.WithTimeout(context.Background(), p.o.CloseTimeout)
		defer cancel()
		if _, err := p.running.call(ctx, methodClose, struct{}{}); err != nil {
			p.o.Log.Warn("close the executor program", "program", p.o.Path, "err", err)
		}
	}
	return p.running.end()
}

// observation reads the program's answer to an action.
func observation(kind string, raw json.RawMessage) (event.Observation, error) {
	var result struct {
		Observation json.RawMessage `json:"observation"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.Observation == nil {
		return failed(kind, `The executor program has answered the action without an "observation".`)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(result.Observation, &fields); err != nil || fields == nil {
		return failed(kind, "The executor program has answered the action with an observation that is not an object.")
	}
	if fields["kind"] == nil {
		name, err := json.Marshal(kind)
		if err != nil {
			return nil, err
		}
		fields["kind"] = name
		if result.Observation, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	obs, err := event.UnmarshalObservation(result.Observation)
	if err != nil {
		return failed(kind, "The executor program has answered the action with an observation that cannot be read: "+err.Error())
	}
	if len(obs.Result().Content) == 0 && fields["content"] == nil {
		return failed(kind, `The executor program has answered the action with an observation that has no "content".`)
	}
	if _, unknown := obs.(*event.UnknownObservation); unknown {
		if err := json.Unmarshal(fields["content"], new(event.List[event.Content])); err != nil {
			return failed(kind, "The executor program has answered the action with content that cannot be read: "+err.Error())
		}
	}
	if n := len(event.JoinText(obs.Result().Content)); n > maxText {
		return failed(kind, fmt.Sprintf("The executor program has answered the action with %d bytes of text; at most %d are allowed.", n, maxText))
	}
	return obs, nil
}

// failed makes an observation of an error.
func failed(kind, text string) (event.Observation, error) {
	raw, err := json.Marshal(map[string]any{"kind": kind, "content": event.Texts(text), "is_error": true})
	if err != nil {
		return nil, err
	}
	return event.UnmarshalObservation(raw)
}
