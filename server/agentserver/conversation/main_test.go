package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/session/sessiontest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is the routes over a manager whose model answers from a list and
// whose terminal blocks.
type fixture struct {
	*session.Manager
	service *conversation.Service
	work    string // the workspace
	ring    *keyring.Ring
	started chan struct{} // a command has started
	answers []*llm.Response
	calls   atomic.Int64
	agent   *spec.Agent // of the last launch
}

func setup(t *testing.T, answers []*llm.Response, change func(*session.Options)) *fixture {
	t.Helper()
	f := &fixture{work: t.TempDir(), ring: keyring.New("a key of the tests"), started: make(chan struct{}, 10), answers: answers}
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must.Succeed(t, err)
	locks, err := conversationlock.Open(dir)
	must.Succeed(t, err)
	o := session.Options{Store: store, Lock: locks, Dir: dir, Ring: f.ring, IdleTTL: -1, Models: f, Builder: f, View: view.OpenHands{}}
	if change != nil {
		change(&o)
	}
	if f.Manager, err = session.Open(o); err != nil {
		t.Fatal(err)
	}
	f.service = conversation.New(conversation.Options{Sessions: f.Manager.All(), Settings: f, Sealed: f.ring, CheckClientTool: anyTool, Plugins: plugin.Loader{Local: func(context.Context) bool { return true }}})
	t.Cleanup(func() {
		must.Report(t, f.Close(context.Background()))
		must.Report(t, store.Close())
	})
	return f
}

func says(text string) *llm.Response {
	return &llm.Response{Model: "stub", Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}, Finish: llm.FinishStop}
}

func shell(command string) *llm.Response {
	r := &llm.Response{Model: "stub", Finish: llm.FinishTools, Message: event.Message{Role: event.RoleAssistant}}
	r.Message.ToolCalls = []event.ToolCall{{ID: "call", Name: "terminal", Arguments: fmt.Sprintf(`{"command":%q}`, command), Origin: event.OriginCompletion}}
	return r
}

// Open implements [session.Models].
func (f *fixture) Open(*spec.LLM, session.ModelOptions) (llm.Model, error) { return f, nil }

// Info implements [llm.Model].
func (f *fixture) Info() llm.Info {
	return llm.Info{Name: "openai/mock", ContextWindow: 100_000, MaxOutput: 8000, Tools: true}
}

// Generate implements [llm.Model].
func (f *fixture) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	i := int(f.calls.Add(1)) - 1
	if i >= len(f.answers) {
		return nil, fault.New(fault.Internal, fmt.Sprintf("the model was called %d times, the script has %d answers", i+1, len(f.answers)))
	}
	return f.answers[i], nil
}

// Execute implements [tool.Executor]: a command runs until it is interrupted.
func (f *fixture) Execute(ctx context.Context, _ tool.Call) (event.Observation, error) {
	f.started <- struct{}{}
	<-ctx.Done()
	zero := 0
	return &event.TerminalObservation{ExitCode: &zero, ObservationBase: event.ObservationBase{Content: event.Texts("stopped")}}, nil
}

// blocking is the terminal.
type blocking struct{ *fixture }

func (blocking) Close() error { return nil }

// Build implements [session.Builder].
func (f *fixture) Build(_ context.Context, r session.BuildRequest) (session.Resources, error) {
	set, err := tool.NewSet(&tool.Definition{
		Name: "terminal", Kind: "TerminalTool", ActionKind: "TerminalAction", ObservationKind: "TerminalObservation",
		Parameters: tool.Schema{Properties: []tool.Property{{Name: "command", Type: "string", Required: true}}},
		Locks:      func(event.Action) []string { return nil },
		Decode:     tool.DecodeInto[event.TerminalAction],
	}, finish.Definition())
	if err != nil {
		return nil, err
	}
	a, err := codeact.New(codeact.Config{Tools: set, Condenser: r.Condenser, ReportRisk: true})
	if err != nil {
		return nil, err
	}
	rt := local.New(executor.New(map[string]tool.Executor{"TerminalAction": blocking{f}, "FinishAction": finish.New()}, executor.InMemory()))
	return &sessiontest.Resources{An: a, Runs: rt, Beside: rt}, nil
}

// WorkspaceInside implements [session.Builder].
func (f *fixture) WorkspaceInside(session.Placement) (bool, error) { return false, nil }

// Remove implements [session.Builder].
func (f *fixture) Remove(context.Context, event.ConversationID) error { return nil }

// Launch implements [conversation.Settings].
func (f *fixture) Launch(_ context.Context, src launch.Source, _ launch.Runtime) (*settings.Launched, error) {
	a, err := spec.CheckAgent(src.Agent, schema.Reading{Keys: src.Keys}, "body", "agent")
	f.agent = a
	return &settings.Launched{Agent: a}, err
}

// OpenLLM implements [conversation.Settings].
func (f *fixture) OpenLLM(_ context.Context, doc any, keys schema.Keys) (*spec.LLM, error) {
	return spec.CheckLLM(doc, schema.Reading{Keys: keys}, "body", "llm")
}

func anyTool(json.RawMessage) error { return nil }

// serve puts the routes behind a server and returns how to ask it, with names and
// values of headers.
func (f *fixture) serve(t *testing.T) func(method, path, body string, headers ...string) (int, string) {
	t.Helper()
	s, err := rest.New(rest.Options{Routes: f.service.Routes(), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	return func(method, path, body string, headers ...string) (int, string) {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "/api/conversations"+path, strings.NewReader(body))
		for pair := range slices.Chunk(headers, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		s.ServeHTTP(w, r)
		raw, err := io.ReadAll(w.Result().Body)
		must.Succeed(t, err)
		return w.Code, string(raw)
	}
}

// body is the body of a request for a conversation, with more fields.
func (f *fixture) body(t *testing.T, more string) string {
	t.Helper()
	raw := fmt.Sprintf(`{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"the-api-key","usage_id":"agent"},
"tools":[{"name":"terminal","params":{}}]},"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`, f.work)
	var fields map[string]json.RawMessage
	for _, part := range []string{raw, "{" + more + "}"} {
		must.Succeed(t, json.Unmarshal([]byte(part), &fields))
	}
	b, err := json.Marshal(fields)
	must.Succeed(t, err)
	return string(b)
}

// begin makes a conversation.
func (f *fixture) begin(t *testing.T) *session.Conversation {
	t.Helper()
	r := conversation.NewStartRequest()
	must.Succeed(t, json.Unmarshal([]byte(f.body(t, "")), r))
	c, made, err := f.service.Start(t.Context(), r)
	if err != nil || !made {
		t.Fatalf("made %v: %v", made, err)
	}
	return c
}

// began starts a conversation with further fields of a request, and has it answer a message.
func (f *fixture) began(t *testing.T, ask func(method, path, body string, headers ...string) (int, string), more string) event.ConversationID {
	t.Helper()
	status, answer := ask("POST", "", f.body(t, more))
	var made struct{ ID event.ConversationID }
	if err := json.Unmarshal([]byte(answer), &made); err != nil || status != 201 {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	c, err := f.Get(t.Context(), made.ID)
	must.Succeed(t, err)
	send(t, c, "go")
	return made.ID
}

func send(t *testing.T, c *session.Conversation, text string) {
	t.Helper()
	must.Succeed(t, c.Send(t.Context(), session.Message{Role: event.RoleUser, Content: event.Texts(text), Run: true}))
	must.Succeed(t, c.Wait(t.Context()))
}
