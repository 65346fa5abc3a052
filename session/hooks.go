package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/subagent"
)

// sessionEnd bounds the hooks at the end of a session, all together: a server that stops must
// not wait longer.
const sessionEnd = 20 * time.Second

// sessionHooks run the hooks around the runs of a worker. A session begins with the first message
// or run of a worker and ends when the worker is closed.
type sessionHooks struct {
	*hook.Runner
	w *worker

	// file is the project's, as the worker has found it.
	file HooksFile

	mu    lockorder.Mutex[lockorder.Part]
	begun bool
	// started are the hooks whose start of the session has come: the owner may allow others later.
	started *hook.Config
}

// openHooks returns the hooks of the worker's conversation. A configuration that cannot be read,
// which an import may have brought, is an error: hooks keep policies.
func (w *worker) openHooks(rec record) (*sessionHooks, error) {
	config, err := rec.hooks()
	if err != nil {
		return nil, err
	}
	config = hook.Merge(config, w.plugins.hooks)
	return &sessionHooks{Runner: hook.NewRunner(config, hookHost{w}, w.c.id, rec.Workspace.WorkingDir), w: w}, nil
}

// begin prepares for the first message or run of a worker.
func (w *worker) begin(ctx context.Context) error {
	if err := w.setUp(ctx); err != nil {
		return err
	}
	return w.hooks.begin(ctx)
}

// begin runs the hooks of the start of a session that have not run in it. A run that continues
// after a crash continues its session too.
func (h *sessionHooks) begin(ctx context.Context) error {
	pending := len(h.w.State().Pending) > 0
	h.mu.Lock()
	now := h.Present()
	late := without(now, h.started)
	if !h.begun || !pending { // else they are run for the next message
		h.begun, h.started = true, now
	}
	h.mu.Unlock()
	if late == nil || len(late.SessionStart) == 0 || pending {
		return nil
	}
	v, err := h.Run(ctx, hook.Event{Name: hook.SessionStart, About: event.NewID(), Of: late})
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	for i, ev := range v.Events {
		v.Events[i] = h.w.guard.Mask(ev)
	}
	if v.Context == "" {
		err = h.w.Record(ctx, v.Events...)
	} else {
		err = h.w.Send(ctx, h.w.guard.Mask(&event.MessageEvent{
			Base: event.NewBase(event.SourceEnvironment), LLMMessage: event.Message{Role: event.RoleUser, Content: event.Texts(v.Context)},
		}).(*event.MessageEvent), v.Events...)
	}
	if err == nil {
		h.Recorded(v)
	}
	return err
}

// end runs the hooks of the end of a session, and ends hooks in the background.
func (h *sessionHooks) end(ctx context.Context) {
	defer h.Close()
	h.mu.Lock()
	begun := h.begun
	h.begun, h.started = false, nil
	h.mu.Unlock()
	if !begun || !h.Has(hook.SessionEnd) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sessionEnd)
	defer cancel()
	v, err := h.Run(ctx, hook.Event{Name: hook.SessionEnd, About: event.NewID()})
	if err == nil {
		for i, ev := range v.Events {
			v.Events[i] = h.w.guard.Mask(ev)
		}
		err = h.w.Record(ctx, v.Events...)
	}
	if err != nil {
		h.w.c.m.o.Log.Warn("end a session with its hooks", "conversation", h.w.c.id, "err", err)
		return
	}
	h.Recorded(v)
}

// submit runs the hooks for a user's message, which they may add to or block. Their events stand
// before the message.
func (h *sessionHooks) submit(ctx context.Context, ev *event.MessageEvent) (v hook.Verdict, err error) {
	if !h.Has(hook.UserPromptSubmit) {
		return v, nil
	}
	v, err = h.Run(ctx, hook.Event{Name: hook.UserPromptSubmit, About: ev.ID, Message: event.JoinText(ev.LLMMessage.Content)})
	if err != nil {
		return v, err
	}
	for i, one := range v.Events {
		v.Events[i] = h.w.guard.Mask(one)
	}
	return v, nil
}

