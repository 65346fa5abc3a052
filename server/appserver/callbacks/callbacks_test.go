package callbacks_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the drivers of the tables
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probes are the processors of the tests: each document names one.
var probes sync.Map

// probe is a processor under its test's orders.
type probe func(ctx context.Context, text string, c callback.Call) (callback.Outcome, error)

func (p probe) Process(ctx context.Context, c callback.Call) (callback.Outcome, error) {
	return p(ctx, event.JoinText(c.Event.(*event.MessageEvent).LLMMessage.Content), c)
}

func init() {
	callback.Register("Probe", callback.Kind{Events: "MessageEvent", New: func(document json.RawMessage) (callback.Processor, error) {
		var named struct {
			Probe string `json:"probe"`
		}
		if err := json.Unmarshal(document, &named); err != nil {
			return nil, err
		}
		p, _ := probes.Load(named.Probe)
		return p.(probe), nil
	}})
}

// server is one of several on a database.
type server struct {
	*callbacks.Service
	jobs   *job.Engine
	events eventstream.Stream // that calls callbacks
	raw    eventstream.Stream // that does not
	rows   *store.Store
}

// mine are the services of a processor; the tests look at their owner.
type mine struct {
	callback.Services
	owner        identity.Tenant
	conversation event.ConversationID
}

// each runs a test with each kind of database. start makes a server that ends with the test.
func each(t *testing.T, f func(t *testing.T, start func() server)) {
	t.Helper()
	serve := func(t *testing.T, engine store.Engine, driver, source string, events eventstream.Stream, locks session.Lock) server {
		t.Helper()
		db, err := sql.Open(driver, source)
		must.Succeed(t, err)
		rows, err := store.Open(t.Context(), db, engine, keyring.New("key"))
		must.Succeed(t, err)
		log := slog.New(slog.DiscardHandler)
		jobs := job.New(job.Options{Store: rows, Lock: locks, Log: log})
		s := callbacks.New(callbacks.Options{
			Stream: events, Store: rows, Jobs: jobs, Log: log, Pause: time.Millisecond, Tries: 3,
			Services: func(owner identity.Tenant, conversation event.ConversationID) callback.Services {
				return mine{nil, owner, conversation}
			},
		})
		t.Cleanup(func() {
			jobs.Close()
			for _, err := range []error{locks.Close(), rows.Close(), events.Close()} {
				must.Report(t, err)
			}
		})
		return server{s, jobs, s.Stream(), events, rows}
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f(t, func() server {
			events, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			must.Succeed(t, err)
			locks, err := conversationlock.Open(dir)
			must.Succeed(t, err)
			source, err := store.SQLiteSource(filepath.Join(dir, "app.db"))
			must.Succeed(t, err)
			return serve(t, store.SQLite, "sqlite", source, events, locks)
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		f(t, func() server {
			events, err := postgres.Open(t.Context(), url, postgres.Options{})
			must.Succeed(t, err)
			return serve(t, store.PostgreSQL, "pgx", url, events, events.Locks())
		})
	})
}

// conversation makes one with a callback for each of some processors.
func (s server) conversation(t *testing.T, with ...probe) event.ConversationID {
	t.Helper()
	id := event.NewConversationID()
	for i, p := range with {
		name := string(event.NewID())
		probes.Store(name, p)
		must.Succeed(t, s.Add(t.Context(), store.Callback{
			ID: event.NewConversationID(), Owner: "alice", Conversation: id, Kind: "Probe", Processor: json.RawMessage(fmt.Sprintf(`{"kind": "Probe", "probe": %q}`, name)),
			Status: store.CallbackActive, Created: time.UnixMicro(int64(i + 1)), Updated: time.UnixMicro(1),
		}))
	}
	must.Succeed(t, s.raw.Create(t.Context(), id, eventstream.Meta{}))
	return id
}

// say appends messages, each with an event that is none before it.
func say(t *testing.T, to eventstream.Stream, id event.ConversationID, texts ...string) {
	t.Helper()
	for _, text := range texts {
		other, err := event.NewStateUpdate("k", "v")
		must.Succeed(t, err)
		_, err = to.Append(t.Context(), id, other, event.NewUserMessage(text))
		must.Succeed(t, err)
	}
}

// results are the results of the messages of a conversation, the oldest first. They are
// read when the processor has got the message "end", with which all before are stored.
func (s server) results(t *testing.T, id event.ConversationID) (all []string) {
	t.Helper()
	for page := ""; ; {
		some, next, err := s.rows.CallbackResults(t.Context(), "alice", id, page, 2)
		must.Succeed(t, err)
		for _, r := range some {
			rec, err := s.raw.Get(t.Context(), id, r.Event)
			must.Succeed(t, err)
			ev, err := event.Unmarshal(rec.JSON)
			must.Succeed(t, err)
			all = append([]string{fmt.Sprint(event.JoinText(ev.(*event.MessageEvent).LLMMessage.Content), " ", r.OK, " ", r.Detail)}, all...)
		}
		if next == "" {
			return all
		}
		page = next
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestOutcomes: each message has one result, in order, whatever its processor does.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		s := start()
		ended := make(chan struct{})
		tries := 0
		id := s.conversation(t, func(_ context.Context, text string, _ callback.Call) (callback.Outcome, error) {
			switch text {
			case "away twice", "away for ever":
				if tries++; tries < 3 || text == "away for ever" {
					return callback.Outcome{}, fault.New(fault.Unavailable, "away")
				}
			case "wrong":
				return callback.Outcome{}, fault.New(fault.Invalid, "it is wrong")
			case "panic":
				panic("of the processor")
			case "none":
				return callback.Outcome{Nothing: true}, nil
			case "end":
				close(ended)
				return callback.Outcome{Done: true, Nothing: true}, nil
			}
			return callback.Outcome{Detail: "done"}, nil
		})
		say(t, s.events, id, "one", "away twice", "wrong", "panic", "none", "away for ever", "two", "end", "behind the end")
		<-ended
		same(t, []string{
			"one true done", "away twice true done", "wrong false it is wrong", "panic false the processor panicked: of the processor",
			"away for ever false away", "two true done",
		}, s.results(t, id))
	})
}

