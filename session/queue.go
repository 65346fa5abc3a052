package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// Queued is a message of the user that waits until the agent has ended.
type Queued struct {
	ID   event.ID `json:"id"` // of the event that it becomes
	Text string   `json:"text"`
}

// Queue are the messages that wait until the agent of a conversation has ended. Then the first
// is sent, and the next one when the agent has ended again. They are stored beside the events.
type Queue struct{ c *Conversation }

// Queue returns the conversation's queue.
func (c *Conversation) Queue() Queue { return Queue{c} }

// Bounds of a queue.
const (
	maxQueued     = 50
	maxQueuedText = 256 << 10 // bytes of all messages
)

var (
	errQueueFull   = fault.New(fault.Invalid, "the queue has no room for more: 50 messages and 256 KB").Hint("wait until one was sent, or remove one")
	errQueuedEmpty = fault.New(fault.Invalid, "a message needs a text")
	errNotQueued   = fault.New(fault.NotFound, "the message does not wait any more: it was sent or removed")
)

// Messages returns the waiting messages, in the order in which they are sent.
func (q Queue) Messages() []Queued {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	return append([]Queued{}, q.c.rec.Queue...)
}

// Add puts a message at the end. It is durable when Add returns. Invalid if it is empty or too
// large, or if there are too many; [ErrArchived] if it could never be sent.
func (q Queue) Add(ctx context.Context, text string) (Queued, error) {
	if q.c.archived() {
		return Queued{}, ErrArchived
	}
	one := Queued{event.NewID(), text}
	err := q.change(ctx, func(all []Queued) ([]Queued, error) { return append(all, one), nil })
	if err == nil {
		q.sendLater() // the agent may have ended meanwhile
	}
	return one, err
}

// Edit gives a waiting message another text. NotFound if it does not wait any more.
func (q Queue) Edit(ctx context.Context, id event.ID, text string) error {
	return q.change(ctx, func(all []Queued) ([]Queued, error) {
		i := q.find(all, id)
		if i < 0 {
			return nil, errNotQueued
		}
		all[i].Text = text
		return all, nil
	})
}

// Remove takes a waiting message out. NotFound if it does not wait any more.
func (q Queue) Remove(ctx context.Context, id event.ID) error {
	return q.change(ctx, func(all []Queued) ([]Queued, error) {
		i := q.find(all, id)
		if i < 0 {
			return nil, errNotQueued
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// Send sends a waiting message at once, whatever the agent does: at work, it reads the message at
// its next step; stopped, it goes on. NotFound if the message does not wait any more.
func (q Queue) Send(ctx context.Context, id event.ID) error {
	return q.alone(ctx, func() error {
		one, ok := q.take(id)
		if !ok {
			return errNotQueued
		}
		defer q.give()
		return q.deliver(ctx, one)
	})
}

// find returns the place of a message that may still be changed, or -1. The caller holds mu.
func (q Queue) find(all []Queued, id event.ID) int {
	if id == q.c.sending {
		return -1
	}
	return slices.IndexFunc(all, func(one Queued) bool { return one.ID == id })
}

// change stores a change of the queue, and publishes it.
func (q Queue) change(ctx context.Context, by func([]Queued) ([]Queued, error)) error {
	var failed error
	err := q.c.edit(ctx, func(*eventstream.Meta) {
		var all []Queued
		if all, failed = by(slices.Clone(q.c.rec.Queue)); failed == nil {
			failed = checkQueue(all)
		}
		if failed == nil {
			q.c.rec.Queue = all
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		q.c.publish.queue()
	}
	return err
}

func checkQueue(all []Queued) error {
	size := 0
	for _, one := range all {
		if strings.TrimSpace(one.Text) == "" {
			return errQueuedEmpty
		}
		size += len(one.Text)
	}
	if len(all) > maxQueued || size > maxQueuedText {
		return errQueueFull
	}
	return nil
}

// OpenQueue returns the event that shows the queue. It also goes on with sending, which nothing
// else does after a crash.
func (c *Conversation) OpenQueue() (json.RawMessage, error) {
	q := c.Queue()
	q.sendLater()
	ev, err := q.event()
	if err != nil {
		return nil, err
	}
	return event.Marshal(ev)
}

func (q Queue) event() (event.Event, error) { return event.NewStateUpdate(keyQueue, q.Messages()) }

// queue tells watchers of the present queue. A later queue is not published earlier.
func (p *publisher) queue() {
	p.making.Lock()
	defer p.making.Unlock()
	ev, err := p.c.Queue().event()
	if err != nil {
		p.c.m.o.Log.Error("publish a queue", "conversation", p.c.id, "err", err)
		return
	}
	p.event(ev)
}

// sendLater sends the first message if the agent has ended.
func (q Queue) sendLater() {
	if q.c.m.o.HoldQueues || len(q.Messages()) == 0 {
		return
	}
	q.c.m.running.Go(func() {
		if err := q.sendFirst(q.c.m.ctx); err != nil && q.c.m.ctx.Err() == nil {
			q.c.m.o.Log.Warn("send a queued message", "conversation", q.c.id, "err", err)
			q.c.publish.error("QueuedMessageFailed", err)
		}
	})
}

// sendFirst sends the first message if the agent has ended.
func (q Queue) sendFirst(ctx context.Context) error {
	return q.alone(ctx, func() error {
		w, err := q.c.work(ctx)
		if err != nil {
			return err
		}
		var sent []event.ID // before a crash
		for _, one := range q.Messages() {
			if w.Has(one.ID) {
				sent = append(sent, one.ID)
			}
		}
		if len(sent) > 0 {
			if err := q.drop(ctx, sent...); err != nil {
				return err
			}
		}
		if s := w.Latest(); w.Busy() || s.Status != state.Finished && s.Status != state.Idle {
			return nil
		}
		one, ok := q.take("")
		if !ok {
			return nil
		}
		defer q.give()
		return q.deliver(ctx, one)
	})
}

// alone calls f while no other message of the queue is sent.
func (q Queue) alone(ctx context.Context, f func() error) error {
	select {
	case q.c.sends <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.c.sends }()
	return f()
}

// deliver sends a message that was taken. Its event has the message's id, by which one that was
// sent before a crash is known. The error may be [ErrSaved]: then it was sent, too.
func (q Queue) deliver(ctx context.Context, one Queued) error {
	err := q.c.Send(ctx, Message{ID: one.ID, Role: event.RoleUser, Content: event.List[event.Content]{event.Text(one.Text)}, Run: true})
	if err != nil && !errors.Is(err, ErrSaved) {
		return err
	}
	return errors.Join(err, q.drop(context.WithoutCancel(ctx), one.ID))
}

// drop takes out messages that were sent.
func (q Queue) drop(ctx context.Context, sent ...event.ID) error {
	return q.change(ctx, func(all []Queued) ([]Queued, error) {
		return slices.DeleteFunc(all, func(one Queued) bool { return slices.Contains(sent, one.ID) }), nil
	})
}

// take returns a message, "" for the first, which nobody changes until give is called. ok is
// false if it does not wait.
func (q Queue) take(id event.ID) (one Queued, ok bool) {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	all := q.c.rec.Queue
	i := 0
	if id != "" {
		i = q.find(all, id)
	}
	if i < 0 || i >= len(all) {
		return Queued{}, false
	}
	q.c.sending = all[i].ID
	return all[i], true
}

func (q Queue) give() {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	q.c.sending = ""
}
