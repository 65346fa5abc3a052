package sqlite_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
)

func openBench(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{})
	must.Succeed(b, err)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func newConversation(tb testing.TB, s eventstream.Stream) event.ConversationID {
	tb.Helper()
	id := event.NewConversationID()
	must.Succeed(tb, s.Create(tb.Context(), id, eventstream.Meta{}))
	return id
}

// fill appends n small events, a thousand at a time.
func fill(tb testing.TB, s eventstream.Stream, id event.ConversationID, n int) {
	tb.Helper()
	for n > 0 {
		evs := make([]event.Event, min(n, 1000))
		for i := range evs {
			evs[i] = event.NewUserMessage("hello")
		}
		if _, err := s.Append(tb.Context(), id, evs...); err != nil {
			tb.Fatal(err)
		}
		n -= len(evs)
	}
}

func reportP50(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkAppendAlone(b *testing.B) {
	s := openBench(b)
	id := newConversation(b, s)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		ev := event.NewUserMessage("hello")
		start := time.Now()
		if _, err := s.Append(b.Context(), id, ev); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	reportP50(b, took)
}

// BenchmarkAppend64Of1000 spreads the events over many conversations, as many
// as a server has running.
func BenchmarkAppend64Of1000(b *testing.B) {
	s := openBench(b)
	appendFrom64(b, s, 1000)
}

// appendFrom64 appends b.N events from 64 goroutines, each to its share of
// the conversations in random order.
func appendFrom64(b *testing.B, s eventstream.Stream, conversations int) []event.ConversationID {
	const writers = 64
	ids := make([]event.ConversationID, conversations)
	for i := range ids {
		ids[i] = newConversation(b, s)
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			for i := w; i < b.N; i += writers {
				if _, err := s.Append(context.Background(), ids[i%conversations], event.NewUserMessage("hello")); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	return ids
}

func BenchmarkRead(b *testing.B) {
	const events = 50_000
	s := openBench(b)
	id := newConversation(b, s)
	fill(b, s, id, events)
	benchRead(b, s, id, events)
}

func benchRead(b *testing.B, s eventstream.Stream, id event.ConversationID, events int) {
	b.Helper()
	for b.Loop() {
		n := 0
		for _, err := range s.Read(b.Context(), id, 1) {
			must.Succeed(b, err)
			n++
		}
		if n != events {
			b.Fatalf("read %d events", n)
		}
	}
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
}

// many fills a store with conversations that have a Summary and an Extra of 8 KB
// each.
func many(b *testing.B, s eventstream.Stream, n int) {
	b.Helper()
	extra, err := json.Marshal(map[string]string{"state": strings.Repeat(`some "text" `, 700)})
	must.Succeed(b, err)
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				id := event.NewConversationID()
				must.Report(b, s.Create(context.Background(), id, eventstream.Meta{Owner: "local", Title: "a title", Summary: extra, SummaryAt: 2, Extra: extra}))
				if _, err := s.Append(context.Background(), id, event.NewUserMessage("hello"), event.NewUserMessage("hello")); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkListPage10000 gets the first page of each listing.
func BenchmarkListPage10000(b *testing.B) {
	s := openBench(b)
	many(b, s, 10_000)
	for name, q := range map[string]eventstream.ListQuery{
		"created": {}, "updated": {ByUpdated: true}, "owner": {Owner: "local"}, "ownerUpdated": {Owner: "local", ByUpdated: true},
		"idle": {Status: "idle"}, "running": {Status: "running", ByUpdated: true},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := s.List(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
		})
	}
}
