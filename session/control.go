package session

import (
	"cmp"
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/state"
)

// ErrSaved is returned when a message is stored but there is no capacity to run.
var ErrSaved = fault.New(fault.RateLimit, "Message saved, but the conversation run limit was reached. Retry POST /run without resending the message.").
	Hint("start the run later with POST /run; do not send the message again")

// Send stores a message and, if it says so, runs the conversation. A run that
// is at work takes the message in at its next step.
func (c *Conversation) Send(ctx context.Context, m Message) error {
	base, untitled, tried := event.NewBase(event.SourceUser), "", false
	base.ID = cmp.Or(m.ID, base.ID)
	return c.withWorker(ctx, func(w *worker) error {
		if err := c.replaying.wait(ctx, w); err != nil {
			return err
		}
		w.title.recordBill(ctx)
		ev := &event.MessageEvent{
			Base:       base,
			LLMMessage: event.Message{Role: event.RoleUser, Content: m.Content},
			Sender:     m.Sender,
		}
		stored := w.Has(base.ID) // by the worker before, which was closed, or by an earlier process
		if stored && !tried && w.Latest().Status != state.Idle {
			return nil // its run has begun
		}
		tried = true
		if err := w.begin(ctx); err != nil {
			return err
		}
		var said hook.Verdict
		if !stored {
			var err error
			if said, err = w.hooks.submit(ctx, ev); err != nil {
				return err
			}
			if said.Blocked {
				return w.refuse(ctx, ev, said)
			}
			if err := c.Delegation().answerStopped(ctx, w); err != nil {
				return err
			}
			if err := w.activate(ctx, ev); err != nil {
				return err
			}
			if said.Context != "" {
				ev.ExtendedContent = append(ev.ExtendedContent, event.Text(said.Context))
			}
			untitled = w.title.textOf(ev)
		}
		if untitled != "" {
			w.title.first.Store(&untitled) // before the turn can end
		}
		var err error
		switch {
		case m.Run:
			err = w.sendRun(ctx, ev, said.Events, stored)
		case !stored:
			err = w.Send(ctx, ev, said.Events...)
		}
		if err == nil || errors.Is(err, ErrSaved) {
			w.hooks.Recorded(said)
		}
		switch {
		case untitled == "":
		case err == nil || errors.Is(err, ErrSaved):
			w.title.begin(untitled)
		default:
			w.title.first.CompareAndSwap(&untitled, nil)
		}
		return err
	})
}

// Pause stops the run before its next step, and sub-agents at once. Where nothing runs, the
// conversation is marked as paused.
func (c *Conversation) Pause(ctx context.Context) error {
	return c.stop(ctx, func(w *worker) (bool, error) {
		if !w.Pause() {
			return false, nil
		}
		return true, w.tasks.interruptAll(ctx)
	})
}

// Interrupt stops the run at once, with the command that it runs. Where nothing
// runs it is [Conversation.Pause].
func (c *Conversation) Interrupt(ctx context.Context) error {
	return c.stop(ctx, func(w *worker) (bool, error) { return w.Interrupt(context.WithoutCancel(ctx)) })
}

func (c *Conversation) stop(ctx context.Context, how func(*worker) (running bool, err error)) error {
	return c.withWorker(ctx, func(w *worker) error {
		defer c.publish.changed(ctx)
		if running, err := how(w); running {
			return err
		}
		if s := w.Latest().Status; s != state.Idle && s != state.Running {
			return nil
		}
		ev, err := event.NewStateUpdate(state.KeyStatus, state.Paused)
		if err != nil {
			return err
		}
		if err := w.Record(ctx, &event.PauseEvent{Base: event.NewBase(event.SourceUser)}, ev); err != nil {
			return err
		}
		c.publish.state(true)
		return nil
	})
}

// Condense shortens the history that the model sees; it continues when ctx ends. Conflict if
// the agent has no condenser, or there is nothing to leave out. Other failures are in the
// events too.
func (c *Conversation) Condense(ctx context.Context) error {
	return c.withWorker(ctx, func(w *worker) error {
		c.mu.Lock()
		why, err := cannotCondense(c.agent)
		c.mu.Unlock()
		if err != nil {
			return err
		}
		if why != "" {
			return fault.New(fault.Conflict, why)
		}
		if err := w.takeModel(ctx); err != nil {
			return err
		}
		done := make(chan error, 1)
		c.m.running.Go(func() {
			err := w.Condense(w.ctx)
			w.saveIfIdle()
			c.Queue().sendLater() // none is sent meanwhile
			done <- err
		})
		select {
		case err := <-done:
			if fault.Is(err, fault.Context) {
				return fault.New(fault.Conflict, "Cannot condense conversation: there is nothing to leave out")
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
