package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the drivers under test
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/store"
)

const ringKey = "key of the fixture"

// database is an empty database of an engine.
type database struct {
	engine store.Engine
	open   func(t *testing.T) *sql.DB
}

// engines make empty databases, by the name of the engine.
var engines = map[string]func(t *testing.T) database{
	"SQLite": func(t *testing.T) database {
		path := filepath.Join(t.TempDir(), "app.db")
		return database{store.SQLite, func(t *testing.T) *sql.DB {
			t.Helper()
			source, err := store.SQLiteSource(path)
			must.Succeed(t, err)
			return opened(t, "sqlite", source)
		}}
	},
	"PostgreSQL": func(t *testing.T) database {
		url := postgrestest.URL(t)
		return database{store.PostgreSQL, func(t *testing.T) *sql.DB { t.Helper(); return opened(t, "pgx", url) }}
	},
}

// each runs a test with each engine.
func each(t *testing.T, f func(t *testing.T, d database)) {
	t.Helper()
	for name, empty := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, empty(t))
		})
	}
}

func opened(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = db.Close() }) // the store may have closed it
	return db
}

func (d database) store(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), d.open(t), d.engine, keyring.New(ringKey))
	must.Succeed(t, err)
	return s
}

func when(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

// wantKind holds the kind of an error.
func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("got %v, want an error of kind %s", err, kind)
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func id(n int) event.ConversationID {
	return event.ConversationID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

func TestSandboxes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		var all []store.Sandbox
		for i := range 5 {
			b := store.Sandbox{
				ID: fmt.Sprint("s", i), Owner: "alice", Spec: "process", SessionKey: fmt.Sprint("key", i), Directory: fmt.Sprint("/srv/", i),
				Created: when(i / 2), Used: when(i), // two were made at the same time
			}
			must.Succeed(t, s.AddSandbox(ctx, b, 0))
			all = append([]store.Sandbox{b}, all...)
		}
		must.Succeed(t, s.AddSandbox(ctx, store.Sandbox{ID: "b", Owner: "bob", SessionKey: "of bob", Created: when(0), Used: when(0)}, 0))
		wantKind(t, s.AddSandbox(ctx, store.Sandbox{ID: "s0", Owner: "bob", SessionKey: "other", Created: when(0), Used: when(0)}, 0), fault.Conflict)

		got, err := s.Sandbox(ctx, "alice", "s1")
		must.Succeed(t, err)
		same(t, all[3], got)
		got, err = s.SandboxOfKey(ctx, "key1")
		must.Succeed(t, err)
		same(t, all[3], got)
		_, err = s.SandboxOfKey(ctx, "guess")
		wantKind(t, err, fault.Auth)
		gone, leave := context.WithCancel(ctx)
		leave()
		_, err = s.SandboxOfKey(gone, "key2")
		wantKind(t, err, fault.Canceled)

		var paged []store.Sandbox
		for page := ""; ; {
			some, next, err := s.Sandboxes(ctx, "alice", page, 2)
			must.Succeed(t, err)
			if paged = append(paged, some...); next == "" {
				break
			}
			page = next
		}
		same(t, all, paged)

		must.Succeed(t, s.SetSandboxPaused(ctx, "alice", "s1", true))
		must.Succeed(t, s.UseSandbox(ctx, "alice", "s1", when(99)))
		got, err = s.Sandbox(ctx, "alice", "s1")
		must.Succeed(t, err)
		if !got.Paused || got.Used != when(99) {
			t.Errorf("after a pause and a use: %+v", got)
		}
		// Another owner's sandbox does not exist.
		_, err = s.Sandbox(ctx, "bob", "s1")
		wantKind(t, err, fault.NotFound)
		wantKind(t, s.SetSandboxPaused(ctx, "bob", "s1", false), fault.NotFound)
		wantKind(t, s.UseSandbox(ctx, "bob", "s1", when(1)), fault.NotFound)
		wantKind(t, s.DeleteSandbox(ctx, "bob", "s1"), fault.NotFound)
		must.Succeed(t, s.DeleteSandbox(ctx, "alice", "s1"))
		_, err = s.SandboxOfKey(ctx, "key1")
		wantKind(t, err, fault.Auth)
	})
}

