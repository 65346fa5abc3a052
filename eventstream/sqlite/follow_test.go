package sqlite_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestFollowBehind lets followers fall behind by more events, and by more bytes,
// than the store keeps in memory for them: they get the events from disk and from
// memory without gap or duplicate.
func TestFollowBehind(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	id := newConversation(t, s)
	const events = 2000
	turn := make(chan struct{})
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			n := eventstream.Seq(0)
			for r, err := range s.Follow(t.Context(), id, 1) {
				if n++; err != nil || r.Seq != n || !strings.Contains(string(r.JSON), fmt.Sprintf(`"number %d `, n)) {
					t.Errorf("follower %d: event %d at position %d: %v", k, r.Seq, n, err)
					return
				}
				if n == events {
					return
				}
				if int(n)%97 == k {
					<-turn // the appends that follow overtake it
				}
			}
		})
	}
	for i := range events {
		ev := event.NewUserMessage(fmt.Sprintf("number %d %s", i+1, strings.Repeat("x", i%3*1000)))
		if _, err := s.Append(t.Context(), id, ev); err != nil {
			t.Fatal(err)
		}
		select {
		case turn <- struct{}{}:
		default:
		}
	}
	close(turn)
	wg.Wait()
}

// TestFollowMadeAnew deletes a conversation and makes another of the same id:
// nothing of it reaches the followers of the first.
func TestFollowMadeAnew(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	id := newConversation(t, s)
	fill(t, s, id, 3)
	n, kind := 0, fault.Kind("")
	for r, err := range s.Follow(t.Context(), id, 1) {
		if err != nil {
			kind = fault.KindOf(err)
			break
		}
		if n++; strings.Contains(string(r.JSON), "anew") {
			t.Fatal("got an event of another conversation")
		}
		if n < 3 {
			continue
		}
		fill(t, s, id, 1) // is in memory when the conversation goes
		must.Succeed(t, s.Delete(t.Context(), id))
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
		for range 6 {
			if _, err := s.Append(t.Context(), id, event.NewUserMessage("anew")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 3 || kind != fault.NotFound {
		t.Fatalf("got %d events and an error of kind %s", n, kind)
	}
}
