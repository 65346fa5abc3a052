package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// programs is a host of hooks that are commands.
type programs struct {
	do func(ctx context.Context, p hook.Program) (hook.Output, error)

	mu  sync.Mutex
	ran []hook.Program
}

func (h *programs) Program(ctx context.Context, p hook.Program) (hook.Output, error) {
	h.mu.Lock()
	h.ran = append(h.ran, p)
	h.mu.Unlock()
	return h.do(ctx, p)
}

func (h *programs) Recorded(...event.ID) {}

func (h *programs) Ask(context.Context, string, string, string) (string, error) {
	return "", errors.New("there is no model")
}

func (h *programs) Agent(context.Context, event.ID, hook.Hook, string) (string, error) {
	return "", errors.New("there is no agent")
}

// hooked has the hooks of a configuration run by do.
func hooked(t *testing.T, config string, do func(ctx context.Context, p hook.Program) (hook.Output, error)) (*programs, func(*controller.Config)) {
	t.Helper()
	c, err := hook.Parse([]byte(config))
	must.Succeed(t, err)
	h := &programs{do: do}
	return h, func(cfg *controller.Config) { cfg.Hooks = hook.NewRunner(c, h, cfg.ID, "/work") }
}

// log returns the kinds of the stored events, without state updates, and the events.
func (b *bundle) log(t *testing.T) (kinds []string, evs []event.Event) {
	t.Helper()
	for rec, err := range b.stream.Read(t.Context(), b.cfg.ID, 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		if _, update := ev.(*event.ConversationStateUpdateEvent); !update {
			kinds, evs = append(kinds, ev.Kind()), append(evs, ev)
		}
	}
	return kinds, evs
}

// TestHooksAroundTools: a hook blocks one call, the reason reaches the model, and the hooks after
// a call see its result.
func TestHooksAroundTools(t *testing.T) {
	t.Parallel()
	h, with := hooked(t, `{"pre_tool_use":[{"matcher":"terminal","hooks":[{"command":"check"}]}],"post_tool_use":[{"hooks":[{"command":"log"}]}]}`,
		func(_ context.Context, p hook.Program) (hook.Output, error) {
			if p.Command == "check" && strings.Contains(p.Input, "rm -rf") {
				return hook.Output{ExitCode: 2, Stderr: "not that one\n"}, nil
			}
			return hook.Output{ExitCode: 1}, nil // which blocks nothing
		})
	b := setup(t, with, script(calls([2]string{"terminal", `{"command":"rm -rf /"}`}), calls([2]string{"terminal", `{"command":"ls"}`}), done()))
	b.send(t, "go")
	b.mustRun(t)
	kinds, evs := b.log(t)
	want := []string{
		"SystemPromptEvent", "MessageEvent",
		"ActionEvent", "HookExecutionEvent", "UserRejectObservation",
		"ActionEvent", "HookExecutionEvent", "HookExecutionEvent", "ObservationEvent",
		"ActionEvent", "HookExecutionEvent", "ObservationEvent", // finish, which check does not match
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatal(diff)
	}
	r := evs[4].(*event.UserRejectObservation)
	if r.RejectionSource != event.RejectedByHook || r.RejectionReason != "not that one" {
		t.Errorf("%+v", r)
	}
	if len(b.rt.ran) != 1 {
		t.Errorf("%d actions ran", len(b.rt.ran))
	}
	after := evs[7].(*event.HookExecutionEvent)
	if after.HookEventType != hook.PostToolUse || after.ActionID != evs[5].Meta().ID || after.Success || after.Blocked || !strings.Contains(string(after.HookInput), `"tool_response":{`) {
		t.Errorf("%+v", after)
	}
	if in := h.ran[2].Input; !strings.Contains(in, `"tool_response":{`) || !strings.Contains(in, `"working_dir":"/work"`) {
		t.Errorf("the hook after a call is told %s", in)
	}
}

