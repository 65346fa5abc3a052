package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// TestLLMFailuresAreShownAndResumable fails the first call in every way, then
// answers.
func TestLLMFailuresAreShownAndResumable(t *testing.T) {
	t.Parallel()
	for kind, code := range map[fault.Kind]string{
		fault.Auth: "LLMAuthenticationError", fault.RateLimit: "LLMRateLimitError", fault.Quota: "LLMQuotaError",
		fault.Content: "LLMContentPolicyViolationError", fault.Invalid: "LLMBadRequestError",
		fault.Unavailable: "LLMServiceUnavailableError", fault.Timeout: "LLMTimeoutError", fault.Internal: "InternalError",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, func(_ context.Context, n int, _ llm.Request) (*llm.Response, error) {
				if n == 0 {
					return nil, llm.NewError(kind, "stub", "stub", "no luck", errors.New("cause"))
				}
				return done(), nil
			})
			b.send(t, "go")
			b.mustRun(t)
			if s := b.State().Status; s != state.Errored || b.lastError(t) != code {
				t.Errorf("status %s, code %s, want error and %s", s, b.lastError(t), code)
			}
			b.mustRun(t)
			if s := b.State().Status; s != state.Finished {
				t.Errorf("status %s after running again", s)
			}
		})
	}
}

// TestModelIsNotSetUp sends the user to the settings.
func TestModelIsNotSetUp(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) {
		return nil, fmt.Errorf("call: %w", llm.NotSetUp("openai/stub needs an API key"))
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Errored || b.lastError(t) != "ModelNotSetUp" {
		t.Errorf("status %s, code %s", s, b.lastError(t))
	}
}

func TestContextOverflowIsCondensed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(_ context.Context, n int, r llm.Request) (*llm.Response, error) {
		switch {
		case len(r.Tools) == 0:
			return says("notes"), nil
		case n < 6:
			return calls([2]string{"terminal", fmt.Sprintf(`{"command":"c%d"}`, n)}), nil
		case n == 6:
			return nil, llm.NewError(fault.Context, "stub", "stub", "too long", nil)
		}
		return done(), nil
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Fatalf("status %s (%s)", s, b.lastError(t))
	}
	if k := b.kinds(); len(k) < 3 || k[2] != "CondensationSummaryEvent" {
		t.Errorf("view %v, want a summary after the first message", k)
	}
	if _, ok := b.State().Stats.UsageToMetrics["condenser"]; !ok {
		t.Error("the condenser's call is not counted")
	}
}

func TestContextOverflowThatCannotBeCuredEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(_ context.Context, _ int, r llm.Request) (*llm.Response, error) {
		if len(r.Tools) == 0 {
			return says("notes"), nil
		}
		return nil, llm.NewError(fault.Context, "stub", "stub", "too long", nil)
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Errored || b.lastError(t) != "LLMContextWindowExceedError" {
		t.Errorf("status %s, code %s", s, b.lastError(t))
	}
	if n := b.model.count(); n > 10 {
		t.Errorf("the model was called %d times", n)
	}
}

func TestSpendingLimit(t *testing.T) {
	t.Parallel()
	price := llm.Price{Known: true, Input: 1, Output: 10}
	spend := func(_ context.Context, n int, r llm.Request) (*llm.Response, error) {
		// The worst case: all that was allowed.
		u := llm.Usage{Prompt: 10, Output: r.MaxOutputTokens}
		cost, _ := price.Cost(u)
		resp := calls([2]string{"terminal", fmt.Sprintf(`{"command":"c%d"}`, n)})
		resp.Usage, resp.Cost, resp.CostKnown = u, cost, true
		return resp, nil
	}
	limit := func(dollars float64) func(*controller.Config) {
		return func(c *controller.Config) {
			inner, budget := c.LLM, broker.NewBudget(dollars)
			c.LLM = func(usage string) llm.Model { return broker.New(inner(usage), broker.Options{Budget: budget}) }
		}
	}
	t.Run("is never exceeded", func(t *testing.T) {
		t.Parallel()
		b := setup(t, limit(0.3), spend)
		b.model.info.Price = price
		b.send(t, "go")
		b.mustRun(t)
		if b.State().Status != state.Errored || b.lastError(t) != "MaxBudgetReached" {
			t.Errorf("status %s, code %s", b.State().Status, b.lastError(t))
		}
		if c := b.State().Stats.Cost(); c > 0.3 || c < 0.2 {
			t.Errorf("spent $%.4f of $0.30", c)
		}
	})
	t.Run("needs a price", func(t *testing.T) {
		t.Parallel()
		b := setup(t, limit(1), spend)
		b.send(t, "go")
		b.mustRun(t)
		if b.model.count() != 0 || b.lastError(t) != "MaxBudgetReached" {
			t.Errorf("%d calls, code %s", b.model.count(), b.lastError(t))
		}
	})
}

