package registry_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/registry"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/think"
)

// inProcess runs finish and think.
type inProcess struct{}

func (inProcess) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	x := think.New()
	if _, ok := r.Action.(*event.FinishAction); ok {
		x = finish.New()
	}
	return x.Execute(ctx, tool.Call{ID: r.ID, Action: r.Action, Progress: func(tool.Chunk) {}})
}

func (inProcess) Interrupt(context.Context, event.ID) error { return nil }
func (inProcess) Close() error                              { return nil }

func calling(name, arguments string) *llm.Response {
	call := event.ToolCall{ID: string(event.NewID()), Name: name, Arguments: arguments, Origin: event.OriginCompletion}
	return &llm.Response{ID: call.ID, Finish: llm.FinishTools, Message: event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{call}}}
}

// TestSwitchInTheMiddleOfAConversation switches during a call of the first
// model: its answer counts, and the next step calls the second model.
func TestSwitchInTheMiddleOfAConversation(t *testing.T) {
	t.Parallel()
	var r *registry.Registry
	r = registry.New(func(profile string) (llm.Model, error) {
		return &fake{name: profile, gen: func(llm.Request) (*llm.Response, error) {
			if profile == "second" {
				return calling("finish", `{"message":"done"}`), nil
			}
			return calling("think", `{"thought":"hm"}`), r.Switch(registry.Agent, "second")
		}}, nil
	})
	if err := r.Use(registry.Agent, "first"); err != nil {
		t.Fatal(err)
	}
	c, _ := open(t, r)
	if err := c.Send(t.Context(), event.NewUserMessage("go")); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, u := range c.State().Stats.UsageToMetrics[registry.Agent].TokenUsages {
		models = append(models, u.Model)
	}
	if diff := cmp.Diff([]string{"first", "second"}, models); diff != "" || c.State().Status != state.Finished {
		t.Errorf("%s, models %s", c.State().Status, diff)
	}
}

// TestRefusalEndsTheRun checks that an answer with a final HTTP status ends the
// run at its first call with an error event, even if its body says that the
// server failed.
func TestRefusalEndsTheRun(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{
		401: "LLMAuthenticationError", 403: "LLMAuthenticationError", 400: "LLMBadRequestError", 422: "LLMBadRequestError",
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{
				{Fault: &llmtest.Fault{Kind: llmtest.ServerError, Status: status, Message: "no"}},
			}})
			m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1"})
			if err != nil {
				t.Fatal(err)
			}
			waited := func(context.Context, time.Duration) error {
				t.Error("the call is to be made again")
				return context.Canceled
			}
			r := registry.New(func(string) (llm.Model, error) { return broker.New(m, broker.Options{Sleep: waited}), nil })
			if err := r.Use(registry.Agent, "p"); err != nil {
				t.Fatal(err)
			}
			c, stream := open(t, r)
			if err := c.Send(t.Context(), event.NewUserMessage("go")); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := srv.Count(); n != 1 || c.State().Status != state.Errored {
				t.Errorf("%s after %d calls", c.State().Status, n)
			}
			page, err := stream.Search(t.Context(), c.ID(), eventstream.Query{Kinds: []string{"ConversationErrorEvent"}})
			if err != nil || len(page.Records) != 1 {
				t.Fatalf("%d error events, %v", len(page.Records), err)
			}
			ev, err := page.Records[0].Event()
			if err != nil {
				t.Fatal(err)
			}
			if got := ev.(*event.ConversationErrorEvent).Code; got != code {
				t.Errorf("error event %s, want %s", got, code)
			}
		})
	}
}

func open(t *testing.T, r *registry.Registry) (*controller.Controller, eventstream.Stream) {
	t.Helper()
	stream, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := tool.NewSet(finish.Definition(), think.Definition())
	if err != nil {
		t.Fatal(err)
	}
	act, err := codeact.New(codeact.Config{Tools: set, Condenser: memory.Summarizing{}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := controller.Config{
		ID: event.NewConversationID(), Stream: stream, Agent: act, Runtime: inProcess{}, Local: inProcess{}, LLM: r.Model,
	}
	if err := stream.Create(t.Context(), cfg.ID, eventstream.Meta{}); err != nil {
		t.Fatal(err)
	}
	c, err := controller.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, stream
}
