package acpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// live is a session of the client.
type live struct {
	s    *Server
	id   event.ConversationID
	turn chan struct{} // holds one while a prompt works, or the history is sent
	t    *translator   // of whoever has the turn

	mu   sync.Mutex
	spec *session.Spec // of the conversation, until it is made
	mode security.Preset
	feed *feed // of the prompt that works; nil for none
}

// conversation returns the conversation; it is made for the first prompt.
func (l *live) conversation(ctx context.Context) (*session.Conversation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spec == nil {
		return l.s.o.Sessions.Get(ctx, l.id)
	}
	l.spec.Confirm(l.mode)
	if a := l.s.analyzer(l.mode); a != nil {
		l.spec.Analyzer = a
	}
	c, _, err := l.s.o.Sessions.Create(ctx, *l.spec)
	if err != nil {
		return nil, fmt.Errorf("create the conversation: %w", err)
	}
	l.spec = nil
	return c, nil
}

// made reports whether the conversation is made.
func (l *live) made() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spec == nil
}

func (l *live) setMode(ctx context.Context, p security.Preset) error {
	if err := checkMode(p); err != nil {
		return err
	}
	l.mu.Lock()
	l.mode = p
	made := l.spec == nil
	l.mu.Unlock()
	if !made {
		return nil
	}
	c, err := l.conversation(ctx)
	if err != nil {
		return err
	}
	a := l.s.analyzer(p)
	if err := c.Confirmation().SetPreset(ctx, p); err != nil || a == nil {
		return err
	}
	return c.Confirmation().SetAnalyzer(ctx, a)
}

// analyzer returns who rates actions in a mode; nil for the mode's own.
func (s *Server) analyzer(mode security.Preset) json.RawMessage {
	if mode == security.Never {
		return nil
	}
	return s.o.Analyzer
}

// close interrupts the session's run and frees the conversation for other programs.
func (l *live) close(ctx context.Context) error {
	if !l.made() {
		return nil
	}
	c, err := l.conversation(ctx)
	if err == nil {
		err = c.Interrupt(ctx)
	}
	if err == nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return err
	}
	return l.s.o.Sessions.Evict(ctx, l.id, true)
}

// prompt gives the agent a message and follows its work to the end. When ctx ends, the run is
// interrupted.
func (l *live) prompt(ctx context.Context, content event.List[event.Content]) (acp.StopReason, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return acp.StopReasonCancelled, nil
	}
	own := context.WithoutCancel(ctx)
	c, err := l.conversation(own)
	if err != nil {
		return "", err
	}
	s, err := c.State(own)
	if err != nil {
		return "", err
	}
	if s.Status == state.Confirming { // the user wants something else
		if err := c.Confirmation().Respond(own, false, "The user has given another task."); err != nil {
			return "", err
		}
	}
	f := l.follow(own, c, eventstream.Seq(s.Seq)+1)
	l.setFeed(f)
	defer f.end()
	defer l.setFeed(nil)
	if err := c.Send(own, session.Message{Role: event.RoleUser, Content: content, Run: true}); err != nil {
		return "", err
	}
	err = l.work(ctx, c)
	canceled := ctx.Err() != nil || errors.Is(err, errCanceled)
	if canceled { // errors of its end are the consequence
		err = errors.Join(c.Interrupt(own), c.Wait(own))
	}
	if err == nil {
		err = c.Failure()
	}
	if err != nil {
		return "", err
	}
	if s, err = c.State(own); err != nil {
		return "", err
	}
	if err := f.await(eventstream.Seq(s.Seq)); err != nil {
		return "", err
	}
	if canceled {
		return acp.StopReasonCancelled, nil
	}
	return l.reason(s, f)
}

func (l *live) setFeed(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.feed = f
}

// errCanceled is the error of a permission request that was canceled.
var errCanceled = fault.New(fault.Canceled, "the prompt was canceled")