// terminal answers in a fixed way, so that repetition shows.
func terminal(text string, exit int) func(context.Context, tool.Request) (event.Observation, error) {
	return func(context.Context, tool.Request) (event.Observation, error) {
		return &event.TerminalObservation{ExitCode: &exit, ObservationBase: event.ObservationBase{Content: event.Texts(text), IsError: exit > 0}}, nil
	}
}

func TestStuck(t *testing.T) {
	t.Parallel()
	same := func(int) string { return `{"command":"make"}` }
	poll := func(int) string { return `{"command":""}` }
	lines := 0
	for name, c := range map[string]struct {
		args  func(n int) string
		do    func(context.Context, tool.Request) (event.Observation, error)
		calls int // until it is stuck, or the limit of iterations
		code  string
	}{
		"same action and result": {same, terminal("x", 0), 5, "AgentStuck"},
		"same failing action":    {same, terminal("x", 1), 4, "AgentStuck"},
		"two in turn":            {func(n int) string { return fmt.Sprintf(`{"command":"c%d"}`, n%2) }, echo, 8, "AgentStuck"},
		"different every time":   {func(n int) string { return fmt.Sprintf(`{"command":"c%d"}`, n) }, echo, 15, "MaxIterationsReached"},
		"a silent build, polled": {poll, terminal("", -1), 15, "MaxIterationsReached"},
		"a talkative build, polled": {poll, func(ctx context.Context, r tool.Request) (event.Observation, error) {
			lines++
			return terminal(fmt.Sprint("line ", lines), -1)(ctx, r)
		}, 15, "MaxIterationsReached"},
		"same output without news": {poll, terminal("prompt> ", -1), 5, "AgentStuck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *controller.Config) { c.MaxIterations = 15 },
				func(_ context.Context, n int, _ llm.Request) (*llm.Response, error) {
					return calls([2]string{"terminal", c.args(n)}), nil
				})
			b.rt.do = c.do
			b.send(t, "go")
			b.mustRun(t)
			if got := b.lastError(t); got != c.code || b.model.count() != c.calls {
				t.Errorf("%s after %d calls, want %s after %d", got, b.model.count(), c.code, c.calls)
			}
			if c.code == "AgentStuck" && b.State().Status != state.Stuck {
				t.Errorf("status %s", b.State().Status)
			}
		})
	}
}

// TestWaitingForeverEndsAsStuck polls a silent command until the limit.
func TestWaitingForeverEndsAsStuck(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *controller.Config) { c.Stuck.Waiting = 6 },
		func(context.Context, int, llm.Request) (*llm.Response, error) {
			return calls([2]string{"terminal", `{"command":""}`}), nil
		})
	b.rt.do = terminal("", -1)
	b.send(t, "go")
	b.mustRun(t)
	if b.State().Status != state.Stuck || b.model.count() != 7 {
		t.Errorf("status %s after %d calls, want stuck after 7", b.State().Status, b.model.count())
	}
}

func TestPendingActionIsAskedForAgainAfterARestart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string // the kind that answers
	}{
		"result is there":  {nil, "ObservationEvent"},
		"effect unknown":   {fault.New(fault.Interrupted, "died"), "AgentErrorEvent"},
		"the tool is gone": {fault.New(fault.Unsupported, "no such tool"), "AgentErrorEvent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"x"}`}), done()))
			ctx, kill := context.WithCancel(context.Background())
			b.rt.do = func(ctx context.Context, _ tool.Request) (event.Observation, error) {
				kill()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			b.send(t, "go")
			if err := b.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("run: %v", err)
			}
			b.reopen(t)
			if s := b.State(); s.Status != state.Running || len(s.Pending) != 1 {
				t.Fatalf("status %s, %d pending", s.Status, len(s.Pending))
			}
			b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
				if !r.Again {
					t.Error("asked for again without saying so")
				}
				if c.err != nil {
					return nil, c.err
				}
				return echo(ctx, r)
			}
			b.mustRun(t)
			if s := b.State().Status; s != state.Finished {
				t.Fatalf("status %s (%s)", s, b.lastError(t))
			}
			if k := b.kinds(); k[3] != c.want {
				t.Errorf("answered by %s, want %s", k[3], c.want)
			}
		})
	}
}

