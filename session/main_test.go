package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/session/sessiontest"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/remember"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/think"
	flow "github.com/deft-dev/deft/tool/workflow"
	"github.com/deft-dev/deft/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is the stub model's answer to a request.
type reply func(ctx context.Context, r llm.Request) (*llm.Response, error)

// model answers with a function and notes its requests.
type model struct {
	name    string
	missing string
	answer  func(ctx context.Context, r llm.Request) (*llm.Response, error)

	mu    sync.Mutex
	asked []llm.Request
	busy  int
	most  int // calls at one time
}

func (m *model) Info() llm.Info {
	return llm.Info{Name: m.name, ContextWindow: 100_000, MaxOutput: 8000, Tools: true, Missing: m.missing}
}

func (m *model) Generate(ctx context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	m.busy++
	m.most = max(m.most, m.busy)
	n := len(m.asked)
	m.mu.Unlock()
	resp, err := m.answer(ctx, r)
	if resp != nil {
		resp.ID = fmt.Sprint("resp-", n)
	}
	m.mu.Lock()
	m.busy--
	m.mu.Unlock()
	return resp, err
}

func (m *model) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

func (m *model) atOnce() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

func says(text string) *llm.Response {
	return &llm.Response{Model: "stub", Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}, Finish: llm.FinishStop}
}

func does(name, args string) *llm.Response {
	r := &llm.Response{Model: "stub", Finish: llm.FinishTools, Message: event.Message{Role: event.RoleAssistant}}
	r.Message.ToolCalls = []event.ToolCall{{ID: string(event.NewID()), Name: name, Arguments: args, Origin: event.OriginCompletion}}
	return r
}

func shell(command string) *llm.Response {
	return does("terminal", fmt.Sprintf(`{"command":%q}`, command))
}

func finished(message string) *llm.Response {
	return does("finish", fmt.Sprintf(`{"message":%q}`, message))
}

// inTurn answers with one response after the other, and then with an error.
func inTurn(all ...*llm.Response) reply {
	var n atomic.Int64
	return func(context.Context, llm.Request) (*llm.Response, error) {
		i := int(n.Add(1)) - 1
		if i >= len(all) {
			return nil, fault.New(fault.Internal, fmt.Sprintf("the model was called %d times, the script has %d answers", i+1, len(all)))
		}
		return all[i], nil
	}
}

// lastText is the last text of a request.
func lastText(r llm.Request) string {
	return event.JoinText(r.Messages[len(r.Messages)-1].Content)
}

// commands is the terminal of the tests: "block" waits to be released or interrupted, "write NAME TEXT" writes a
// file, "reveal" prints the hidden text, "trickle" does so while it runs, "print and block" does so before it
// waits, "print and fail" before the tool fails, anything else is echoed.
type commands struct {
	started chan string
	release chan struct{}
	hidden  string // output of "reveal"
	dir     string // of the files that are written
}

func newCommands() *commands {
	return &commands{started: make(chan string, 100), release: make(chan struct{})}
}

func (c *commands) Execute(ctx context.Context, call tool.Call) (event.Observation, error) {
	a, ok := call.Action.(*event.TerminalAction)
	if !ok {
		return nil, fmt.Errorf("the terminal cannot run a %T", call.Action)
	}
	zero, text := 0, a.Command
	if args := strings.Fields(a.Command); len(args) == 3 && args[0] == "write" {
		if err := os.WriteFile(filepath.Join(c.dir, args[1]), []byte(args[2]), 0o600); err != nil {
			return nil, err
		}
	}
	switch a.Command {
	case "reveal":
		text = c.hidden
	case "trickle": // as it runs, a few characters at a time
		text = ""
		for piece := range slices.Chunk([]byte("it is "+c.hidden+", or hun"), 4) {
			call.Progress(tool.Chunk{Text: string(piece)})
		}
	case "print and fail":
		call.Progress(tool.Chunk{Text: c.hidden})
		return nil, fault.New(fault.Internal, "it failed")
	case "print and block":
		call.Progress(tool.Chunk{Text: c.hidden})
		fallthrough
	case "block":
		c.started <- a.Command
		select {
		case <-ctx.Done():
			text = "stopped"
		case <-c.release:
			text = "released"
		}
	}
	return &event.TerminalObservation{ExitCode: &zero, ObservationBase: event.ObservationBase{Content: event.Texts(text)}}, nil
}

func (c *commands) Close() error { return nil }

