package v0_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	files "github.com/deft-dev/deft/internal/objectstore/local"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/appserver/v0"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/session/sessiontest"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is the routes over real conversations whose agents never work.
type fixture struct {
	t             *testing.T
	handler       http.Handler
	routes        []rest.Route
	conversations *conversations.Service

	mu     sync.Mutex
	gate   chan struct{} // starts wait for it, unless it is nil
	broken error         // of starts
}

func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	dir, ring, log := t.TempDir(), keyring.New("a key of the tests"), slog.New(slog.DiscardHandler)
	events, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must.Succeed(t, err)
	locks, err := conversationlock.Open(dir)
	must.Succeed(t, err)
	sessions, err := session.Open(session.Options{Store: events, Lock: locks, Dir: dir, Ring: ring, IdleTTL: -1, Models: f, Builder: f, View: view.OpenHands{}, Log: log})
	must.Succeed(t, err)
	source, err := store.SQLiteSource(filepath.Join(dir, "app.db"))
	must.Succeed(t, err)
	db, err := sql.Open("sqlite", source)
	must.Succeed(t, err)
	rows, err := store.Open(t.Context(), db, store.SQLite, ring)
	must.Succeed(t, err)
	kept, err := files.Open(filepath.Join(dir, "files"))
	must.Succeed(t, err)
	places := sandboxes.New(sandboxes.Options{Store: rows, Sessions: sessions, Files: kept, Root: filepath.Join(dir, "workspaces"), Spec: "test", Log: log})
	jobs := job.New(job.Options{Store: rows, Lock: locks, Log: log})
	calls := callbacks.New(callbacks.Options{Stream: events, Store: rows, Jobs: jobs, Log: log})
	f.conversations = conversations.New(conversations.Options{Sessions: sessions, Sandboxes: places, Store: rows, Settings: f, Files: kept, Jobs: jobs, Callbacks: calls, Log: log})
	s := v0.New(v0.Options{Conversations: f.conversations, Sandboxes: places, URL: func(*http.Request) string { return "http://app" }, Log: log})
	f.routes = s.Routes()
	f.handler, err = rest.New(rest.Options{Routes: f.routes, Log: log, Authenticate: func(r *http.Request) (identity.Caller, error) {
		who := r.Header.Get("Authorization")
		if who == "" {
			return identity.Caller{}, fault.New(fault.Auth, "not signed in")
		}
		c := identity.Local()
		c.User, c.Method = identity.User(who), identity.Cookie
		return c, nil
	}})
	must.Succeed(t, err)
	t.Cleanup(func() {
		jobs.Close()
		for _, err := range []error{sessions.Close(context.Background()), kept.Close(), rows.Close(), events.Close()} {
			must.Report(t, err)
		}
	})
	return f
}

// starts sets the result of starts from now on.
func (f *fixture) starts(gate chan struct{}, broken error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate, f.broken = gate, broken
}

// Launch implements [conversations.Settings].
func (f *fixture) Launch(ctx context.Context, _ identity.Tenant, _, _, _ string) (*session.Spec, error) {
	f.mu.Lock()
	gate, broken := f.gate, f.broken
	f.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if broken != nil {
		return nil, broken
	}
	doc, err := schema.Parse([]byte(`{"kind":"Agent","llm":{"model":"openai/mock","api_key":"k","usage_id":"agent"},"tools":[]}`))
	if err != nil {
		return nil, err
	}
	a, err := spec.CheckAgent(doc, schema.Reading{})
	return &session.Spec{Agent: a, Setup: session.DefaultSetup(), Secrets: map[string]json.RawMessage{}}, err
}

// Strategy implements [conversations.Settings].
func (f *fixture) Strategy(context.Context, identity.Tenant) (sandboxes.Strategy, error) {
	return "", nil
}

// Repository implements [conversations.Settings].
func (f *fixture) Repository(context.Context, identity.Tenant, string, string) (gitfetch.Source, error) {
	return gitfetch.Source{}, fault.New(fault.NotFound, "there is no Git host")
}