func TestLostRuntimeEndsTheRunAndKeepsTheAction(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"x"}`}), done()))
	b.rt.do = func(context.Context, tool.Request) (event.Observation, error) {
		return nil, fault.New(fault.Unavailable, "nobody answers")
	}
	b.send(t, "go")
	b.mustRun(t)
	if b.lastError(t) != "RuntimeUnavailable" || len(b.State().Pending) != 1 {
		t.Fatalf("code %s, %d pending", b.lastError(t), len(b.State().Pending))
	}
	b.rt.do = echo
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Errorf("status %s after resuming", s)
	}
}

func TestNavigateAndFork(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t, nil, script(says("one"), says("two"), says("three"), says("four")))
	b.send(t, "first")
	b.mustRun(t)
	mark := b.State().Head
	b.send(t, "second")
	b.mustRun(t)
	must.Succeed(t, b.Navigate(ctx, mark))
	b.reopen(t)
	if b.State().Head != mark {
		t.Fatal("a restart lost the HEAD move")
	}
	b.send(t, "other second")
	b.mustRun(t)
	dst := event.NewConversationID()
	must.Succeed(t, b.Fork(ctx, dst, controller.ForkOptions{Meta: eventstream.Meta{Title: "fork"}}))
	want := b.State()
	cfg := b.cfg
	cfg.ID, cfg.Agent = dst, newAgent(t)
	f, err := controller.Open(ctx, cfg)
	must.Succeed(t, err)
	got := f.State()
	if len(got.View) != len(want.View) || got.Head != want.Head || got.Status != state.Idle || got.Stats.Cost() != 0 {
		t.Errorf("fork: %d events, head %s, status %s; source has %d, %s", len(got.View), got.Head, got.Status, len(want.View), want.Head)
	}
	must.Succeed(t, f.Send(ctx, event.NewUserMessage("in the fork")))
	must.Succeed(t, f.Run(ctx))
	if len(f.State().View) != len(want.View)+2 || len(b.State().View) != len(want.View) {
		t.Error("the fork and its source are not independent")
	}
	if err := b.Navigate(ctx, "nowhere"); !fault.Is(err, fault.NotFound) {
		t.Errorf("navigate to nowhere: %v", err)
	}
	if err := b.Navigate(ctx, ""); err != nil || len(b.State().View) != 0 {
		t.Errorf("navigate to nothing: %v, view %v", err, b.kinds())
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t, nil, script(
		calls([2]string{"terminal", `{"command":"a"}`}, [2]string{"terminal", `{"command":"b"}`}), says("one"),
		calls([2]string{"terminal", `{"command":"c"}`}), done()))
	b.send(t, "first")
	b.mustRun(t)
	b.send(t, "second")
	b.mustRun(t)
	var trajectory []event.Event
	for rec, err := range b.stream.Read(ctx, b.cfg.ID, 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		trajectory = append(trajectory, ev)
	}
	want := b.kinds()

	// A client of OpenHands was told of one action as of a call of an MCP server's tool.
	for _, ev := range trajectory {
		if a, ok := ev.(*event.ActionEvent); ok {
			a.Action = &event.MCPToolAction{Data: json.RawMessage(`{"command":"a"}`)}
			break
		}
	}

	r := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) {
		t.Error("a replay called the model")
		return done(), nil
	})
	p, err := controller.NewReplay(trajectory, newAgent(t))
	must.Succeed(t, err)
	r.cfg.Agent = p
	r.reopen(t)
	must.Succeed(t, p.Run(ctx, r.Controller))
	if got := r.kinds(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("replayed %v, recorded %v", got, want)
	}
	if len(r.rt.ran) != 3 || r.rt.ran[0] == b.rt.ran[0] {
		t.Errorf("%d actions ran in the replay, want 3 under new ids", len(r.rt.ran))
	}
	if r.State().Status != state.Finished {
		t.Errorf("status %s", r.State().Status)
	}
	if _, err := controller.NewReplay(nil, newAgent(t)); !fault.Is(err, fault.Invalid) {
		t.Errorf("an empty trajectory: %v", err)
	}
}