// TestStopHook lets the agent stop at the second attempt.
func TestStopHook(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func() (end [2]string, text bool){
		"after a reply":  func() ([2]string, bool) { return [2]string{}, true },
		"after a finish": func() ([2]string, bool) { return [2]string{"finish", `{"message":"done"}`}, false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			_, with := hooked(t, `{"stop":[{"hooks":[{"command":"tests"}]}]}`, func(context.Context, hook.Program) (hook.Output, error) {
				asked++
				if asked == 1 {
					return hook.Output{ExitCode: 2, Stderr: "a test fails"}, nil
				}
				return hook.Output{}, nil
			})
			ending, text := first()
			answer := calls(ending)
			if text {
				answer = says("I am done")
			}
			b := setup(t, with, script(answer, says("Now I am")))
			b.send(t, "go")
			b.mustRun(t)
			if s := b.State().Status; s != state.Finished || asked != 2 {
				t.Fatalf("%s after %d questions", s, asked)
			}
			last := b.model.calls[1].Messages
			if got := event.JoinText(last[len(last)-1].Content); got != "[Stop hook feedback] a test fails" {
				t.Errorf("the model is told %q", got)
			}
		})
	}
}

// TestStopHookAfterCrash: the process ends while a hook decides whether the agent may stop. The
// next one asks for the same hook again, and not the model.
func TestStopHookAfterCrash(t *testing.T) {
	t.Parallel()
	ctx, crash := context.WithCancel(t.Context())
	h, with := hooked(t, `{"stop":[{"hooks":[{"command":"tests"}]}]}`, func(ctx context.Context, _ hook.Program) (hook.Output, error) {
		crash()
		return hook.Output{}, ctx.Err()
	})
	b := setup(t, with, script(says("I am done")))
	b.send(t, "go")
	if err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	h.do = func(context.Context, hook.Program) (hook.Output, error) { return hook.Output{}, nil }
	b.reopen(t)
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Fatalf("status %s", s)
	}
	if len(h.ran) != 2 || h.ran[0].ID != h.ran[1].ID || !h.ran[1].Again {
		t.Errorf("asked for %+v", h.ran)
	}
}

// TestDecisionAfterCrash: the decision of a hook is in the stream before the action begins, and it is
// not asked again.
func TestDecisionAfterCrash(t *testing.T) {
	t.Parallel()
	ctx, crash := context.WithCancel(t.Context())
	h, with := hooked(t, `{"pre_tool_use":[{"hooks":[{"command":"check"}]}]}`, func(context.Context, hook.Program) (hook.Output, error) {
		return hook.Output{}, nil
	})
	b := setup(t, with, script(calls([2]string{"terminal", `{"command":"ls"}`}), says("done")))
	b.send(t, "go")
	b.rt.do = func(ctx context.Context, _ tool.Request) (event.Observation, error) {
		crash()
		return nil, ctx.Err()
	}
	if err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.rt.do = echo
	b.reopen(t)
	b.mustRun(t)
	if len(h.ran) != 1 || len(b.rt.ran) != 2 {
		t.Errorf("%d hooks and %d actions were asked for", len(h.ran), len(b.rt.ran))
	}
}

// TestInterruptedHook: an interruption ends the hook, and the action is not begun.
func TestInterruptedHook(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	_, with := hooked(t, `{"pre_tool_use":[{"hooks":[{"command":"slow"}]}]}`, func(ctx context.Context, _ hook.Program) (hook.Output, error) {
		close(started)
		<-ctx.Done()
		return hook.Output{ExitCode: -1}, nil
	})
	b := setup(t, with, script(calls([2]string{"terminal", `{"command":"ls"}`})))
	b.send(t, "go")
	over := make(chan error, 1)
	go func() { over <- b.Run(t.Context()) }()
	<-started
	if _, err := b.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, <-over)
	if s := b.State().Status; s != state.Paused || len(b.rt.ran) != 0 {
		t.Errorf("%s, %d actions ran", s, len(b.rt.ran))
	}
}
