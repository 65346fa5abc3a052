package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/state"
)

// CriticClients are resources with clients for critics over a network.
type CriticClients interface {
	CriticClients() critic.Clients // nil for none
}

// codeCriticFailed is the code of the event that says why a critic has not judged.
const codeCriticFailed = "CriticFailed"

// judgement has a critic judge the answers of the agent.
type judgement struct {
	w      *worker
	critic *critic.Critic // nil for none
	failed string         // the last error, which is not repeated
}

func newJudgement(w *worker) (*judgement, error) {
	w.c.mu.Lock()
	of := w.c.agent.Critic
	w.c.mu.Unlock()
	var clients critic.Clients
	if has, ok := w.res.(CriticClients); ok {
		clients = has.CriticClients()
	}
	c, err := critic.New(of, clients)
	if of != nil {
		w.c.secrets.TrackKeys(of.APIKey.Reveal())
	}
	return &judgement{w: w, critic: c}, err
}

// judge adds results to the events of an answer. A critic that fails is named in an event before them.
func (j *judgement) judge(ctx context.Context, s *state.State, evs []event.Event) []event.Event {
	view := s.View
	for i := 0; i < len(evs); i++ {
		ev := evs[i]
		view = append(view[:len(view):len(view)], ev)
		if !j.critic.Judges(ev) || ctx.Err() != nil {
			continue
		}
		raw, err := j.result(ctx, view)
		switch {
		case err == nil:
			j.failed = ""
			setResult(ev, raw)
		case ctx.Err() == nil && err.Error() != j.failed:
			j.failed = err.Error()
			evs = append([]event.Event{criticFailed(err)}, evs...)
			i++
		}
	}
	return evs
}

func (j *judgement) result(ctx context.Context, view []event.Event) (json.RawMessage, error) {
	offers, err := j.w.agent.Tools().Offered()
	if err != nil {
		return nil, err
	}
	r, err := j.critic.Judge(ctx, critic.Case{View: view, Tools: offers, Changed: j.changed, Mask: j.w.c.secrets.Mask})
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// changed reports whether the workspace has changes, committed or not.
func (j *judgement) changed(ctx context.Context) (yes bool, err error) {
	files, err := j.w.c.Environment().Files(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	changes, err := files.Changes(ctx, files.Path(), "")
	if errors.Is(err, gitview.ErrNoRepository) {
		return false, fault.New(fault.Unsupported, "the workspace is in no Git repository, so its changes are unknown")
	}
	return len(changes) > 0, err
}

func setResult(ev event.Event, raw json.RawMessage) {
	switch e := ev.(type) {
	case *event.MessageEvent:
		e.CriticResult = raw
	case *event.ActionEvent:
		e.CriticResult = raw
	}
}

func criticFailed(err error) event.Event {
	detail := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		detail += "\n" + hint
	}
	return &event.ConversationErrorEvent{
		Base: event.NewBase(event.SourceEnvironment), Code: codeCriticFailed, Detail: detail,
		Classification: &event.ErrorClassification{Kind: "config", UserAction: "settings"},
	}
}

// followUp returns the message with which the agent goes on after a call of finish, "" to end.
func (j *judgement) followUp(finish *event.ActionEvent, iteration int) string {
	r, ok := critic.Read(finish.CriticResult)
	if !ok || j.critic == nil {
		return ""
	}
	return j.critic.FollowUp(r, iteration)
}
