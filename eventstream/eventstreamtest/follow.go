package eventstreamtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func testFollow(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	evs := messages(20)
	want := encodeAll(t, 1, evs...)
	appendAll(t, s, id, evs[:5]...)
	next := 3
	for r, err := range s.Follow(t.Context(), id, 4) {
		must.Succeed(t, err)
		same(t, "record", want[next], r)
		if next++; next == len(want) {
			break
		}
		if next >= 5 { // history is over: the rest comes one at a time
			appendAll(t, s, id, evs[next])
		}
	}
	same(t, "last", len(want), next)
}

func testFollowEnds(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	appendAll(t, s, id, messages(1)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Follow(ctx, id, 1) {
		cancel()
		last = err
	}
	isKind(t, last, fault.Canceled)

	for _, err := range s.Follow(t.Context(), event.NewConversationID(), 1) {
		last = err
	}
	isKind(t, last, fault.NotFound)

	done := make(chan error)
	got := make(chan struct{})
	go func() {
		var last error
		for _, err := range s.Follow(context.Background(), id, 1) {
			if last = err; err == nil {
				close(got)
			}
		}
		done <- last
	}()
	<-got
	must.Succeed(t, s.Close())
	isKind(t, <-done, fault.Canceled)
}

func testFollowDeleted(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	appendAll(t, s, id, messages(1)...)
	var last error
	for _, err := range s.Follow(t.Context(), id, 1) {
		if last = err; err != nil {
			continue
		}
		must.Succeed(t, s.Delete(t.Context(), id))
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
		appendAll(t, s, id, messages(2)...)
	}
	isKind(t, last, fault.NotFound)
}

// testFollowersJoin lets followers join while writers append. Each must see
// every event once, in order.
func testFollowersJoin(t *testing.T, s eventstream.Stream) {
	const writers, each, followers = 4, 150, 12
	id := create(t, s)
	var wg sync.WaitGroup
	joined := make(chan struct{}, writers*each)
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := s.Append(t.Context(), id, messages(1)...); err != nil {
					t.Error(err)
				}
				joined <- struct{}{}
			}
		})
	}
	for f := range followers {
		for range writers * each / followers { // spread the joins over the run
			<-joined
		}
		wg.Go(func() {
			from := eventstream.Seq(1 + f*10)
			next := from
			for r, err := range s.Follow(t.Context(), id, from) {
				if err != nil || r.Seq != next {
					t.Errorf("follower %d: got event %d, error %v, want event %d", f, r.Seq, err, next)
					return
				}
				if next++; next > writers*each {
					return
				}
			}
		})
	}
	wg.Wait()
}

// testWriters appends to several conversations from many goroutines; some
// requests are refused and must not harm the others.
func testWriters(t *testing.T, s eventstream.Stream) {
	const conversations, writers, each = 4, 16, 40
	var ids []event.ConversationID
	for range conversations {
		ids = append(ids, create(t, s))
	}
	taken := event.NewUserMessage("taken")
	for _, id := range ids {
		appendAll(t, s, id, taken)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			id := ids[w%conversations]
			for i := range each {
				evs := []event.Event{event.NewUserMessage(fmt.Sprintf("%d a", w)), event.NewUserMessage(fmt.Sprintf("%d b", w))}
				if i%5 == 0 {
					if _, err := s.Append(context.Background(), id, evs[0], taken); !fault.Is(err, fault.Conflict) {
						t.Errorf("got %v, want a conflict", err)
					}
				}
				last, err := s.Append(context.Background(), id, evs...)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := s.Get(context.Background(), id, evs[1].Meta().ID)
				if err != nil || got.Seq != last {
					t.Errorf("got event %d, error %v, want %d", got.Seq, err, last)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		same(t, "events", 1+writers/conversations*each*2, len(readAll(t, s, id, 1)))
		same(t, "info", eventstream.Seq(1+writers/conversations*each*2), info(t, s, id).Events)
	}
}

// testSlowReader holds many reads open without taking from them; others must
// go on.
func testSlowReader(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	appendAll(t, s, id, messages(2000)...)
	const readers = 50
	var wg, started sync.WaitGroup
	release := make(chan struct{})
	started.Add(readers)
	for range readers {
		wg.Go(func() {
			n := eventstream.Seq(0)
			for r, err := range s.Follow(t.Context(), id, 1) {
				if n++; err != nil || r.Seq != n {
					t.Errorf("got event %d, error %v, want %d", r.Seq, err, n)
					return
				}
				if n == 1 {
					started.Done()
					<-release
				}
				if n == 2001 {
					return
				}
			}
		})
	}
	started.Wait()
	appendAll(t, s, id, messages(1)...)
	same(t, "read beside", 2001, len(readAll(t, s, id, 1)))
	close(release)
	wg.Wait()
}
