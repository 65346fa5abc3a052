package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
)

func openBench(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func newConversation(tb testing.TB, s eventstream.Stream) event.ConversationID {
	tb.Helper()
	id := event.NewConversationID()
	if err := s.Create(tb.Context(), id, eventstream.Meta{}); err != nil {
		tb.Fatal(err)
	}
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

func BenchmarkAppend64Writers(b *testing.B) {
	const writers = 64
	s := openBench(b)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			id := event.NewConversationID()
			if err := s.Create(context.Background(), id, eventstream.Meta{}); err != nil {
				b.Error(err)
				return
			}
			for i := w; i < b.N; i += writers {
				if _, err := s.Append(context.Background(), id, event.NewUserMessage("hello")); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDiskFsync is the floor under a durable append: 4 KB written and
// synced, as SQLite does it.
func BenchmarkDiskFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	took := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if _, err := f.WriteAt(block, int64(i%1000)*4096); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	reportP50(b, took)
}

func BenchmarkRead(b *testing.B) {
	const events = 50_000
	s := openBench(b)
	id := newConversation(b, s)
	fill(b, s, id, events)
	for b.Loop() {
		n := 0
		for _, err := range s.Read(b.Context(), id, 1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != events {
			b.Fatalf("read %d events", n)
		}
	}
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkSearchRareKind(b *testing.B) {
	const events = 100_000
	s := openBench(b)
	id := newConversation(b, s)
	fill(b, s, id, events)
	if _, err := s.Append(b.Context(), id, &event.PauseEvent{Base: event.NewBase(event.SourceUser)}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := s.Search(b.Context(), id, eventstream.Query{Kinds: []string{"PauseEvent"}})
		if err != nil || len(p.Records) != 1 {
			b.Fatal(len(p.Records), err)
		}
	}
}

func BenchmarkFork(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b)
			id := newConversation(b, s)
			fill(b, s, id, n)
			for b.Loop() {
				err := s.Fork(b.Context(), event.NewConversationID(), id, []eventstream.Segment{{First: 1, Last: eventstream.Seq(n)}}, eventstream.Meta{})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), dir, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBodySearch(b *testing.B) {
	s := openBench(b)
	id := newConversation(b, s)
	fill(b, s, id, 10_000)
	for b.Loop() {
		if _, err := s.Search(b.Context(), id, eventstream.Query{Body: strings.Repeat("x", 8)}); err != nil {
			b.Fatal(err)
		}
	}
}