// TestApart: a processor whose service is away delays no other one.
func TestApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		s := start()
		tried, ended := make(chan struct{}, 100), make(chan struct{})
		id := s.conversation(t, func(ctx context.Context, text string, _ callback.Call) (callback.Outcome, error) {
			tried <- struct{}{}
			return callback.Outcome{}, fault.New(fault.Unavailable, "away")
		}, func(_ context.Context, text string, _ callback.Call) (callback.Outcome, error) {
			if text == "end" {
				close(ended)
			}
			return callback.Outcome{}, nil
		})
		say(t, s.events, id, "one")
		<-tried
		say(t, s.events, id, "end")
		<-ended
	})
}

// TestResume: events appended when nothing was called are processed later, once.
func TestResume(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		first, second := start(), start()
		began, ended := make(chan struct{}), make(chan struct{})
		var interrupted atomic.Bool
		id := first.conversation(t, func(ctx context.Context, text string, _ callback.Call) (callback.Outcome, error) {
			switch text {
			case "two":
				if interrupted.CompareAndSwap(false, true) {
					close(began)
					<-ctx.Done() // the server ends at work
					return callback.Outcome{}, fault.Wrap(ctx.Err(), fault.Unavailable, "ended")
				}
			case "end":
				close(ended)
				return callback.Outcome{Nothing: true}, nil
			}
			return callback.Outcome{}, nil
		})
		say(t, first.events, id, "one", "two", "three")
		<-began
		first.jobs.Close()
		say(t, first.events, id, "four") // nothing is called any more
		must.Succeed(t, second.jobs.Start(t.Context()))
		second.Resume(t.Context())
		say(t, second.raw, id, "five")
		say(t, second.events, id, "end")
		<-ended
		same(t, []string{"one true ", "two true ", "three true ", "four true ", "five true "}, second.results(t, id))
	})
}

// TestServers: of servers that all append to a conversation, one calls a callback at a time,
// and each event has one result.
func TestServers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		servers := []server{start(), start(), start()}
		var mu sync.Mutex
		calls, atOnce := map[string]int{}, 0
		all := make(chan struct{})
		const messages = 20
		id := servers[0].conversation(t, func(_ context.Context, text string, c callback.Call) (callback.Outcome, error) {
			mu.Lock()
			defer mu.Unlock()
			if atOnce++; atOnce > 1 {
				t.Error("called by two at the same time")
			}
			atOnce--
			if calls[c.Key]++; len(calls) == len(servers)*messages+1 {
				close(all)
			}
			return callback.Outcome{}, nil
		})
		var wg sync.WaitGroup
		for i, s := range servers {
			wg.Go(func() {
				for n := range messages {
					say(t, s.events, id, fmt.Sprint(i, " ", n))
				}
			})
		}
		wg.Wait()
		say(t, servers[0].events, id, "end")
		<-all
		for key, n := range calls {
			if n != 1 {
				t.Errorf("%s was processed %d times", key, n)
			}
		}
		if got := servers[0].results(t, id); len(got) < len(servers)*messages {
			t.Errorf("%d results", len(got))
		}
	})
}

// TestTakenOver: events that another server was processing when it ended go on
// here.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		s := start()
		ended := make(chan mine, 1)
		id := s.conversation(t, func(_ context.Context, _ string, c callback.Call) (callback.Outcome, error) {
			ended <- c.Services.(mine)
			return callback.Outcome{Done: true}, nil
		})
		say(t, s.raw, id, "of the other server")
		s.Orphaned(event.NewConversationID())
		s.Orphaned(id)
		if got := <-ended; got.owner != "alice" || got.conversation != id {
			t.Errorf("the processor may use what %s has for %s", got.owner, got.conversation)
		}
	})
}

// TestUnknownKind: a callback of a kind that this program does not have stays.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, start func() server) {
		s := start()
		ended := make(chan struct{})
		id := s.conversation(t, func(context.Context, string, callback.Call) (callback.Outcome, error) {
			close(ended)
			return callback.Outcome{Done: true}, nil
		})
		c := store.Callback{ID: event.NewConversationID(), Owner: "alice", Conversation: id, Kind: "Gone", Processor: json.RawMessage(`{"kind": "Gone"}`), Status: store.CallbackActive}
		must.Succeed(t, s.Add(t.Context(), c))
		say(t, s.events, id, "one")
		<-ended
		s.jobs.Close()
		j, err := s.rows.Job(t.Context(), string(c.ID))
		must.Succeed(t, err)
		got, err := store.CallbackOf(j)
		if must.Succeed(t, err); got.Seen != 0 || got.Status != store.CallbackActive {
			t.Errorf("it is now %+v", got)
		}
	})
}