// TestChanges: changes of a conversation at the same time are all stored, also the first ones.
func TestChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				must.Report(t, s.ChangeConversation(ctx, "alice", id(1), func(c *store.Conversation) { c.PRNumbers = append(c.PRNumbers, n) }))
			})
		}
		all.Wait()
		found, err := s.Conversations(ctx, "alice", id(1))
		must.Succeed(t, err)
		got := slices.Sorted(slices.Values(found[id(1)].PRNumbers))
		if len(got) != 20 || got[19] != 19 {
			t.Errorf("%v are stored", got)
		}
		wantKind(t, s.ChangeConversation(ctx, "bob", id(1), func(c *store.Conversation) { c.Public = true }), fault.Conflict)
	})
}

func TestConversations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		must.Succeed(t, s.AddSandbox(ctx, store.Sandbox{ID: "s", Owner: "alice", SessionKey: "key", Created: when(0), Used: when(0)}, 0))
		c := store.Conversation{
			ID: id(1), Owner: "alice", Sandbox: "s", Repository: "o/r'; --", Branch: "main", Provider: "github", Trigger: "gui", Model: "m",
			AgentType: "plan", Public: true, PRNumbers: []int{3, 1}, PRURLs: map[int]string{1: "https://example.com/o/r/pull/1"}, Created: when(0),
		}
		must.Succeed(t, s.SaveConversation(ctx, c))
		must.Succeed(t, s.SaveConversation(ctx, store.Conversation{ID: id(2), Owner: "alice", Sandbox: "s", AgentType: "default", Created: when(1)}))
		must.Succeed(t, s.SaveConversation(ctx, store.Conversation{ID: id(3), Owner: "bob", Sandbox: "s", AgentType: "default", Created: when(2)}))
		found, err := s.Conversations(ctx, "alice", id(1), id(3), id(4))
		must.Succeed(t, err)
		same(t, map[event.ConversationID]store.Conversation{id(1): c}, found)

		// More than one statement holds.
		var many []event.ConversationID
		for i := range 250 {
			many = append(many, id(i))
		}
		found, err = s.Conversations(ctx, "alice", many...)
		if must.Succeed(t, err); len(found) != 2 {
			t.Errorf("%d of 2 are found", len(found))
		}

		// The id of another owner's is taken, and the row stays as it is.
		stolen := c
		stolen.Owner = "bob"
		wantKind(t, s.SaveConversation(ctx, stolen), fault.Conflict)
		public, err := s.PublicConversation(ctx, id(1))
		must.Succeed(t, err)
		same(t, c, public)
		_, err = s.PublicConversation(ctx, id(2))
		wantKind(t, err, fault.NotFound)
		c.Public, c.PRNumbers = false, nil
		must.Succeed(t, s.SaveConversation(ctx, c))
		_, err = s.PublicConversation(ctx, id(1))
		wantKind(t, err, fault.NotFound)

		in, err := s.SandboxOfConversation(ctx, string(id(1)))
		if must.Succeed(t, err); in.ID != "s" || in.SessionKey != "key" {
			t.Errorf("it is in %+v", in)
		}
		_, err = s.SandboxOfConversation(ctx, string(id(3))) // of another owner than the sandbox
		wantKind(t, err, fault.NotFound)

		must.Succeed(t, s.DeleteConversation(ctx, "bob", id(1)))
		if found, err = s.Conversations(ctx, "alice", id(1)); err != nil || len(found) != 1 {
			t.Errorf("another owner has deleted it: %v", err)
		}
		must.Succeed(t, s.DeleteConversation(ctx, "alice", id(1)))
		if found, err = s.Conversations(ctx, "alice", id(1)); err != nil || len(found) != 0 {
			t.Errorf("it is not deleted: %v", err)
		}
	})
}

