package v0

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/appserver/v0event"
	"github.com/deft-dev/deft/server/socketio"
	"github.com/deft-dev/deft/state"
)

// What is sent to clients.
const eventName = "oh_event"

// socket serves Socket.IO. Clients show who they are as for any other route: browsers by
// their session, and only pages of this server may open a socket.
func (s *Service) socket(w http.ResponseWriter, r *http.Request) error {
	s.sockets.ServeHTTP(w, r)
	return nil
}

// follower is a client that follows a conversation. It is a position in the stream: what
// the client has not read yet is not in memory.
type follower struct {
	s     *Service
	owner identity.Tenant
	id    event.ConversationID
	// latest is the id of the newest event that the client has, -1 for none.
	latest int64
	title  string // that the client knows
	emit   socketio.Emit
}

// connect makes the session of a client (docs/openhands/app-server-v0.md section 4.4).
func (s *Service) connect(r *http.Request) (socketio.Session, error) {
	q := r.URL.Query()
	if q.Get("conversation_id") == "" {
		return nil, &socketio.Refused{Message: "No conversation_id in query params"}
	}
	f := &follower{s: s, owner: identity.CallerOf(r.Context()).Owner, latest: -1}
	missing := &socketio.Refused{Message: "The conversation does not exist", Data: map[string]string{"msg_id": messageIDs[fault.NotFound]}}
	var err error
	if f.id, err = parseID(q.Get("conversation_id")); err != nil {
		return nil, missing
	}
	if _, _, err = s.findFor(r.Context(), string(f.owner), f.id); isMissing(err) {
		return nil, missing
	} else if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(q.Get("latest_event_id"), 10, 64); err == nil && n > f.latest {
		f.latest = n
	}
	return f, nil
}

// connections returns how many clients follow a conversation.
func (s *Service) connections(id event.ConversationID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected[id]
}

// count adds n to the clients of a conversation.
func (s *Service) count(id event.ConversationID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected[id] += n; s.connected[id] == 0 {
		delete(s.connected, id)
	}
}

// errElsewhere ends the socket of a client that waits for a start on another server: it
// connects again.
var errElsewhere = errors.New("the conversation is being started by another server")

// Run implements [socketio.Session].
func (f *follower) Run(ctx context.Context, emit socketio.Emit) error {
	f.s.count(f.id, 1)
	defer f.s.count(f.id, -1)
	f.emit = emit
	begun, err := f.awaitStart(ctx)
	if err == nil && begun {
		err = f.follow(ctx)
	}
	if ctx.Err() != nil || isMissing(err) { // the conversation was deleted
		return nil
	}
	return err
}

// awaitStart returns when the conversation exists; begun is false if it could not be
// started, which the client is told.
func (f *follower) awaitStart(ctx context.Context) (begun bool, err error) {
	info, t, err := f.s.findFor(ctx, string(f.owner), f.id)
	if err != nil {
		return false, err
	}
	if info != nil {
		f.title = info.Meta.Title
	}
	if info != nil && (t == nil || t.Status.Ended()) {
		return true, nil
	}
	last := *t
	err = f.s.o.Conversations.Follow(ctx, f.owner, t.ID, func(now store.Task) error {
		last = now
		if now.Status == store.Failed {
			return nil
		}
		return f.status("info", runtimeStatus(now.Status), "")
	})
	switch {
	case err != nil:
		return false, err
	case last.Status == store.Failed:
		return false, f.status("error", runtimeStatus(last.Status), last.Detail)
	case !last.Status.Ended():
		return false, errElsewhere
	}
	return true, nil
}

// status sends a status update. OpenHands' page shows errors that have the members of an
// event; at anything else that has them it takes an error away that it shows.
func (f *follower) status(kind, id, message string) error {
	return sendStatus(f.emit, map[string]any{"type": kind, "id": id, "message": message})
}

func sendStatus(emit socketio.Emit, update map[string]any) error {
	update["status_update"] = true
	if update["type"] == "error" {
		update["source"], update["timestamp"] = "environment", event.Now()
	}
	raw, err := json.Marshal(update)
	if err != nil {
		return err
	}
	return emit(eventName, raw)
}

// follow sends what the client does not have, and then what happens.
func (f *follower) follow(ctx context.Context) error {
	st, err := f.s.o.Conversations.Scope(f.owner).Events(ctx, f.id)
	if err != nil {
		return err
	}
	last, err := st.Last(ctx, f.id)
	if err != nil {
		return err
	}
	info, err := f.s.o.Conversations.One(ctx, f.owner, f.id)
	if err != nil {
		return err
	}
	t := v0event.Translator{Find: v0event.Finder(ctx, st, f.id)}
	if info.In != nil { // OpenHands' page finds the changes of a file by its path below V0's workspace
		t.Workspace = filepath.Join(info.In.Directory, sandboxes.ProjectDirectory)
	}
	next := v0event.SeqOf(f.latest + 1)
	replay := &replay{f: f, last: last}
	if next > last {
		if err := replay.end(ctx, st); err != nil {
			return err
		}
	}
	for {
		next, err = f.pass(ctx, st, &t, replay, next)
		if !fault.Is(err, fault.Corrupt) {
			return err
		}
		next++ // the damaged one is left out
	}
}

