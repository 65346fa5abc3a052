package acpserve

import (
	"context"
	"fmt"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session"
)

// maxPending bounds the parts of an answer that wait for a slow client, in bytes. Beyond it the
// rest of the answer comes with its event.
const maxPending = 1 << 20

// feed sends the events of a conversation, and the parts of an answer while a model writes it, to
// the client.
type feed struct {
	l       *live
	ctx     context.Context
	cancel  func()
	unwatch func()
	wake    chan struct{} // holds one
	work    sync.WaitGroup
	over    chan struct{} // closed when no further event comes, because of err
	err     error

	progress progress
	stirred  chan struct{} // holds one while progress has news

	mu      sync.Mutex // guards the parts that wait
	pending []session.Piece
	size    int
	lost    event.ID // the answer of which parts were dropped

	sending sync.Mutex // guards the fields below, and the order of updates
	told    eventstream.Seq
	moved   chan struct{} // closed, and replaced, when told grows
	anchor  eventstream.Seq
	item    event.ID // the answer that is being written
	text    strings.Builder
	thought strings.Builder
	failed  *event.ConversationErrorEvent // the last one
	gone    bool                          // the client
}

// follow sends what comes from a Seq on, until end.
func (l *live) follow(ctx context.Context, c *session.Conversation, from eventstream.Seq) *feed {
	f := &feed{l: l, wake: make(chan struct{}, 1), stirred: make(chan struct{}, 1), over: make(chan struct{}), told: from - 1, moved: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.unwatch = c.Watch(f.piece)
	f.work.Go(func() {
		defer close(f.over)
		for rec, err := range c.Stream().Follow(f.ctx, l.id, from) {
			if err != nil {
				f.err = err
				return
			}
			f.record(rec)
		}
	})
	f.work.Go(f.showProgress)
	f.work.Go(func() {
		for {
			select {
			case <-f.wake:
				f.flush()
			case <-f.ctx.Done():
				return
			}
		}
	})
	return f
}

func (f *feed) end() {
	f.unwatch()
	f.cancel()
	f.work.Wait()
}

// await waits until the events up to a Seq were sent. The error says that they cannot be read.
func (f *feed) await(seq eventstream.Seq) error {
	for {
		f.sending.Lock()
		told, moved := f.told, f.moved
		f.sending.Unlock()
		if told >= seq {
			return nil
		}
		select {
		case <-moved:
		case <-f.over:
			return fmt.Errorf("read the conversation: %w", f.err)
		}
	}
}

// failure returns the last error of the conversation; nil if there was none.
func (f *feed) failure() *event.ConversationErrorEvent {
	f.sending.Lock()
	defer f.sending.Unlock()
	return f.failed
}

// piece takes a part of an answer. It does not block.
func (f *feed) piece(tr session.Transient) {
	if tr.Output != nil {
		f.output(*tr.Output)
	}
	p := tr.Piece
	if p == nil || p.Kind == "call" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case p.Started:
		f.lost = ""
	case p.Item == f.lost:
		return
	case f.size+len(p.Content) > maxPending:
		f.lost = p.Item
		return
	}
	f.pending, f.size = append(f.pending, *p), f.size+len(p.Content)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// flush sends the parts that may come now: after the event that their answer follows.
func (f *feed) flush() {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.flushLocked()
}

func (f *feed) flushLocked() {
	f.mu.Lock()
	ready := 0
	for anchor := f.anchor; ready < len(f.pending); ready++ {
		if f.pending[ready].Started {
			anchor = f.pending[ready].Anchor
		}
		if anchor > f.told {
			break
		}
	}
	parts := f.pending[:ready]
	f.pending = f.pending[ready:]
	for _, p := range parts {
		f.size -= len(p.Content)
	}
	f.mu.Unlock()
	for _, p := range parts {
		switch {
		case p.Started:
			f.begin(p.Item, p.Anchor)
		case p.Aborted != "" && f.item == p.Item && f.text.Len() > 0:
			f.send(acp.UpdateAgentMessageText("\n\n"))
		case f.item != p.Item || p.Content == "":
		case p.Kind == "reasoning":
			f.thought.WriteString(p.Content)
			f.send(acp.UpdateAgentThoughtText(p.Content))
		default:
			f.text.WriteString(p.Content)
			f.send(acp.UpdateAgentMessageText(p.Content))
		}
	}
}

func (f *feed) begin(item event.ID, anchor eventstream.Seq) {
	f.item, f.anchor = item, anchor
	f.text.Reset()
	f.thought.Reset()
}

// record sends an event, without the text of it that was sent before.
func (f *feed) record(rec eventstream.Record) {
	f.sending.Lock()
	defer f.sending.Unlock()
	ev, err := rec.Event()
	if err != nil {
		f.l.s.o.Log.Warn("read an event", "conversation", f.l.id, "event", rec.ID, "err", err)
	} else {
		text, thought := "", ""
		if rec.ID == f.item {
			text, thought = f.text.String(), f.thought.String()
			f.begin("", rec.Seq)
		}
		if e, ok := ev.(*event.ConversationErrorEvent); ok {
			f.failed = e
		}
		for _, u := range f.l.t.updates(ev, text, thought) {
			if u.ToolCallUpdate != nil {
				f.progress.end(u.ToolCallUpdate.ToolCallId)
			}
			f.send(u)
		}
	}
	f.told = rec.Seq
	close(f.moved)
	f.moved = make(chan struct{})
	f.flushLocked()
}

// send sends an update. A client that has gone away ends the prompt by its context.
func (f *feed) send(u acp.SessionUpdate) {
	if f.gone {
		return
	}
	if err := f.l.send(f.ctx, u); err != nil {
		f.gone = true
	}
}