func TestTasks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		var all []store.Task
		for i := range 5 {
			task := store.Task{
				ID: fmt.Sprint("t", i), Owner: "alice", Conversation: id(i), Status: store.Working, Request: json.RawMessage(`{"n": 1}`),
				Created: when(i / 2), Updated: when(10 - i),
			}
			must.Succeed(t, s.AddJobs(ctx, startJob(task)))
			all = append(all, task)
		}
		must.Succeed(t, s.AddJobs(ctx, startJob(store.Task{ID: "b", Owner: "bob", Conversation: id(9), Status: store.Working, Created: when(0), Updated: when(0)})))
		again := store.Task{ID: "again", Owner: "alice", Conversation: id(4), Status: store.Working}
		if err := s.AddRun(ctx, startJob(again), store.RunLimit{}); !errors.Is(err, job.ErrExists) {
			t.Errorf("a second task that makes a conversation: %v", err)
		}
		all[4].Status, all[4].Detail, all[4].Log = store.Failed, "why", "said"
		failed := startJob(all[4])
		failed.State = job.Failed
		_, _, err := s.SaveJob(ctx, failed)
		must.Succeed(t, err)

		for _, c := range []struct {
			q    store.TaskQuery
			want []string
		}{
			{store.TaskQuery{}, []string{"t4", "t3", "t2", "t1", "t0"}},
			{store.TaskQuery{Ascending: true}, []string{"t0", "t1", "t2", "t3", "t4"}},
			{store.TaskQuery{ByUpdated: true}, []string{"t0", "t1", "t2", "t3", "t4"}},
			{store.TaskQuery{ByUpdated: true, Ascending: true}, []string{"t4", "t3", "t2", "t1", "t0"}},
			{store.TaskQuery{From: when(1)}, []string{"t4", "t3", "t2"}},
			{store.TaskQuery{Conversation: id(3)}, []string{"t3"}},
			{store.TaskQuery{Unfinished: true}, []string{"t3", "t2", "t1", "t0"}},
		} {
			c.q.Owner, c.q.Limit = "alice", 2
			var got []string
			for {
				some, next, err := s.Tasks(ctx, c.q)
				must.Succeed(t, err)
				for _, one := range some {
					got = append(got, one.ID)
				}
				if next == "" {
					break
				}
				c.q.Page = next
			}
			same(t, c.want, got)
			if n, err := s.CountTasks(ctx, c.q); err != nil || n != len(c.want) {
				t.Errorf("%d are counted, %v, want %d", n, err, len(c.want))
			}
		}
		got, err := s.Task(ctx, "alice", "t4")
		must.Succeed(t, err)
		same(t, all[4], got)
		_, err = s.Task(ctx, "bob", "t4")
		wantKind(t, err, fault.NotFound)

		// Messages that wait are handed out before the task ends, and none after it.
		message := store.PendingMessage{ID: "m1", Owner: "alice", Task: "t0", Content: json.RawMessage(`{"a": 1}`), Created: when(1)}
		waiting, ended, err := s.AddPendingMessage(ctx, message)
		if must.Succeed(t, err); waiting != 1 || ended {
			t.Errorf("%d wait, ended: %v", waiting, ended)
		}
		_, _, err = s.AddPendingMessage(ctx, store.PendingMessage{ID: "m2", Owner: "bob", Task: "t0"})
		wantKind(t, err, fault.NotFound)
		all[0].Status, all[0].Updated = store.Ready, when(50)
		ready := startJob(all[0])
		ready.State = job.Done
		done, left, err := s.FinishTask(ctx, ready)
		must.Succeed(t, err)
		same(t, []store.PendingMessage{message}, left)
		if done {
			t.Error("the task has ended with a message waiting")
		}
		must.Succeed(t, s.DeletePendingMessage(ctx, "m1"))
		if done, _, err = s.FinishTask(ctx, ready); err != nil || !done {
			t.Errorf("the task has not ended: %v", err)
		}
		if got, err := s.Task(ctx, "alice", "t0"); err != nil || got.Status != store.Ready {
			t.Errorf("the task is %+v, %v", got, err)
		}
		if _, ended, err = s.AddPendingMessage(ctx, store.PendingMessage{ID: "m3", Owner: "alice", Task: "t0", Content: json.RawMessage("{}")}); err != nil || !ended {
			t.Errorf("a message of a task that has ended: %v, %v", ended, err)
		}
	})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		key := store.Credential{ID: "k", Owner: "alice", Kind: store.APIKey, Name: "ci", Created: when(0), Expires: when(10)}
		must.Succeed(t, s.AddCredential(ctx, key, "secret"))
		must.Succeed(t, s.AddCredential(ctx, store.Credential{ID: "c", Owner: "alice", Kind: store.Code, Created: when(0), Expires: when(10)}, "code"))
		got, err := s.Credential(ctx, "secret", when(9))
		must.Succeed(t, err)
		same(t, key, got)
		_, err = s.Credential(ctx, "secret", when(10))
		wantKind(t, err, fault.Auth)
		_, err = s.Credential(ctx, "guess", when(0))
		wantKind(t, err, fault.Auth)
		_, err = s.TakeCode(ctx, "secret", when(0)) // it is no code
		wantKind(t, err, fault.Auth)

		// Of many that send a code at the same time, one is signed in.
		var all sync.WaitGroup
		results := make(chan error, 8)
		for range cap(results) {
			all.Go(func() {
				_, err := s.TakeCode(ctx, "code", when(1))
				results <- err
			})
		}
		all.Wait()
		close(results)
		taken := 0
		for err := range results {
			if err == nil {
				taken++
			} else if !fault.Is(err, fault.Auth) {
				t.Error(err)
			}
		}
		if taken != 1 {
			t.Errorf("%d have taken the code", taken)
		}

		must.Succeed(t, s.UsedCredential(ctx, "k", when(3)))
		keys, err := s.Credentials(ctx, "alice", store.APIKey)
		must.Succeed(t, err)
		key.Used = when(3)
		same(t, []store.Credential{key}, keys)
		wantKind(t, s.DeleteCredential(ctx, "bob", "k"), fault.NotFound)
		must.Succeed(t, s.DeleteExpired(ctx, when(9)))
		if _, err := s.Credential(ctx, "secret", when(9)); err != nil {
			t.Errorf("it is deleted too early: %v", err)
		}
		must.Succeed(t, s.DeleteExpired(ctx, when(10)))
		_, err = s.Credential(ctx, "secret", when(9))
		wantKind(t, err, fault.Auth)
	})
}