// pass sends the events from one on until an error, and returns where that was.
func (f *follower) pass(ctx context.Context, st eventstream.Stream, t *v0event.Translator, replay *replay, next eventstream.Seq) (eventstream.Seq, error) {
	for rec, err := range st.Follow(ctx, f.id, next) {
		if err != nil {
			return next, err
		}
		next = rec.Seq + 1
		out := t.Add(rec)
		if t.Holds() {
			newest, err := st.Last(ctx, f.id)
			if err != nil {
				return next, err
			}
			if rec.Seq >= newest { // nothing follows yet that says more of what is held
				out = append(out, t.Flush()...)
			}
		}
		if err := f.send(ctx, st, replay, out); err != nil {
			return next, err
		}
		if !replay.ended && rec.Seq >= replay.last {
			if err := replay.end(ctx, st); err != nil {
				return next, err
			}
		}
	}
	return next, ctx.Err()
}

// waitFirst puts the state in which the agent waits for its user before the actions that it
// asks about, as the reference sends them. OpenHands' page draws its list of events when one
// is added: an action that came before the state would have no buttons. The state gets an id
// below theirs, so that a client that was cut off after it asks for the actions again.
func waitFirst(events []*v0event.Event) []*v0event.Event {
	last := len(events) - 1
	if last < 1 || !events[last].Asks() {
		return events
	}
	asks := *events[last]
	asks.ID = events[0].ID - 1
	return slices.Insert(events[:last:last], 0, &asks)
}

// send sends events that the client does not have.
func (f *follower) send(ctx context.Context, st eventstream.Stream, replay *replay, events []*v0event.Event) error {
	if replay.ended {
		events = waitFirst(events)
	}
	for _, e := range events {
		switch {
		case e.ID <= f.latest, e.Empty():
			continue
		case e.StateChanged() && !replay.ended:
			replay.state = e
			continue
		}
		if err := f.one(e); err != nil {
			return err
		}
		if e.StateChanged() {
			if err := f.newTitle(ctx, st); err != nil {
				return err
			}
		}
	}
	return nil
}

// asAgent are observations of the environment that clients are sent as the agent's.
var asAgent = map[string]bool{"run": true, "agent_state_changed": true, "recall": true, "error": true}

// one sends an event.
func (f *follower) one(e *v0event.Event) error {
	if asAgent[e.Observation] && e.Source == "environment" {
		e.Source = "agent"
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return f.emit(eventName, raw)
}

// newTitle tells the client when the conversation has another title. It gets one while it
// first works.
func (f *follower) newTitle(ctx context.Context, st eventstream.Stream) error {
	info, err := st.Info(ctx, f.id)
	if err != nil || info.Meta.Title == f.title {
		return err
	}
	f.title = info.Meta.Title
	return sendStatus(f.emit, map[string]any{"type": "info", "id": "", "message": f.id.Hex(), "conversation_title": f.title})
}

// replay is the part of the stream that was there when a client came. Of the changes of
// the agent's state only the last one is sent, after everything else.
type replay struct {
	f     *follower
	last  eventstream.Seq
	state *v0event.Event
	ended bool
}

// end sends the state of the agent. Without one a client waits for ever, so one that has
// just come is told of it even if nothing was stored.
func (r *replay) end(ctx context.Context, st eventstream.Stream) error {
	r.ended = true
	if r.state == nil && r.f.latest < 0 {
		info, err := st.Info(ctx, r.f.id)
		if err != nil {
			return err
		}
		status := state.Idle
		if info.Status != "" {
			status = state.Status(info.Status)
		}
		r.state = v0event.Current(v0event.ID(r.last, 1), status, event.At(info.Updated))
	}
	if r.state == nil {
		return nil
	}
	return r.f.one(r.state)
}

// Event implements [socketio.Session].
func (f *follower) Event(ctx context.Context, emit socketio.Emit, name string, args []json.RawMessage) {
	err := fault.New(fault.Unsupported, "this server takes no event "+strconv.Quote(name))
	var failed error = err
	if name == "oh_user_action" || name == "oh_action" {
		if failed = fault.New(fault.Invalid, "the event has no data"); len(args) > 0 {
			failed = f.s.act(ctx, f.owner, f.id, args[0])
		}
	}
	if failed == nil || ctx.Err() != nil {
		return
	}
	if fault.KindOf(failed) == fault.Internal {
		f.s.o.Log.Error("an action of a user failed", "conversation", f.id, "err", failed)
	}
	_ = sendStatus(emit, map[string]any{"type": "error", "id": "STATUS$ERROR", "message": describe(failed), "error": true}) // the client may be gone
}
