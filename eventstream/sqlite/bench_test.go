package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	s := openBench(b)
	appendFrom64(b, s, 64)
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

// BenchmarkDiskFsync is the lower bound of a durable append: 4 KB written and
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
	benchRead(b, s, id, events)
}

func benchRead(b *testing.B, s eventstream.Stream, id event.ConversationID, events int) {
	b.Helper()
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
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReadInterleaved reads a conversation that was written together
// with 63 others.
func BenchmarkReadInterleaved(b *testing.B) {
	const events = 1000
	s := openBench(b)
	var ids []event.ConversationID
	for range 64 {
		ids = append(ids, newConversation(b, s))
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for range events {
				if _, err := s.Append(context.Background(), id, event.NewUserMessage("hello")); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	benchRead(b, s, ids[0], events)
}

// BenchmarkFollow1000 is one append until each of a thousand followers has
// it.
func BenchmarkFollow1000(b *testing.B) {
	const followers = 1000
	s := openBench(b)
	id := newConversation(b, s)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	got := make(chan struct{}, followers)
	for range followers {
		wg.Go(func() {
			for _, err := range s.Follow(ctx, id, 1) {
				if err != nil {
					return // canceled at the end
				}
				got <- struct{}{}
			}
		})
	}
	step := func() {
		if _, err := s.Append(b.Context(), id, event.NewUserMessage("hello")); err != nil {
			b.Fatal(err)
		}
		for range followers {
			<-got
		}
	}
	step()
	for b.Loop() {
		step()
	}
	cancel()
	wg.Wait()
}

// many fills a store with conversations that have a Summary and an Extra of 8 KB
// each.
func many(b *testing.B, s eventstream.Stream, n int) {
	b.Helper()
	extra, err := json.Marshal(map[string]string{"state": strings.Repeat(`some "text" `, 700)})
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				id := event.NewConversationID()
				if err := s.Create(context.Background(), id, eventstream.Meta{Owner: "local", Title: "a title", Summary: extra, SummaryAt: 2, Extra: extra}); err != nil {
					b.Error(err)
				}
				if _, err := s.Append(context.Background(), id, event.NewUserMessage("hello"), event.NewUserMessage("hello")); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkList10000 walks all pages.
func BenchmarkList10000(b *testing.B) {
	const n = 10_000
	s := openBench(b)
	many(b, s, n)
	for name, q := range map[string]eventstream.ListQuery{"created": {}, "updated": {ByUpdated: true}, "status": {Status: "none"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found := 0
				for q.PageID = ""; ; {
					page, err := s.List(b.Context(), q)
					if err != nil {
						b.Fatal(err)
					}
					found += len(page.Infos)
					if q.PageID = page.NextID; q.PageID == "" {
						break
					}
				}
				if want := n; q.Status == "" && found != want {
					b.Fatalf("listed %d conversations", found)
				}
			}
		})
	}
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

// BenchmarkAppendLarge appends to a conversation with a Summary and an Extra of
// 64 KB each.
func BenchmarkAppendLarge(b *testing.B) {
	s := openBench(b)
	id := newConversation(b, s)
	large := json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)
	if err := s.SetMeta(b.Context(), id, eventstream.Meta{Summary: large, Extra: large}); err != nil {
		b.Fatal(err)
	}
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

// BenchmarkOpen10000 opens a store of many conversations.
func BenchmarkOpen10000(b *testing.B) {
	dir := b.TempDir()
	s, err := sqlite.Open(b.Context(), dir, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	many(b, s, 10_000)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	benchOpen(b, dir)
}

func BenchmarkSearchPage(b *testing.B) {
	const events = 50_000
	s := openBench(b)
	id := newConversation(b, s)
	fill(b, s, id, events)
	for name, q := range map[string]eventstream.Query{
		"oldest": {}, "newest": {Order: eventstream.Descending},
		"newestOfKind": {Kinds: []string{"MessageEvent"}, Order: eventstream.Descending},
		"none":         {From: "2999"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), id, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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

func BenchmarkOpen(b *testing.B) { benchOpen(b, b.TempDir()) }

func benchOpen(b *testing.B, dir string) {
	b.Helper()
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