// TestOpen: several servers that start together make the tables once; another ring does not
// open session keys, and a newer version's tables are left alone.
func TestOpen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		var all sync.WaitGroup
		errs := make(chan error, 4)
		for range cap(errs) {
			db := d.open(t)
			all.Go(func() {
				_, err := store.Open(context.WithoutCancel(t.Context()), db, d.engine, keyring.New(ringKey))
				errs <- err
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			must.Report(t, err)
		}
		s := d.store(t)
		must.Succeed(t, s.AddSandbox(t.Context(), store.Sandbox{ID: "s", Owner: "alice", SessionKey: "hidden-key", Created: when(0), Used: when(0)}, 0))
		db := d.open(t)
		var hash, sealed string
		must.Succeed(t, db.QueryRowContext(t.Context(), "SELECT key_hash, key_sealed FROM app_sandboxes").Scan(&hash, &sealed))
		if strings.Contains(hash+sealed, "hidden") {
			t.Error("the session key is readable")
		}
		if _, err := store.Open(t.Context(), d.open(t), d.engine, keyring.New("")); !fault.Is(err, fault.Invalid) {
			t.Errorf("without a key: %v", err)
		}
		other, err := store.Open(t.Context(), d.open(t), d.engine, keyring.New("another key"))
		must.Succeed(t, err)
		_, err = other.Sandbox(t.Context(), "alice", "s")
		wantKind(t, err, fault.Corrupt)

		for _, version := range []int{1, store.Oldest - 1, store.Version + 1} {
			_, err = db.ExecContext(t.Context(), fmt.Sprint("UPDATE app_schema SET version = ", version))
			must.Succeed(t, err)
			_, err = store.Open(t.Context(), d.open(t), d.engine, keyring.New(ringKey))
			if wantKind(t, err, fault.Unsupported); fault.HintOf(err) == "" {
				t.Errorf("version %d: it does not say what to do", version)
			}
		}
	})
}

