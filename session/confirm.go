package session

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/state"
)

// Confirmation is about the actions of a conversation that wait for the user: which ones do, the
// questions about them, and the answers.
type Confirmation struct{ c *Conversation }

// Confirmation returns the questions of the conversation and the answers to them.
func (c *Conversation) Confirmation() Confirmation { return Confirmation{c} }

// Preset returns the preset that is in force; "" for another policy or analyzer.
func (a Confirmation) Preset(ctx context.Context) (p security.Preset, err error) {
	err = a.c.withWorker(ctx, func(w *worker) (err error) {
		s := w.Latest()
		p, err = security.PresetIn(a.c.policy(s), a.c.analyzer(s))
		return err
	})
	return p, err
}

// SetPreset sets the policy and the analyzer of a preset: when actions wait for
// the user, and who rates them.
func (a Confirmation) SetPreset(ctx context.Context, p security.Preset) error {
	// The analyzer first: a stricter policy never holds without it.
	if err := a.SetAnalyzer(ctx, p.Analyzer()); err != nil {
		return err
	}
	return a.SetPolicy(ctx, p.Policy())
}

// SetPolicy changes when actions wait for the user. The kinds of actions that were allowed for
// later wait again.
func (a Confirmation) SetPolicy(ctx context.Context, raw json.RawMessage) error {
	raw, err := normalPolicy(raw)
	if err != nil {
		return err
	}
	if err := a.setField(ctx, keyPolicy, raw); err != nil {
		return err
	}
	return a.forgetGrants(ctx)
}

// SetAnalyzer changes who rates the risk of actions; null for nobody.
func (a Confirmation) SetAnalyzer(ctx context.Context, raw json.RawMessage) error {
	if _, err := normalAnalyzer(raw); err != nil {
		return err
	}
	return a.c.withWorker(ctx, func(w *worker) error {
		a.c.mu.Lock()
		shown, err := a.c.setAnalyzer(raw)
		if err == nil {
			err = a.c.save(ctx)
		}
		a.c.mu.Unlock()
		if err != nil {
			return err
		}
		if err := w.Update(ctx, keyAnalyzer, shown); err != nil {
			return err
		}
		w.saveIfIdle()
		return nil
	})
}

func (a Confirmation) setField(ctx context.Context, key string, raw json.RawMessage) error {
	return a.c.withWorker(ctx, func(w *worker) error {
		if err := w.Update(ctx, key, raw); err != nil {
			return err
		}
		w.saveIfIdle()
		return nil
	})
}

// Respond accepts the actions that wait for confirmation, or rejects them with a reason for
// the agent.
func (a Confirmation) Respond(ctx context.Context, accept bool, reason string) error {
	if accept {
		return a.c.Run(ctx)
	}
	return a.reject(ctx, func(w *worker) error { return w.Reject(ctx, reason) })
}

// Refuse rejects some of the actions that wait for confirmation, each with a reason for the
// agent. The others go on waiting.
func (a Confirmation) Refuse(ctx context.Context, reasons map[event.ID]string) error {
	return a.reject(ctx, func(w *worker) error { return w.RejectSome(ctx, reasons) })
}

// reject rejects actions, if some wait. The stored events tell watchers; the whole state is not
// published, as in OpenHands: a client that runs the conversation at once would take it for the
// end of that run. For the same reason it is not published again later.
func (a Confirmation) reject(ctx context.Context, how func(*worker) error) error {
	a.c.seen()
	if err := a.c.withWorker(ctx, how); !errors.Is(err, controller.ErrNothingWaits) {
		return err
	}
	return nil
}

// given are the user's answers, as a conversation keeps them.
type given struct {
	// Once are waiting actions that are allowed, while others of their batch wait.
	Once []event.ID `json:"once"`
	// Always are kinds of actions that wait no more, also in sub-agents.
	Always confirmation.Grants `json:"always"`
}

func givenAnswers(s *state.State) given {
	var g given
	s.Field(keyAnswers, &g)
	return g
}

// root is the worker for which a worker of a sub-agent works.
func (w *worker) root() *worker {
	for w.host != nil {
		w = w.host
	}
	return w
}

// Questions returns the questions about the waiting actions that have no answer yet; none
// while nothing waits. A client that has seen the event of the wait finds them.
func (a Confirmation) Questions(ctx context.Context) (open []confirmation.Question, err error) {
	open = []confirmation.Question{}
	err = a.c.withWorker(ctx, func(w *worker) error {
		open = append(open, w.questions(w.Latest())...)
		return nil
	})
	return open, err
}