// reason says why the run has ended.
func (l *live) reason(s *state.State, f *feed) (acp.StopReason, error) {
	last := f.failure()
	switch {
	case s.Status == state.Paused:
		return acp.StopReasonCancelled, nil
	case last != nil && last.Code == "MaxIterationsReached":
		return acp.StopReasonMaxTurnRequests, nil
	case s.Status == state.Errored && last != nil:
		return "", fault.New(fault.Unavailable, last.Detail)
	case s.Status == state.Errored:
		return "", fault.New(fault.Internal, "the run has failed")
	case s.Status == state.Stuck:
		return "", fault.New(fault.Internal, "the agent repeats itself and was stopped").Hint("tell it what to do next")
	}
	return acp.StopReasonEndTurn, nil
}

// work waits for the end of a run, and asks the client wherever actions wait.
func (l *live) work(ctx context.Context, c *session.Conversation) error {
	for {
		asking, err := c.Delegation().Wait(ctx)
		if err != nil {
			return err
		}
		if asking == nil {
			s, err := c.State(ctx)
			if err != nil || s.Status != state.Confirming {
				return err
			}
			asking = c
		}
		if err := l.ask(ctx, asking); err != nil {
			return err
		}
	}
}

// The options of a permission request.
const (
	allowOnce   acp.PermissionOptionId = "once"
	allowAlways acp.PermissionOptionId = "always"
	reject      acp.PermissionOptionId = "reject"
)

// ask asks about the actions of a conversation that wait: of this one, or of a sub-agent. An
// answer that comes after the end of the prompt is none.
func (l *live) ask(ctx context.Context, c *session.Conversation) error {
	open, err := c.Confirmation().Questions(ctx)
	if err != nil {
		return err
	}
	answers := map[event.ID]confirmation.Answer{}
	for _, q := range open {
		r := acp.RequestPermissionRequest{SessionId: acp.SessionId(l.id), ToolCall: questionCall(q), Options: []acp.PermissionOption{
			{OptionId: allowOnce, Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
		}}
		if q.Kind != "" {
			r.Options = append(r.Options, acp.PermissionOption{OptionId: allowAlways, Name: "Always allow " + q.Kind, Kind: acp.PermissionOptionKindAllowAlways})
		}
		r.Options = append(r.Options, acp.PermissionOption{OptionId: reject, Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce})
		got, err := l.s.client().RequestPermission(ctx, r)
		if err != nil {
			return fault.New(fault.Denied, "the client cannot ask for a permission").Because(err).Hint("choose the mode never, or another client")
		}
		if got.Outcome.Selected == nil { // the prompt is being canceled
			return errCanceled
		}
		answer := confirmation.Answer{Choice: confirmation.Reject, Reason: "The user has refused the action."}
		switch got.Outcome.Selected.OptionId {
		case allowOnce:
			answer = confirmation.Answer{Choice: confirmation.Once}
		case allowAlways:
			answer = confirmation.Answer{Choice: confirmation.Always}
		}
		if err := answer.Check(q); err != nil { // an option that was not offered
			return err
		}
		answers[q.Action] = answer
		if answer.Choice == confirmation.Always { // it may cover the next question
			break
		}
	}
	if len(answers) == 0 {
		return nil
	}
	err = c.Confirmation().Answer(context.WithoutCancel(ctx), answers)
	if fault.Is(err, fault.Conflict) { // answered elsewhere meanwhile
		return nil
	}
	return err
}

// replay sends the history: the events of the active branch.
func (l *live) replay(ctx context.Context) error {
	c, err := l.conversation(ctx)
	if err != nil {
		return err
	}
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	parents := map[event.ID]event.ID{}
	for rec, err := range c.Stream().Read(ctx, l.id, 1) {
		if err != nil {
			return err
		}
		parents[rec.ID] = rec.ParentID
	}
	active := map[event.ID]bool{}
	for at := s.Head; at != "" && !active[at]; at = parents[at] {
		active[at] = true
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for rec, err := range c.Stream().Read(ctx, l.id, 1) {
		if err != nil {
			return err
		}
		if !active[rec.ID] {
			continue
		}
		ev, err := rec.Event()
		if err != nil {
			return err
		}
		for _, u := range append(l.t.user(ev), l.t.updates(ev, "", "")...) {
			if err := l.send(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *live) send(ctx context.Context, u acp.SessionUpdate) error {
	return l.s.client().SessionUpdate(ctx, acp.SessionNotification{SessionId: acp.SessionId(l.id), Update: u})
}