func terminalTool() *tool.Definition {
	return &tool.Definition{
		Name: "terminal", Kind: "TerminalTool", ActionKind: "TerminalAction", ObservationKind: "TerminalObservation",
		Parameters: tool.Schema{Properties: []tool.Property{{Name: "command", Type: "string", Required: true}}},
		Locks:      func(event.Action) []string { return nil },
		Decode:     tool.DecodeInto[event.TerminalAction],
	}
}

// counted is a stream that counts reads of events, and tells of titles that are
// stored.
type counted struct {
	eventstream.Stream
	reads atomic.Int64
	named chan string
	made  chan event.ConversationID
}

func (c *counted) Create(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	err := c.Stream.Create(ctx, id, meta)
	if err == nil {
		select {
		case c.made <- id:
		default: // nobody waits for one of so many
		}
	}
	return err
}

func (c *counted) SetMeta(ctx context.Context, id event.ConversationID, meta eventstream.Meta) error {
	err := c.Stream.SetMeta(ctx, id, meta)
	if meta.Title != "" {
		c.named <- meta.Title
	}
	return err
}

func (c *counted) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	c.reads.Add(1)
	return c.Stream.Read(ctx, id, from)
}

// fixture is a manager with all its dependencies.
type fixture struct {
	*session.Manager
	o      session.Options
	stream *counted
	dir    string
	work   string // the workspace
	ring   *keyring.Ring
	model  *model
	tools  *commands
	inside workspace.Files // of workspaces inside sandboxes; nil for those on this machine

	mu       sync.Mutex
	models   map[string]*model                         // others, by name
	budgets  []*broker.Budget                          // of the models that were opened
	profiles map[string]string                         // LLMs as JSON
	meta     string                                    // a meta-profile named "router", as JSON
	assigned map[string]string                         // profiles by service
	changes  []string                                  // statuses passed to Changed
	built    map[event.ConversationID]int              // how often resources were built
	reject   func(r session.BuildRequest) error        // makes builds fail
	extend   func(session.Resources) session.Resources // changes the built resources
	asked    session.BuildRequest                      // the latest
}

func setup(t testing.TB, answer reply, change func(*session.Options)) *fixture {
	t.Helper()
	h := &fixture{
		dir: t.TempDir(), work: t.TempDir(), model: &model{name: "openai/mock", answer: answer}, tools: newCommands(),
		models: map[string]*model{}, profiles: map[string]string{}, built: map[event.ConversationID]int{},
	}
	store, err := sqlite.Open(t.Context(), h.dir, sqlite.Options{})
	must.Succeed(t, err)
	h.tools.dir = h.work
	h.stream = &counted{Stream: store, named: make(chan string, 1000), made: make(chan event.ConversationID, 10_000)}
	h.ring = keyring.New("a key of the tests")
	h.o = session.Options{
		Store: h.stream, Dir: h.dir, Ring: h.ring, IdleTTL: -1, Settings: h, Models: h, Builder: h, View: view.OpenHands{}, Observer: h,
	}
	if change != nil {
		change(&h.o)
	}
	h.Manager = h.another(t)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { // goes first
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// another opens one more manager on the same store.
func (h *fixture) another(t testing.TB) *session.Manager {
	t.Helper()
	o := h.o
	if o.Lock == nil {
		locks, err := conversationlock.Open(h.dir)
		must.Succeed(t, err)
		o.Lock = locks
	}
	m, err := session.Open(o)
	must.Succeed(t, err)
	return m
}

// LLM implements [session.Settings].
func (h *fixture) LLM(_ context.Context, _ identity.Tenant, name string) (*spec.LLM, error) {
	h.mu.Lock()
	raw, ok := h.profiles[name]
	h.mu.Unlock()
	if !ok {
		return nil, fault.New(fault.NotFound, "Profile '"+name+"' not found")
	}
	return spec.DecodeLLM([]byte(raw), schema.Reading{}, "body")
}

// DefaultLLM implements [session.Settings]: the profile "default".
func (h *fixture) DefaultLLM(ctx context.Context, owner identity.Tenant) (*spec.LLM, error) {
	return h.LLM(ctx, owner, "default")
}

// LLMs implements [session.Settings].
func (h *fixture) LLMs(context.Context, identity.Tenant) ([]string, error) { return nil, nil }

// MetaProfile implements [session.Settings].
func (h *fixture) MetaProfile(_ context.Context, _ identity.Tenant, name string) (json.RawMessage, error) {
	if h.meta == "" || name != "" && name != "router" {
		return nil, fault.New(fault.NotFound, "no meta-profile")
	}
	return json.RawMessage(h.meta), nil
}

// Assigned implements [session.Settings].
func (h *fixture) Assigned(_ context.Context, _ identity.Tenant, service string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.assigned[service], nil
}

// Secret implements [session.Settings].
func (h *fixture) Secret(context.Context, identity.Tenant, string) (string, bool) { return "", false }

// Open implements [session.Models].
func (h *fixture) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.budgets = append(h.budgets, o.Budget)
	if m := h.models[l.Model]; m != nil {
		return m, nil
	}
	return h.model, nil
}

// Changed implements [session.Observer].
func (h *fixture) Changed(_ event.ConversationID, info json.RawMessage) {
	var v struct {
		Status string `json:"execution_status"`
	}
	err := json.Unmarshal(info, &v)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		v.Status = err.Error()
	}
	h.changes = append(h.changes, v.Status)
}

