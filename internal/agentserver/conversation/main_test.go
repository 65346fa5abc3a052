package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/think"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is what the stub model says to a request.
type reply func(ctx context.Context, r llm.Request) (*llm.Response, error)

// model answers with a function and notes what it was asked.
type model struct {
	name   string
	answer func(ctx context.Context, r llm.Request) (*llm.Response, error)

	mu    sync.Mutex
	asked []llm.Request
	busy  int
	most  int // calls at one time
}

func (m *model) Info() llm.Info {
	return llm.Info{Name: m.name, ContextWindow: 100_000, MaxOutput: 8000, Tools: true}
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

// commands is the terminal of the tests: "block" waits to be released or
// interrupted, "reveal" prints what is hidden, anything else is echoed.
type commands struct {
	started chan string
	release chan struct{}
	hidden  string // what "reveal" prints
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
	switch a.Command {
	case "reveal":
		text = c.hidden
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

// counted is a stream that counts what reads events, and tells of titles that
// are stored.
type counted struct {
	eventstream.Stream
	reads atomic.Int64
	named chan string
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

// house is a manager with all around it.
type house struct {
	*conversation.Manager
	o      conversation.Options
	stream *counted
	dir    string
	work   string // the workspace
	model  *model
	tools  *commands

	mu       sync.Mutex
	models   map[string]*model                // others, by name
	profiles map[string]string                // LLMs as JSON
	changes  []string                         // statuses told to Changed
	outfits  map[event.ConversationID]int     // made
	reject   func(n conversation.Needs) error // makes outfits fail
}

func setup(t testing.TB, answer reply, change func(*conversation.Options)) *house {
	t.Helper()
	h := &house{
		dir: t.TempDir(), work: t.TempDir(), model: &model{name: "openai/mock", answer: answer}, tools: newCommands(),
		models: map[string]*model{}, profiles: map[string]string{}, outfits: map[event.ConversationID]int{},
	}
	store, err := sqlite.Open(t.Context(), h.dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.stream = &counted{Stream: store, named: make(chan string, 1000)}
	ring := keyring.New("a key of the tests")
	h.o = conversation.Options{
		Stream: h.stream, Dir: h.dir, Ring: ring, IdleTTL: -1,
		Resolve: func(_ context.Context, r *conversation.StartRequest) (*conversation.Launch, error) {
			a, err := spec.DecodeAgent(r.Agent, schema.Reading{Keys: ring}, "body", "agent")
			return &conversation.Launch{Agent: a}, err
		},
		LLM: func(_ context.Context, raw json.RawMessage) (*spec.LLM, error) {
			return spec.DecodeLLM(raw, schema.Reading{Keys: ring}, "body", "llm")
		},
		Profile: h.profile, Model: h.open, Outfit: h.outfit,
		Changed: func(_ event.ConversationID, info json.RawMessage) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changes = append(h.changes, field(t, info, "execution_status"))
		},
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
func (h *house) another(t testing.TB) *conversation.Manager {
	t.Helper()
	m, err := conversation.Open(h.o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (h *house) profile(_ context.Context, name string) (*spec.LLM, error) {
	h.mu.Lock()
	raw, ok := h.profiles[name]
	h.mu.Unlock()
	if !ok {
		return nil, fault.New(fault.NotFound, "Profile '"+name+"' not found")
	}
	return spec.DecodeLLM([]byte(raw), schema.Reading{}, "body")
}

func (h *house) open(l *spec.LLM, _ func(controller.Retry, error)) (llm.Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.models[l.Model]; m != nil {
		return m, nil
	}
	return h.model, nil
}

func (h *house) outfit(_ context.Context, n conversation.Needs) (*conversation.Outfit, error) {
	h.mu.Lock()
	h.outfits[n.ID]++
	reject := h.reject
	h.mu.Unlock()
	if reject != nil {
		if err := reject(n); err != nil {
			return nil, err
		}
	}
	set, err := tool.NewSet(terminalTool(), finish.Definition(), think.Definition())
	if err != nil {
		return nil, err
	}
	a, err := codeact.New(codeact.Config{Tools: set, Condenser: n.Condenser, ReportRisk: true})
	if err != nil {
		return nil, err
	}
	rt := local.New(executor.New(map[string]tool.Executor{
		"TerminalAction": h.tools, "FinishAction": finish.New(), "ThinkAction": think.New(),
	}, executor.Forgetful()))
	return &conversation.Outfit{Agent: a, Runtime: rt, Local: rt, Close: func(context.Context) error { return rt.Close() }}, nil
}

// made returns how many outfits were made for a conversation.
func (h *house) made(id event.ConversationID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.outfits[id]
}

// body is the body of a request for a conversation, with more fields.
func (h *house) body(t testing.TB, more string) string {
	t.Helper()
	raw := fmt.Sprintf(`{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"the-api-key","usage_id":"agent"},
"tools":[{"name":"terminal","params":{}}]},"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`, h.work)
	var fields map[string]json.RawMessage
	for _, part := range []string{raw, "{" + more + "}"} {
		if err := json.Unmarshal([]byte(part), &fields); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// request is what a body asks for.
func (h *house) request(t testing.TB, more string) *conversation.StartRequest {
	t.Helper()
	var r conversation.StartRequest
	if err := json.Unmarshal([]byte(h.body(t, more)), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// begin makes a conversation.
func (h *house) begin(t testing.TB, more string) *conversation.Conversation {
	t.Helper()
	c, made, err := h.Create(t.Context(), h.request(t, more))
	if err != nil || !made {
		t.Fatalf("made %v: %v", made, err)
	}
	return c
}

func message(text string, run bool) conversation.Message {
	return conversation.Message{Role: event.RoleUser, Content: event.Texts(text), Run: run}
}

func send(t testing.TB, c *conversation.Conversation, text string) {
	t.Helper()
	if err := c.Send(t.Context(), message(text, true)); err != nil {
		t.Fatal(err)
	}
}

// settle waits until nothing runs.
func settle(t testing.TB, c *conversation.Conversation) {
	t.Helper()
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
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

func describe(t testing.TB, c *conversation.Conversation) string {
	t.Helper()
	raw, err := c.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func status(t testing.TB, c *conversation.Conversation) string {
	t.Helper()
	return field(t, []byte(describe(t, c)), "execution_status")
}

// kinds returns what happened, in short words.
func (h *house) kinds(t testing.TB, id event.ConversationID) []string {
	t.Helper()
	var out []string
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := rec.Event()
		if err != nil {
			t.Fatal(err)
		}
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
func (h *house) stored(t testing.TB, id event.ConversationID) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(rec.JSON)
		b.WriteByte('\n')
	}
	return b.String()
}

// restart closes the manager and opens another, as a restart does.
func (h *house) restart(t testing.TB) {
	t.Helper()
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.Manager = h.another(t)
}

func (h *house) get(t testing.TB, id event.ConversationID) *conversation.Conversation {
	t.Helper()
	c, err := h.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