// refuse stores a message that a hook has blocked.
func (w *worker) refuse(ctx context.Context, ev *event.MessageEvent, v hook.Verdict) error {
	if err := w.Refuse(ctx, ev, v.Events...); err != nil {
		return err
	}
	w.hooks.Recorded(v)
	w.c.publish.state(true)
	w.c.Queue().sendLater() // no run ends, after which the next message would be sent
	return nil
}

// hookHost runs hooks for a worker.
type hookHost struct{ w *worker }

var _ hook.Host = hookHost{}

// Program implements [hook.Host].
func (h hookHost) Program(ctx context.Context, p hook.Program) (hook.Output, error) {
	got, err := h.w.res.RunProgram(ctx, Program{
		ID: p.ID, Again: p.Again, Outlives: true, Argv: []string{"/bin/sh", "-c", p.Command}, Dir: h.w.c.Workspace(),
		Stdin: p.Input, Env: p.Env, Seconds: int(p.Timeout / time.Second),
	})
	out := hook.Output{ExitCode: got.ExitCode, Stdout: got.Stdout, Stderr: got.Stderr}
	switch {
	case errors.Is(err, ErrNotStarted):
		return hook.Output{ExitCode: -1, Failed: err.Error()}, nil
	case got.TimedOut:
		out.Failed = fmt.Sprintf("it was ended after its limit of %s", p.Timeout)
	case err == nil && got.ExitCode < 0:
		out.Failed = "it was ended by a signal"
	}
	return out, err
}

// Recorded implements [hook.Host].
func (h hookHost) Recorded(ids ...event.ID) {
	if k, ok := h.w.res.Runtime().(runtime.Acknowledger); ok {
		k.Ack(ids...)
	}
}

// Ask implements [hook.Host].
func (h hookHost) Ask(ctx context.Context, usage, system, question string) (string, error) {
	m, done := h.w.Service(usage)
	resp, err := llm.Complete(ctx, m, llm.Request{Session: string(h.w.c.id), Messages: []event.Message{
		{Role: event.RoleSystem, Content: event.Texts(system)},
		{Role: event.RoleUser, Content: event.Texts(question)},
	}}, func(llm.Delta) {})
	if err = errors.Join(err, done(context.WithoutCancel(ctx))); err != nil {
		return "", err
	}
	return event.JoinText(resp.Message.Content), nil
}

// Agent implements [hook.Host]. The agent is a guest, as a sub-agent is. Hooks do not run for it.
func (h hookHost) Agent(ctx context.Context, id event.ID, k hook.Hook, task string) (string, error) {
	if h.w.host != nil {
		return "", fault.New(fault.Unsupported, "a sub-agent's hook cannot be an agent")
	}
	name := "default"
	if k.Name != nil {
		name = *k.Name
	}
	steps := k.Iterations()
	d := subagent.Definition{Name: "agent-hook:" + name, Tools: k.Tools, MaxIterations: &steps}
	if k.SystemPrompt != nil {
		d.SystemPrompt = *k.SystemPrompt
	}
	if len(d.Tools) == 0 {
		d.Tools = []string{"FinishTool"}
	}
	cid, ok := event.ParseConversationID(string(id))
	if !ok {
		return "", fault.New(fault.Internal, "the hook has no id for a conversation: "+string(id))
	}
	child, err := h.w.c.m.Get(ctx, cid)
	if fault.Is(err, fault.NotFound) {
		child, err = h.w.c.Delegation().makeGuest(ctx, cid, d, d.Name)
	}
	if err != nil {
		return "", err
	}
	if err := h.w.c.Delegation().send(ctx, child, Message{ID: id, Role: event.RoleUser, Content: event.Texts(task), Run: true}); err != nil {
		return "", err
	}
	if err := (assignee{child}).follow(ctx, func(*Conversation, bool) {}); err != nil {
		return "", errors.Join(err, assignee{child}.stop(ctx))
	}
	w, err := child.work(ctx)
	if err != nil {
		return "", err
	}
	if s := w.Latest(); s.Status != state.Finished {
		why, err := assignee{child}.lastError(ctx)
		return "", errors.Join(err, fault.New(fault.Unavailable, "the agent did not finish: "+cmp.Or(why, string(s.Status))))
	}
	return strings.TrimSpace(finalResponse(w.Latest())), w.countInHost(ctx)
}
