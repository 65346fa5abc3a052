package controller_test

import (
	"context"
	"strings"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// TestSecretInAnAction: a value that the model writes is stored and sent to it under the
// secret's name. The action runs with the value: at once, after a restart, and not at all
// where the value is lost.
func TestSecretInAnAction(t *testing.T) {
	t.Parallel()
	const value = "hush-4711"
	for name, c := range map[string]struct {
		restart bool
		command string
		ran     string // "" for not
	}{
		"at once":                           {false, "curl -H " + value, "curl -H " + value},
		"at once, encoded":                  {false, "echo aHVzaC00NzEx", "echo aHVzaC00NzEx"},
		"after a restart":                   {true, "curl -H " + value, "curl -H " + value},
		"encoded, after a restart":          {true, "echo aHVzaC00NzEx", ""},
		"without a secret, after a restart": {true, "ls", "ls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := secret.NewRegistry(secret.Options{})
			r.Set(secret.Named{Name: "TOKEN", Source: secret.Source{Kind: secret.KindStatic, Value: value}})
			b := setup(t, func(cfg *controller.Config) {
				cfg.Guard = secret.Guard{Registry: r}
				cfg.Review = func(context.Context, []*event.ActionEvent) ([]event.Event, bool) { return nil, true }
			}, func(_ context.Context, n int, q llm.Request) (*llm.Response, error) {
				for _, m := range q.Messages {
					for _, call := range m.ToolCalls {
						if strings.Contains(call.Arguments, value) || strings.Contains(call.Arguments, "aHVzaC00NzEx") {
							t.Errorf("the model is sent %s", call.Arguments)
						}
					}
				}
				if n == 0 {
					return calls([2]string{"terminal", `{"command":"` + c.command + `"}`}), nil
				}
				return says("done"), nil
			})
			got := ""
			b.rt.do = func(ctx context.Context, q tool.Request) (event.Observation, error) {
				got += q.Action.(*event.TerminalAction).Command
				return echo(ctx, q)
			}
			b.send(t, "go")
			b.mustRun(t)
			if s := b.State().Status; s != state.Confirming {
				t.Fatalf("status %s", s)
			}
			if c.restart {
				b.reopen(t)
			}
			b.mustRun(t)
			if got != c.ran {
				t.Errorf("it runs %q, want %q", got, c.ran)
			}
			for _, ev := range b.State().View {
				raw, err := event.Marshal(ev)
				if err != nil || strings.Contains(string(raw), value) || strings.Contains(string(raw), "aHVzaC00NzEx") {
					t.Errorf("stored: %s, %v", raw, err)
				}
				if e, ok := ev.(*event.AgentErrorEvent); ok && (c.ran != "" || !strings.Contains(e.Error, "variable")) {
					t.Errorf("the model is told %q", e.Error)
				}
			}
		})
	}
}