// TestUpgrade: the tables of an older version get what is new, and keep their rows.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		must.Succeed(t, s.AddSandbox(ctx, store.Sandbox{ID: "s", Owner: "alice", SessionKey: "key", Created: when(0), Used: when(0)}, 0))
		db := d.open(t)
		for _, back := range []string{"DROP TABLE app_sandbox_secrets", "DROP TABLE app_users", "DROP TABLE app_sign_ins", "ALTER TABLE app_credentials DROP COLUMN provider_session", fmt.Sprint("UPDATE app_schema SET version = ", store.Oldest)} {
			_, err := db.ExecContext(ctx, back)
			must.Succeed(t, err)
		}
		newer, err := store.Open(ctx, db, d.engine, keyring.New(ringKey))
		must.Succeed(t, err)
		must.Succeed(t, newer.GiveSecrets(ctx, "alice", "s", []string{"B", "A"}))
		must.Succeed(t, newer.GiveSecrets(ctx, "bob", "s", []string{"C"}))
		for owner, want := range map[string][]string{"alice": {"A", "B"}, "bob": nil} {
			given, err := newer.GivenSecrets(ctx, owner, "s")
			must.Succeed(t, err)
			if !slices.Equal(given, want) {
				t.Errorf("%s: %v", owner, given)
			}
		}
		must.Succeed(t, newer.DeleteSandbox(ctx, "alice", "s"))
		must.Succeed(t, newer.AddSandbox(ctx, store.Sandbox{ID: "s", Owner: "alice", SessionKey: "key2", Created: when(0), Used: when(0)}, 0))
		if given, err := newer.GivenSecrets(ctx, "alice", "s"); err != nil || len(given) > 0 {
			t.Errorf("a sandbox of the same id: %v %v", given, err)
		}
		ann, err := newer.SignedIn(ctx, store.User{Issuer: "i", Subject: "ann"})
		must.Succeed(t, err)
		must.Succeed(t, newer.BeginSignIn(ctx, store.SignIn{State: "s", Browser: "b", Expires: when(1)}, when(0)))
		must.Succeed(t, newer.AddCredential(ctx, store.Credential{ID: "c", Owner: ann.ID, Kind: store.Cookie, ProviderSession: "p"}, "secret"))
		if n, err := newer.EndSessions(ctx, "i", "", "p"); n != 1 || err != nil {
			t.Errorf("sessions that end: %d %v", n, err)
		}
	})
}

func TestDevices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		must.Succeed(t, s.AddDevice(ctx, store.Credential{ID: "d", Kind: store.Device, Name: "page", Created: when(0), Expires: when(10)}, "secret"))
		c, err := s.AskDevice(ctx, "secret", when(1))
		must.Succeed(t, err)
		if c.Owner != "" || !c.Used.IsZero() {
			t.Errorf("before the first question: %+v", c)
		}
		_, err = s.TakeDevice(ctx, "d") // nobody has allowed it
		wantKind(t, err, fault.Auth)
		wantKind(t, s.AllowDevice(ctx, "another", "alice", when(1)), fault.NotFound)
		must.Succeed(t, s.AllowDevice(ctx, "d", "alice", when(1)))
		wantKind(t, s.AllowDevice(ctx, "d", "bob", when(1)), fault.NotFound)
		c, err = s.AskDevice(ctx, "secret", when(2))
		must.Succeed(t, err)
		if c.Owner != "alice" || !c.Used.Equal(when(1)) {
			t.Errorf("after it was allowed: %+v", c)
		}

		// Of many that ask at the same time, one gets the key.
		var all sync.WaitGroup
		var taken atomic.Int32
		for range 8 {
			all.Go(func() {
				if _, err := s.TakeDevice(ctx, "d"); err == nil {
					taken.Add(1)
				} else if !fault.Is(err, fault.Auth) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 {
			t.Errorf("%d have taken it", taken.Load())
		}
		_, err = s.AskDevice(ctx, "secret", when(2))
		wantKind(t, err, fault.Auth)

		_, err = d.open(t).ExecContext(ctx, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
			INSERT INTO app_credentials SELECT CAST(i AS TEXT), CAST(i AS TEXT), '', 'device', '', 0, 0, %d, '' FROM n`, when(10).UnixMicro()))
		must.Succeed(t, err)
		one := store.Credential{ID: "more", Kind: store.Device, Created: when(9), Expires: when(20)}
		wantKind(t, s.AddDevice(ctx, one, "more"), fault.RateLimit)
		wantKind(t, s.AllowDevice(ctx, "7", "alice", when(10)), fault.NotFound) // too late
		one.Created = when(10)
		must.Succeed(t, s.AddDevice(ctx, one, "more")) // the others have expired
	})
}
