package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
)

// stored measures a server with many conversations.
func (b *bench) stored(ctx context.Context) error {
	dir := filepath.Join(b.dir, "stored")
	made := 0
	for _, n := range []int{b.many / 5, b.many} {
		s, err := b.deftServer(ctx, dir)
		if err != nil {
			return err
		}
		err = errors.Join(b.createMany(ctx, s, filepath.Join(dir, "ws"), n-made), s.stop())
		if err != nil {
			return err
		}
		made = n
		if err := b.listing(ctx, dir, n); err != nil {
			return err
		}
	}
	return nil
}

// createMany creates n conversations, eight at a time: their commits join.
func (b *bench) createMany(ctx context.Context, s *server, workspace string, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	made := make(chan error)
	const clients = 8
	for range clients {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				_, err = s.create(ctx, b.llm.request(workspace, 0))
			}
			made <- err
		}()
	}
	var err error
	for range clients {
		err = errors.Join(err, <-made)
	}
	return err
}

func (b *bench) listing(ctx context.Context, dir string, n int) (err error) {
	s, err := b.deftServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(200 * time.Millisecond)
	before, err := s.ownMemory()
	if err != nil {
		return err
	}
	var first []time.Duration
	for range 40 {
		began := time.Now()
		if _, err := s.call(ctx, "GET", "/api/conversations/search?limit=20", ""); err != nil {
			return err
		}
		first = append(first, time.Since(began))
	}
	began, seen, page := time.Now(), 0, ""
	for {
		raw, err := s.call(ctx, "GET", "/api/conversations/search?limit=100"+page, "")
		if err != nil {
			return err
		}
		// Decoding 80 MB would dominate the measurement.
		seen += bytes.Count(raw, []byte(`"runtime_info":`))
		_, next, _ := bytes.Cut(raw[max(0, len(raw)-100):], []byte(`"next_page_id":`))
		next = bytes.Trim(next, `"}`)
		if string(next) == "null" || len(next) == 0 {
			break
		}
		page = "&page_id=" + string(next)
	}
	walk := time.Since(began)
	if seen != n {
		return fmt.Errorf("walked %d conversations of %d", seen, n)
	}
	after, err := s.ownMemory()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d stored conversations: ", n)
	b.row(what+"start", "<= 100 ms", s.took, 0)
	b.row(what+"first page of 20, p95", "<= 5 ms", quantile(first, 0.95), 0)
	budget := ""
	if n == 10_000 {
		budget = "<= 500 ms"
	}
	b.row(what+"walk all", budget, walk, 0)
	b.note(what+"memory for it", "<= 20 MB", mb(after-before))
	return nil
}

const longEvents = 50_000

// long measures a conversation of 50,000 events.
func (b *bench) long(ctx context.Context) (err error) {
	dir := filepath.Join(b.dir, "long")
	s, err := b.deftServer(ctx, dir)
	if err != nil {
		return err
	}
	id, err := s.create(ctx, b.llm.request(filepath.Join(dir, "ws"), 0))
	if err = errors.Join(err, s.stop()); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(dir, "workspace", "conversations"), id); err != nil {
		return err
	}
	if s, err = b.deftServer(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	began := time.Now()
	if _, err := s.call(ctx, "GET", "/api/conversations/"+string(id)+"/events/search?limit=50&sort_order=TIMESTAMP_DESC", ""); err != nil {
		return err
	}
	b.row("50,000 events: first page after a start", "<= 20 ms", time.Since(began), 0)
	// The first replay reads the conversation in; the second one is replay.
	for _, name := range []string{"50,000 events: replay over a WebSocket, first", "50,000 events: replay over a WebSocket"} {
		d, err := replay(ctx, s, id)
		if err != nil {
			return err
		}
		b.note(name, ">= 200,000 events/s", fmt.Sprintf("%.0f events/s", longEvents/d.Seconds()))
	}
	return nil
}

func fill(ctx context.Context, dir string, id event.ConversationID) (err error) {
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return pairs(ctx, store, id, longEvents)
}

// pairs appends calls and their results.
func pairs(ctx context.Context, store eventstream.Stream, id event.ConversationID, n int) error {
	parent := event.ID("")
	for at := 0; at < n; at += 1000 {
		var evs []event.Event
		for i := range 500 {
			call := fmt.Sprintf("old_%d", at+i)
			a := &event.ActionEvent{
				Base: event.NewBase(event.SourceAgent), ToolName: "terminal", ToolCallID: call, LLMResponseID: call,
				Action:   &event.TerminalAction{Command: "echo " + call},
				ToolCall: event.ToolCall{ID: call, Name: "terminal", Arguments: `{"command":"echo"}`, Origin: event.OriginCompletion},
			}
			o := &event.ObservationEvent{
				Base: event.NewBase(event.SourceEnvironment), ToolName: "terminal", ToolCallID: call, ActionID: a.ID,
				Observation: &event.TerminalObservation{ObservationBase: event.ObservationBase{Content: event.Texts(call)}},
			}
			a.ParentID, o.ParentID, parent = parent, a.ID, o.ID
			a.Timestamp, o.Timestamp = event.Now(), event.Now()
			evs = append(evs, a, o)
		}
		if _, err := store.Append(ctx, id, evs...); err != nil {
			return err
		}
	}
	return nil
}

// replay reads the whole history of a conversation.
func replay(ctx context.Context, s *server, id event.ConversationID) (time.Duration, error) {
	began := time.Now()
	ws, err := s.follow(ctx, id, "?resend_mode=all")
	if err != nil {
		return 0, err
	}
	defer func() { _ = ws.CloseNow() }()
	for range longEvents + 1 { // the state comes first
		if _, _, err := ws.Read(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
