package socket

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// output is Deft's own: the reference shows output when a command has ended.
func (s *Service) output(w http.ResponseWriter, r *http.Request) error {
	return s.open(w, r, rest.QueryOf(r), plan{style: output})
}

// outputFrame is a piece of output on the wire.
type outputFrame struct {
	Type   string   `json:"type"`
	Action event.ID `json:"action_id"`
	Text   string   `json:"text"`
	Cut    bool     `json:"cut,omitempty"`
}

// serveOutput sends the output of a conversation's actions.
func (s *Service) serveOutput(ctx context.Context, cancel func(), l *link, p plan) {
	c, err := s.o.Find(ctx, p.id)
	if err != nil {
		l.end(endOf(err))
		return
	}
	f, err := s.enter(p.id, s.follow(c)) // counts as a follower, and keeps it loaded
	if err != nil {
		l.end(endOf(err))
		return
	}
	defer s.exit(p.id, f)
	b := &outbox{news: make(chan struct{}, 1), waiting: map[event.ID]*session.Output{}}
	defer c.WatchOutput(b.put)()
	write := func(ctx context.Context) {
		for {
			for _, o := range b.take() {
				raw, err := json.Marshal(outputFrame{"output", o.Action, o.Text, o.Cut})
				if err == nil {
					err = l.sendText(raw)
				}
				if err != nil {
					_ = l.Conn.Close() // the reader ends
					return
				}
			}
			select {
			case <-b.news:
			case <-ctx.Done():
				return
			}
		}
	}
	ignore := func(context.Context, []byte) error { return nil }
	s.talk(ctx, cancel, l, p, write, ignore)
}

// maxWaiting bounds how much of an action's output waits for a client, in bytes.
const maxWaiting = 64 << 10

// outbox has the output that waits for a client: for each action one piece, which
// loses its beginning when it becomes too long.
type outbox struct {
	news chan struct{}

	mu      sync.Mutex
	order   []event.ID
	waiting map[event.ID]*session.Output
}

func (b *outbox) put(o session.Output) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[o.Action]
	if w == nil {
		w = &session.Output{Action: o.Action}
		b.waiting[o.Action] = w
		b.order = append(b.order, o.Action)
	}
	w.Text += o.Text
	w.Cut = w.Cut || o.Cut
	if len(w.Text) > 2*maxWaiting {
		w.Text, w.Cut = end(w.Text), true
	}
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// end is the end of a text, from a line or at least a character on.
func end(text string) string {
	text = text[len(text)-maxWaiting:]
	if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
		text = rest
	}
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return strings.Clone(text)
}

// take returns the waiting output.
func (b *outbox) take() []*session.Output {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]*session.Output, len(b.order))
	for i, id := range b.order {
		all[i] = b.waiting[id]
	}
	b.order = b.order[:0]
	clear(b.waiting)
	return all
}
