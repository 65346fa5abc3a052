package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

func reportTimes(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkAppend appends events durably from two stores, with several conversations
// each, on a server that waits for its disk.
func BenchmarkAppend(b *testing.B) {
	for _, conversations := range []int{1, 20, 100} {
		b.Run(fmt.Sprintf("conversations=2x%d", conversations), func(b *testing.B) {
			server := postgrestest.Start(b)
			stores := []*postgres.Store{open(b, server.URL()), open(b, server.URL())}
			var ids []event.ConversationID
			for i := range 2 * conversations {
				ids = append(ids, newConversation(b, stores[i%2]))
				acquire(b, stores[i%2], ids[i])
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			var took []time.Duration
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			b.ResetTimer()
			for i, id := range ids {
				wg.Go(func() {
					var mine []time.Duration
					for range left {
						at := time.Now()
						if _, err := stores[i%2].Append(b.Context(), id, event.NewUserMessage("hello, this is a message of a usual length, more or less")); err != nil {
							b.Error(err)
							return
						}
						mine = append(mine, time.Since(at))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, mine...)
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			reportTimes(b, took)
		})
	}
}

// BenchmarkList lists, counts and searches 100,000 conversations of 100 owners, of which
// one has half.
func BenchmarkList(b *testing.B) {
	url := postgrestest.URL(b)
	s := open(b, url)
	execute(b, url, `INSERT INTO conversations (id, owner, title, status, tags, created_at, updated_at, cost, working_dir, parent_id, fork_of, events, shared, summary_at)
SELECT gen_random_uuid(), CASE WHEN i % 2 = 0 THEN 'big' ELSE 'owner' || i % 100 END, 'Fix the problem number ' || i || ' of the parser in the module of things',
CASE WHEN i % 1000 = 0 THEN 'running' WHEN i % 3 = 0 THEN 'finished' ELSE 'idle' END, '{}', now() - i * interval '1 minute', now() - i * interval '1 second', 1, '/workspace/' || i, '', '', 10, 0, 0
FROM generate_series(1, 100000) i`)
	execute(b, url, `INSERT INTO documents SELECT key, '{"about": "' || repeat('x', 500) || '"}', '{"made from": "' || repeat('y', 1500) || '"}' FROM conversations`)
	execute(b, url, "INSERT INTO conversation_counts SELECT owner, status, false, count(*) FROM conversations GROUP BY 1, 2")
	execute(b, url, "VACUUM ANALYZE conversations, documents")
	now := time.Now()
	for _, c := range []struct {
		name  string
		q     eventstream.ListQuery
		count bool
	}{
		{name: "first", q: eventstream.ListQuery{Limit: 20}},
		{name: "first of a big owner", q: eventstream.ListQuery{Owner: "big", WithoutParent: true, ByUpdated: true, Limit: 20}},
		{name: "first of a small owner", q: eventstream.ListQuery{Owner: "owner7", WithoutParent: true, ByUpdated: true, Limit: 100}},
		{name: "running", q: eventstream.ListQuery{Status: "running", Limit: 100}},
		{name: "running of a small owner", q: eventstream.ListQuery{Owner: "owner7", Status: "running", Limit: 100}},
		{name: "title", q: eventstream.ListQuery{Title: "NUMBER 77777 "}},
		{name: "title of a big owner", q: eventstream.ListQuery{Owner: "big", Title: "number 77778 "}},
		{name: "title of none", q: eventstream.ListQuery{Title: "nothing"}},
		{name: "created", q: eventstream.ListQuery{CreatedFrom: now.Add(-50000 * time.Minute), CreatedBefore: now.Add(-49000 * time.Minute), Limit: 20}},
		{name: "count", q: eventstream.ListQuery{}, count: true},
		{name: "count of a big owner", q: eventstream.ListQuery{Owner: "big", WithoutParent: true}, count: true},
		{name: "count of running", q: eventstream.ListQuery{Status: "running"}, count: true},
		{name: "count of a title", q: eventstream.ListQuery{Title: "number 7"}, count: true},
		{name: "count of a short title", q: eventstream.ListQuery{Title: "zq"}, count: true},
		{name: "count of a short title of a big owner", q: eventstream.ListQuery{Owner: "big", Title: "zq"}, count: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				at := time.Now()
				var err error
				if c.count {
					_, err = s.CountConversations(b.Context(), c.q)
				} else {
					_, err = s.List(b.Context(), c.q)
				}
				must.Succeed(b, err)
				took = append(took, time.Since(at))
			}
			reportTimes(b, took)
		})
	}
}
