package socket

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/deft-dev/deft/eventstream"
)

// serve serves a connection until it ends.
func (s *Service) serve(l *link, p plan) {
	defer drain(l)
	if !p.known && !s.authenticate(l) {
		l.shut(4001, "Authentication failed")
		return
	}
	l.ws.SetReadLimit(MaxMessage)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if p.style == shell {
		s.serveShell(ctx, cancel, l, p)
		return
	}
	if p.style == terminal {
		s.serveTerminal(ctx, cancel, l, p)
		return
	}
	if p.style == view {
		s.serveView(ctx, cancel, l, p)
		return
	}
	if p.style == output {
		s.serveOutput(ctx, cancel, l, p)
		return
	}
	f := &follower{s: s, l: l, p: p, news: make(chan struct{}, 1)}
	leave, err := s.join(ctx, f)
	if err != nil {
		l.end(endOf(err))
		return
	}
	defer leave()
	if err := f.sendFirst(ctx); err != nil {
		if !errors.Is(err, errGone) {
			l.end(endOf(err))
		}
		return
	}
	stop := func() {
		cancel()
		f.poke()
	}
	s.talk(ctx, stop, l, p, f.write, f.handle)
}

// talk writes and reads until either ends.
func (s *Service) talk(ctx context.Context, stop func(), l *link, p plan, write func(context.Context), handle func(context.Context, []byte) error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		write(ctx)
	}()
	s.read(ctx, l, p, handle)
	stop()
	l.unblock()
	<-done
}

// drain reads until a client has answered a close frame, if one was sent.
func drain(l *link) {
	if !l.closeSent() || l.SetReadDeadline(time.Now().Add(closeTimeout)) != nil {
		return
	}
	for {
		_, r, err := l.ws.Reader(context.Background())
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return
		}
	}
}

// join finds the conversation of a client and adds it to the followers.
func (s *Service) join(ctx context.Context, f *follower) (leave func(), err error) {
	if f.c, err = s.o.Find(ctx, f.p.id); err != nil {
		return nil, err
	}
	feed, err := s.enter(f.p.id, s.follow(f.c))
	if err != nil {
		return nil, err
	}
	f.ring = feed.ring
	if err := f.position(ctx); err != nil {
		s.exit(f.p.id, feed)
		return nil, err
	}
	f.ring.join(f)
	return func() {
		f.ring.leave(f)
		s.exit(f.p.id, feed)
	}, nil
}

// position sets where a follower begins. The number of events is read before the
// full state is made: events in between are in both, never in none.
func (f *follower) position(ctx context.Context) error {
	last, err := f.c.Stream().Last(ctx, f.p.id)
	if err != nil {
		return err
	}
	f.until, f.next = last, f.p.from(last)
	if f.p.since == "" {
		return nil
	}
	f.since = func(r *record) bool { return r.Timestamp >= f.p.since }
	page, err := f.c.Stream().Search(ctx, f.p.id, eventstream.Query{From: f.p.since, Limit: 1})
	if err != nil {
		return err
	}
	f.next = f.until + 1
	if len(page.Records) > 0 {
		f.next = page.Records[0].Seq
	}
	return nil
}

// sendFirst sends the first frame: the full state, or the start of a session. The queue and
// the unfinished answer follow the state.
func (f *follower) sendFirst(ctx context.Context) error {
	if f.p.style == plain {
		if err := f.sendState(ctx); err != nil {
			return err
		}
		return f.sendOwn()
	}
	f.owes = true // once the history is sent
	b := []byte(`{"type":"sync"`)
	if f.p.after != nil {
		b = strconv.AppendInt(append(b, `,"from_seq":`...), int64(*f.p.after), 10)
	}
	if f.until > 0 {
		b = strconv.AppendInt(append(b, `,"through_seq":`...), index(f.until), 10)
	}
	return f.l.sendText(append(b, '}'))
}