// Published implements [session.Observer].
func (h *fixture) Published(event.ConversationID, json.RawMessage) {}

// Flush implements [session.Observer].
func (h *fixture) Flush(context.Context, event.ConversationID) error { return nil }

// WorkspaceInside implements [session.Builder].
func (h *fixture) WorkspaceInside(session.Placement) (bool, error) { return h.inside != nil, nil }

// Remove implements [session.Builder].
func (h *fixture) Remove(context.Context, event.ConversationID) error { return nil }

// Build implements [session.Builder].
func (h *fixture) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	h.mu.Lock()
	h.built[r.ID]++
	reject := h.reject
	h.mu.Unlock()
	if reject != nil {
		if err := reject(r); err != nil {
			return nil, err
		}
	}
	defs := []*tool.Definition{terminalTool(), finish.Definition(), think.Definition()}
	if r.TaskRuntime != nil {
		defs = append(defs, task.Definition(nil, "general-purpose"), flow.Definition(""))
	}
	executors := map[string]tool.Executor{"TerminalAction": h.tools, "FinishAction": finish.New(), "ThinkAction": think.New()}
	if r.Remember != nil {
		defs = append(defs, remember.Definition())
		executors[remember.ActionKind] = remember.New(func(ctx context.Context, a *remember.Action) error {
			return r.Remember(ctx, a.Scope == remember.User, memoryfile.Change{Text: a.Text, Replaces: a.Replaces})
		})
	}
	set, err := tool.NewSet(defs...)
	if err != nil {
		return nil, err
	}
	a, err := codeact.New(codeact.Config{Tools: set, Condenser: r.Condenser, ReportRisk: true})
	if err != nil {
		return nil, err
	}
	rt := local.New(executor.New(executors, executor.InMemory()))
	if r.Project != nil {
		if err := r.Project(ctx, h.inside, &r); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	h.asked = r
	h.mu.Unlock()
	res := &sessiontest.Resources{An: a, Runs: rt, Beside: withTasks{rt, r.TaskRuntime}, Inside: h.inside, Share: h.Build}
	if h.extend != nil {
		return h.extend(res), nil
	}
	return res, nil
}

// withTasks has tasks run beside the other actions.
type withTasks struct {
	runtime.Runtime
	tasks runtime.Runtime
}

func (w withTasks) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	switch r.Action.(type) {
	case *event.TaskAction, *event.WorkflowAction:
		return w.tasks.Execute(ctx, r)
	}
	return w.Runtime.Execute(ctx, r)
}

func (w withTasks) Interrupt(ctx context.Context, id event.ID) error {
	if w.tasks == nil {
		return w.Runtime.Interrupt(ctx, id)
	}
	return errors.Join(w.tasks.Interrupt(ctx, id), w.Runtime.Interrupt(ctx, id))
}

// made returns how often the resources of a conversation were built.
func (h *fixture) made(id event.ConversationID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.built[id]
}

// body is the body of a request for a conversation, with more fields.
func (h *fixture) body(t testing.TB, more string) string {
	t.Helper()
	raw := fmt.Sprintf(`{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"the-api-key","usage_id":"agent"},
"tools":[{"name":"terminal","params":{}}]},"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`, h.work)
	var fields map[string]json.RawMessage
	for _, part := range []string{raw, "{" + more + "}"} {
		must.Succeed(t, json.Unmarshal([]byte(part), &fields))
	}
	b, err := json.Marshal(fields)
	must.Succeed(t, err)
	return string(b)
}