// Granted returns the kinds of actions that wait no more.
func (a Confirmation) Granted(ctx context.Context) (always confirmation.Grants, err error) {
	err = a.c.withWorker(ctx, func(w *worker) error {
		always = givenAnswers(w.root().Latest()).Always
		return nil
	})
	return always, err
}

func (w *worker) questions(s *state.State) []confirmation.Question {
	if s.Status != state.Confirming {
		return nil
	}
	once, always := givenAnswers(s).Once, givenAnswers(w.root().State()).Always
	return slices.DeleteFunc(confirmation.Questions(s, w.c.secrets.Mask), func(q confirmation.Question) bool {
		return slices.Contains(once, q.Action) || always.Cover(q)
	})
}

// uncovered returns the actions of a batch whose kinds the user has not allowed for later.
func (w *worker) uncovered(batch []*event.ActionEvent) []*event.ActionEvent {
	always := givenAnswers(w.root().State()).Always
	if len(always) == 0 {
		return batch
	}
	s := *w.State()
	s.Pending = batch
	var out []*event.ActionEvent
	for i, q := range confirmation.Questions(&s, w.c.secrets.Mask) {
		if !always.Cover(q) {
			out = append(out, batch[i])
		}
	}
	return out
}

// Answer answers questions; the other ones stay open. With the last answer the agent goes on,
// unless all its actions are rejected without a reason: then it waits for a message.
// Invalid for an answer that a question does not have, Conflict for an action that does not
// wait any more.
func (a Confirmation) Answer(ctx context.Context, to map[event.ID]confirmation.Answer) error {
	a.c.answering.Lock()
	defer a.c.answering.Unlock()
	return a.c.withWorker(ctx, func(w *worker) error {
		latest := w.Latest()
		asked := w.questions(latest)
		now, always, refused := givenAnswers(latest), givenAnswers(w.root().Latest()).Always, map[event.ID]string{}
		before := len(always)
		for _, id := range slices.Sorted(maps.Keys(to)) {
			at := slices.IndexFunc(asked, func(q confirmation.Question) bool { return q.Action == id })
			if at < 0 {
				return fault.New(fault.Conflict, "the action "+string(id)+" does not wait for an answer any more")
			}
			if err := to[id].Check(asked[at]); err != nil {
				return err
			}
			switch to[id].Choice {
			case confirmation.Reject:
				refused[id] = to[id].Reason
			case confirmation.Always:
				always = always.With(asked[at].Grant())
				fallthrough
			case confirmation.Once:
				now.Once = append(now.Once, id)
			}
		}
		if len(always) > before {
			if err := w.root().grant(ctx, always); err != nil {
				return err
			}
		}
		return a.conclude(ctx, w, now.Once, refused)
	})
}

// conclude records the answers of one batch, and goes on when all its actions have one.
func (a Confirmation) conclude(ctx context.Context, w *worker, once []event.ID, refused map[event.ID]string) error {
	if len(refused) > 0 {
		if err := a.Refuse(ctx, refused); err != nil {
			return err
		}
	}
	s := w.State()
	kept := givenAnswers(s)
	kept.Once = slices.DeleteFunc(once, func(id event.ID) bool {
		return !slices.ContainsFunc(s.Pending, func(p *event.ActionEvent) bool { return p.ID == id })
	})
	if err := w.Update(ctx, keyAnswers, kept); err != nil {
		return err
	}
	a.c.publish.state(true)
	if len(w.questions(w.State())) > 0 || len(s.Pending) == 0 && !reasoned(s.View) {
		return nil
	}
	if err := a.c.Run(ctx); !errors.Is(err, ErrRunning) { // a sub-agent goes on by itself
		return err
	}
	return nil
}

// reasoned reports whether one of the newest rejections has a reason.
func reasoned(view []event.Event) bool {
	for _, ev := range slices.Backward(view) {
		no, ok := ev.(*event.UserRejectObservation)
		if !ok || no.RejectionReason != "" {
			return ok
		}
	}
	return false
}

// grant keeps the kinds of actions that wait no more.
func (w *worker) grant(ctx context.Context, always confirmation.Grants) error {
	kept := givenAnswers(w.State())
	kept.Always = always
	return w.Update(ctx, keyAnswers, kept)
}

func (a Confirmation) forgetGrants(ctx context.Context) error {
	return a.c.withWorker(ctx, func(w *worker) error {
		if len(givenAnswers(w.State()).Always) == 0 {
			return nil
		}
		return w.grant(ctx, nil)
	})
}
