package postgres_test

import (
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestRestart crashes the server while two processes append and follow: both
// go on, nothing acknowledged is lost, nothing is stored twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	const crashes, between = 3, 40
	server := postgrestest.Start(t)
	stores := []eventstream.Stream{open(t, server.URL()), open(t, server.URL())}
	id := newConversation(t, stores[0])
	var mu sync.Mutex
	acknowledged := map[eventstream.Seq]event.ID{}
	stop, due := make(chan struct{}), make(chan struct{})
	var writers, followers sync.WaitGroup
	for _, s := range stores {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ev := event.NewUserMessage("x")
				seq, err := s.Append(t.Context(), id, ev)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[seq] = ev.ID
				n := len(acknowledged)
				mu.Unlock()
				if n%between == 0 {
					select {
					case due <- struct{}{}:
					case <-stop:
					}
				}
			}
		})
		followers.Go(func() {
			n := eventstream.Seq(0)
			for r, err := range s.Follow(t.Context(), id, 1) {
				if n++; err != nil || r.Seq != n {
					t.Errorf("got event %d, error %v, want %d", r.Seq, err, n)
					return
				}
				if r.Kind == "PauseEvent" {
					return
				}
			}
		})
	}
	for range crashes {
		<-due
		server.Restart(t)
	}
	<-due
	close(stop)
	writers.Wait()
	if _, err := stores[0].Append(t.Context(), id, &event.PauseEvent{Base: event.NewBase(event.SourceUser)}); err != nil {
		t.Fatal(err)
	}
	followers.Wait()
	t.Logf("%d events were acknowledged", len(acknowledged))
	checkStored(t, stores[0], map[event.ConversationID]map[eventstream.Seq]event.ID{id: acknowledged})
}