// Organisation implements [conversations.Settings].
func (f *fixture) Organisation(context.Context, identity.Tenant, string, string) ([]skill.Skill, []string) {
	return nil, nil
}

// Host implements [conversations.Settings].
func (f *fixture) Host(context.Context, identity.Tenant, string, string) (forge.Host, string, error) {
	return nil, "", fault.New(fault.Auth, "there is no Git host")
}

// Open implements [session.Models].
func (f *fixture) Open(*spec.LLM, session.ModelOptions) (llm.Model, error) { return f, nil }

// Info implements [llm.Model].
func (f *fixture) Info() llm.Info {
	return llm.Info{Name: "openai/mock", ContextWindow: 100_000, MaxOutput: 8000, Tools: true}
}

// Generate implements [llm.Model].
func (f *fixture) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, fault.New(fault.Internal, "no agent works in this test")
}

// Build implements [session.Builder].
func (f *fixture) Build(_ context.Context, r session.BuildRequest) (session.Resources, error) {
	set, err := tool.NewSet(finish.Definition())
	if err != nil {
		return nil, err
	}
	a, err := codeact.New(codeact.Config{Tools: set, Condenser: r.Condenser})
	if err != nil {
		return nil, err
	}
	rt := local.New(executor.New(map[string]tool.Executor{"FinishAction": finish.New()}, executor.InMemory()))
	return &sessiontest.Resources{An: a, Runs: rt, Beside: rt}, nil
}

// WorkspaceInside implements [session.Builder].
func (f *fixture) WorkspaceInside(session.Placement) (bool, error) { return false, nil }

// Remove implements [session.Builder].
func (f *fixture) Remove(context.Context, event.ConversationID) error { return nil }

// as sends a request of an owner.
func (f *fixture) as(owner, method, path, body string) (int, string) {
	f.t.Helper()
	return f.send(owner, method, path, body, "application/json")
}

// send is as with the type of the body.
func (f *fixture) send(owner, method, path, body, kind string) (int, string) {
	f.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", owner)
	r.Header.Set("Content-Type", kind)
	f.handler.ServeHTTP(w, r)
	raw, err := io.ReadAll(w.Result().Body)
	must.Succeed(f.t, err)
	return w.Code, string(raw)
}

// get is the answer of a request of an owner that must succeed.
func (f *fixture) get(owner, method, path, body string, to any) {
	f.t.Helper()
	status, text := f.as(owner, method, path, body)
	if status != http.StatusOK {
		f.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		f.t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
}

// begin starts a conversation, and returns its id at once.
func (f *fixture) begin(owner string) string {
	f.t.Helper()
	var made shown
	f.get(owner, "POST", "/api/conversations", `{}`, &made)
	return made.ID
}

// create starts a conversation and returns its id when that is done.
func (f *fixture) create(owner string) string {
	f.t.Helper()
	id := f.begin(owner)
	f.ended(owner, id)
	return id
}

// ended returns when a start has ended.
func (f *fixture) ended(owner, id string) {
	f.t.Helper()
	conversation, _ := event.ParseConversationID(id)
	tasks, _, err := f.conversations.SearchTasks(f.t.Context(), store.TaskQuery{Owner: owner, Conversation: conversation, Limit: 1})
	if err != nil || len(tasks) != 1 {
		f.t.Fatalf("%d start tasks, %v", len(tasks), err)
	}
	if _, err := f.conversations.Wait(f.t.Context(), identity.Tenant(owner), tasks[0].ID); err != nil {
		f.t.Fatal(err)
	}
}

// shown is a conversation as it is answered.
type shown struct {
	ID      string  `json:"conversation_id"`
	Title   string  `json:"title"`
	Status  string  `json:"status"`
	Runtime *string `json:"runtime_status"`
	Version string  `json:"conversation_version"`
	URL     *string `json:"url"`
	Key     *string `json:"session_api_key"`
}