// request is the specification that a body asks for. replace are texts in the
// body and their replacements.
func (h *fixture) request(t testing.TB, more string, replace ...string) session.Spec {
	t.Helper()
	return specOf(t, h.ring, strings.NewReplacer(replace...).Replace(h.body(t, more)))
}

// specOf is the specification that a body asks for.
func specOf(t testing.TB, ring *keyring.Ring, body string) session.Spec {
	t.Helper()
	s := session.Spec{Setup: session.DefaultSetup()}
	var v struct {
		*session.Setup
		ID      string                     `json:"conversation_id"`
		Parent  string                     `json:"parent_conversation_id"`
		Tags    map[string]string          `json:"tags"`
		Secrets map[string]json.RawMessage `json:"secrets"`
		Message *session.Message           `json:"initial_message"`
		Agent   json.RawMessage            `json:"agent"`
		Tree    bool                       `json:"worktree"`
	}
	v.Setup = &s.Setup
	must.Succeed(t, json.Unmarshal([]byte(body), &v))
	s.ID, _ = event.ParseConversationID(v.ID)
	s.Parent, _ = event.ParseConversationID(v.Parent)
	s.Tags, s.Secrets, s.Message = v.Tags, v.Secrets, v.Message
	if v.Tree {
		s.Worktree = &session.WorktreeOptions{}
	}
	var err error
	if s.Agent, err = spec.DecodeAgent(v.Agent, schema.Reading{Keys: ring}, "body", "agent"); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin makes a conversation.
func (h *fixture) begin(t testing.TB, more string) *session.Conversation {
	t.Helper()
	c, made, err := h.Create(t.Context(), h.request(t, more))
	if err != nil || !made {
		t.Fatalf("made %v: %v", made, err)
	}
	return c
}

func message(text string, run bool) session.Message {
	return session.Message{Role: event.RoleUser, Content: event.Texts(text), Run: run}
}

func send(t testing.TB, c *session.Conversation, text string) {
	t.Helper()
	must.Succeed(t, c.Send(t.Context(), message(text, true)))
}

// settle waits until nothing runs.
func settle(t testing.TB, c *session.Conversation) {
	t.Helper()
	must.Succeed(t, c.Wait(t.Context()))
}

// field is a field of a JSON object that is a string, or "".
func field(t testing.TB, raw []byte, name string) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Errorf("%v in %s", err, raw)
		return ""
	}
	var s string
	_ = json.Unmarshal(all[name], &s) // anything else is ""
	return s
}

func describe(t testing.TB, c *session.Conversation) string {
	t.Helper()
	raw, err := c.Describe(t.Context())
	must.Succeed(t, err)
	return string(raw)
}

func status(t testing.TB, c *session.Conversation) string {
	t.Helper()
	return field(t, []byte(describe(t, c)), "execution_status")
}

// eventsOf are the events of one type in a conversation.
func eventsOf[E event.Event](t testing.TB, h *fixture, id event.ConversationID) (all []E) {
	t.Helper()
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		if e, ok := ev.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// kinds returns the kinds of events in short form.
func (h *fixture) kinds(t testing.TB, id event.ConversationID) []string {
	t.Helper()
	var out []string
	for _, ev := range eventsOf[event.Event](t, h, id) {
		switch e := ev.(type) {
		case *event.MessageEvent:
			out = append(out, string(e.Source)+": "+event.JoinText(e.LLMMessage.Content))
		case *event.ConversationStateUpdateEvent:
			if e.Key == "execution_status" {
				out = append(out, strings.Trim(string(e.Value), `"`))
			}
		case *event.SystemPromptEvent:
		default:
			out = append(out, ev.Kind())
		}
	}
	return out
}

// stored is everything that is stored of a conversation.
func (h *fixture) stored(t testing.TB, id event.ConversationID) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		b.Write(rec.JSON)
		b.WriteByte('\n')
	}
	return b.String()
}

// restart closes the manager and opens another, as a restart does.
func (h *fixture) restart(t testing.TB) {
	t.Helper()
	must.Succeed(t, h.Close(context.Background()))
	h.Manager = h.another(t)
}

func (h *fixture) get(t testing.TB, id event.ConversationID) *session.Conversation {
	t.Helper()
	c, err := h.Get(t.Context(), id)
	must.Succeed(t, err)
	return c
}
