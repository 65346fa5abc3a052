package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/think"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stubModel answers with a function; the provider adapters have tests of their
// own.
type stubModel struct {
	info   llm.Info
	answer func(ctx context.Context, n int, r llm.Request) (*llm.Response, error)
	mu     sync.Mutex
	calls  []llm.Request
}

func (m *stubModel) Info() llm.Info { return m.info }

func (m *stubModel) Generate(ctx context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	n := len(m.calls)
	m.calls = append(m.calls, r)
	m.mu.Unlock()
	resp, err := m.answer(ctx, n, r)
	if resp != nil && resp.ID == "" {
		resp.ID = fmt.Sprint("resp-", n)
	}
	return resp, err
}

func (m *stubModel) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func says(text string) *llm.Response {
	return &llm.Response{Model: "stub", Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}, Finish: llm.FinishStop}
}

func calls(named ...[2]string) *llm.Response {
	r := &llm.Response{Model: "stub", Finish: llm.FinishTools}
	for _, c := range named {
		r.Message.ToolCalls = append(r.Message.ToolCalls, event.ToolCall{
			ID: string(event.NewID()), Name: c[0], Arguments: c[1], Origin: event.OriginCompletion,
		})
	}
	return r
}

func done() *llm.Response { return calls([2]string{"finish", `{"message":"done"}`}) }

// script answers with one response after the other.
func script(resps ...*llm.Response) func(context.Context, int, llm.Request) (*llm.Response, error) {
	return func(_ context.Context, n int, _ llm.Request) (*llm.Response, error) {
		if n >= len(resps) {
			return nil, fault.New(fault.Internal, fmt.Sprintf("the model was called %d times, the script has %d answers", n+1, len(resps)))
		}
		return resps[n], nil
	}
}

// stubRuntime does actions with a function, at most once for each id.
type stubRuntime struct {
	do        func(ctx context.Context, r tool.Request) (event.Observation, error)
	interrupt func(event.ID)
	mu        sync.Mutex
	ran       []event.ID
}

func (s *stubRuntime) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	s.mu.Lock()
	s.ran = append(s.ran, r.ID)
	s.mu.Unlock()
	return s.do(ctx, r)
}

func (s *stubRuntime) Interrupt(_ context.Context, id event.ID) error {
	if s.interrupt != nil {
		s.interrupt(id)
	}
	return nil
}

func (s *stubRuntime) Close() error { return nil }

// echo answers a think call with its thought.
func echo(_ context.Context, r tool.Request) (event.Observation, error) {
	switch a := r.Action.(type) {
	case *event.ThinkAction:
		return &event.ThinkObservation{ObservationBase: event.ObservationBase{Content: event.Texts(a.Thought)}}, nil
	case *event.TerminalAction:
		zero := 0
		return &event.TerminalObservation{ExitCode: &zero, ObservationBase: event.ObservationBase{Content: event.Texts(a.Command)}}, nil
	default:
		return nil, fault.New(fault.Unsupported, "echo cannot do "+r.Action.Kind())
	}
}

// bundle is a controller with all around it.
type bundle struct {
	*controller.Controller
	cfg    controller.Config
	stream eventstream.Stream
	model  *stubModel
	rt     *stubRuntime
}

// shell is a terminal tool that runs beside others.
func shell() *tool.Definition {
	return &tool.Definition{
		Name: "terminal", Kind: "TerminalTool", ActionKind: "TerminalAction", ObservationKind: "TerminalObservation",
		Parameters: tool.Schema{Properties: []tool.Property{{Name: "command", Type: "string", Required: true}}},
		Locks:      func(event.Action) []string { return nil },
		Decode: func(args json.RawMessage) (event.Action, error) {
			a := &event.TerminalAction{}
			return a, json.Unmarshal(args, a)
		},
	}
}

func setup(t testing.TB, change func(*controller.Config), answer func(context.Context, int, llm.Request) (*llm.Response, error)) *bundle {
	t.Helper()
	ctx := context.Background()
	stream, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, stream.Close()) })
	b := &bundle{
		stream: stream, rt: &stubRuntime{do: echo},
		model: &stubModel{info: llm.Info{Name: "stub", ContextWindow: 100_000, MaxOutput: 8000}, answer: answer},
	}
	b.cfg = controller.Config{
		ID: event.NewConversationID(), Stream: stream, Runtime: b.rt, Local: localRuntime{},
		LLM: func(string) llm.Model { return b.model }, Agent: newAgent(t),
	}
	if change != nil {
		change(&b.cfg)
	}
	must.Succeed(t, stream.Create(ctx, b.cfg.ID, eventstream.Meta{}))
	b.reopen(t)
	return b
}

// reopen makes a new controller on the same stream, as a restart does.
func (b *bundle) reopen(t testing.TB) {
	t.Helper()
	c, err := controller.Open(context.Background(), b.cfg)
	must.Succeed(t, err)
	b.Controller = c
}

func newAgent(t testing.TB) *codeact.Agent {
	t.Helper()
	set, err := tool.NewSet(shell(), finish.Definition(), think.Definition())
	must.Succeed(t, err)
	a, err := codeact.New(codeact.Config{Tools: set, Condenser: memory.Summarizing{}})
	must.Succeed(t, err)
	return a
}

// localRuntime runs finish and think with their real executors.
type localRuntime struct{}

func (localRuntime) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	x := think.New()
	if _, ok := r.Action.(*event.FinishAction); ok {
		x = finish.New()
	}
	return x.Execute(ctx, tool.Call{ID: r.ID, Action: r.Action, Progress: func(tool.Chunk) {}})
}

func (localRuntime) Interrupt(context.Context, event.ID) error { return nil }
func (localRuntime) Close() error                              { return nil }

func (b *bundle) send(t testing.TB, text string) {
	t.Helper()
	must.Succeed(t, b.Send(context.Background(), event.NewUserMessage(text)))
}

func (b *bundle) mustRun(t testing.TB) {
	t.Helper()
	must.Succeed(t, b.Run(context.Background()))
}

// kinds returns the kinds of the view.
func (b *bundle) kinds() []string {
	var out []string
	for _, ev := range b.State().View {
		out = append(out, ev.Kind())
	}
	return out
}

// lastError returns the code of the last ConversationErrorEvent, or "".
func (b *bundle) lastError(t testing.TB) string {
	t.Helper()
	page, err := b.stream.Search(context.Background(), b.cfg.ID, eventstream.Query{
		Kinds: []string{"ConversationErrorEvent"}, Order: eventstream.Descending, Limit: 1,
	})
	must.Succeed(t, err)
	if len(page.Records) == 0 {
		return ""
	}
	ev, err := page.Records[0].Event()
	must.Succeed(t, err)
	return ev.(*event.ConversationErrorEvent).Code
}
