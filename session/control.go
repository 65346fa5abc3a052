package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
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
		if !stored {
			if err := c.Delegation().answerStopped(ctx, w); err != nil {
				return err
			}
			if err := w.activate(ctx, ev); err != nil {
				return err
			}
			untitled = w.title.textOf(ev)
		}
		if untitled != "" {
			w.title.first.Store(&untitled) // before the turn can end
		}
		var err error
		switch {
		case m.Run:
			err = w.sendRun(ctx, ev, stored)
		case !stored:
			err = w.Send(ctx, ev)
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

// Respond accepts the actions that wait for confirmation, or rejects them with a reason for
// the agent.
func (c *Conversation) Respond(ctx context.Context, accept bool, reason string) error {
	if accept {
		return c.Run(ctx)
	}
	err := c.withWorker(ctx, func(w *worker) error { return w.Reject(ctx, reason) })
	if err != nil && !errors.Is(err, controller.ErrNothingWaits) {
		return err
	}
	c.publish.state(true)
	return nil
}

// Refuse rejects some of the actions that wait for confirmation, each with a reason for the
// agent. The others go on waiting.
func (c *Conversation) Refuse(ctx context.Context, reasons map[event.ID]string) error {
	err := c.withWorker(ctx, func(w *worker) error { return w.RejectSome(ctx, reasons) })
	if err != nil && !errors.Is(err, controller.ErrNothingWaits) {
		return err
	}
	c.publish.state(true)
	return nil
}

// SetConfirm sets the policy and the analyzer of a preset: when actions wait for
// the user, and who rates them.
func (c *Conversation) SetConfirm(ctx context.Context, p security.Preset) error {
	// The analyzer first: a stricter policy never holds without it.
	if err := c.SetAnalyzer(ctx, p.Analyzer()); err != nil {
		return err
	}
	return c.SetPolicy(ctx, p.Policy())
}

// Questions returns the questions about the waiting actions; none while nothing waits.
func (c *Conversation) Questions(ctx context.Context) ([]confirmation.Question, error) {
	s, err := c.State(ctx)
	if err != nil || s.Status != state.Confirming {
		return []confirmation.Question{}, err
	}
	return confirmation.Questions(s, c.secrets.Mask), nil
}

// SetPolicy changes when actions wait for the user.
func (c *Conversation) SetPolicy(ctx context.Context, raw json.RawMessage) error {
	raw, err := normalPolicy(raw)
	if err != nil {
		return err
	}
	return c.setField(ctx, keyPolicy, raw)
}

// SetAnalyzer changes who rates the risk of actions; null for nobody.
func (c *Conversation) SetAnalyzer(ctx context.Context, raw json.RawMessage) error {
	raw, err := normalAnalyzer(raw)
	if err != nil {
		return err
	}
	return c.setField(ctx, keyAnalyzer, raw)
}

func (c *Conversation) setField(ctx context.Context, key string, raw json.RawMessage) error {
	return c.withWorker(ctx, func(w *worker) error {
		if err := w.Update(ctx, key, raw); err != nil {
			return err
		}
		w.saveIfIdle()
		return nil
	})
}

// Condense shortens the history that the model sees; it continues when ctx ends. Conflict if
// the agent has no condenser, or there is nothing to leave out. Other failures are in the
// events too.
func (c *Conversation) Condense(ctx context.Context) error {
	return c.withWorker(ctx, func(w *worker) error {
		c.mu.Lock()
		why := cannotCondense(c.agent)
		c.mu.Unlock()
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
