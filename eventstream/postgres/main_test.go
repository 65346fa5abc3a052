package postgres_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/eventstreamtest"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("DEFT_POSTGRES_CHILD"); mode != "" {
		os.Exit(child(mode, os.Getenv("DEFT_POSTGRES_URL"), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// open opens a store that is closed when the test ends.
func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return openAs(t, url, "")
}

// openAs opens a store in a process that others reach at an address.
func openAs(t testing.TB, url, address string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{Address: address})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	eventstreamtest.Run(t, func(t *testing.T) eventstream.Stream { return open(t, postgrestest.URL(t)) })
}

func newConversation(tb testing.TB, s eventstream.Stream) event.ConversationID {
	tb.Helper()
	id := event.NewConversationID()
	must.Succeed(tb, s.Create(tb.Context(), id, eventstream.Meta{}))
	return id
}

// fill appends n small events.
func fill(tb testing.TB, s eventstream.Stream, id event.ConversationID, n int) {
	tb.Helper()
	evs := make([]event.Event, n)
	for i := range evs {
		evs[i] = event.NewUserMessage("hello")
	}
	if _, err := s.Append(tb.Context(), id, evs...); err != nil {
		tb.Fatal(err)
	}
}
