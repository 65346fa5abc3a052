package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// judged answers as an agent that says "worked", and as a judge.
func judged(judge func(n int) (*llm.Response, error)) reply {
	var rounds atomic.Int64
	return func(_ context.Context, r llm.Request) (*llm.Response, error) {
		if r.Schema != nil {
			return judge(int(rounds.Add(1)))
		}
		return says("worked"), nil
	}
}

func verdict(complete bool, missing string) *llm.Response {
	return says(fmt.Sprintf(`{"score":0.5,"complete":%v,"missing":%q}`, complete, missing))
}

// goals are the values of the goal, as "status iteration/most".
func (h *fixture) goals(t *testing.T, id event.ConversationID) []string {
	t.Helper()
	var out []string
	for rec, err := range h.stream.Stream.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		up, ok := ev.(*event.ConversationStateUpdateEvent)
		if !ok || up.Key != "goal" {
			continue
		}
		var g struct {
			Active        bool
			Status        string
			Iteration     int
			MaxIterations int `json:"max_iterations"`
		}
		must.Succeed(t, json.Unmarshal(up.Value, &g))
		if g.Active != (g.Status == "running") {
			t.Errorf("active %v in status %s", g.Active, g.Status)
		}
		out = append(out, fmt.Sprintf("%s %d/%d", g.Status, g.Iteration, g.MaxIterations))
	}
	return out
}

func TestGoal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		judge  func(n int) (*llm.Response, error)
		rounds int
		want   []string
	}{
		"complete": {
			func(n int) (*llm.Response, error) { return verdict(n == 2, "the tests"), nil }, 5,
			[]string{"running 0/5", "running 1/5", "complete 2/5"},
		},
		"capped": {
			func(int) (*llm.Response, error) { return verdict(false, "all"), nil }, 2,
			[]string{"running 0/2", "running 1/2", "capped 2/2"},
		},
		"judge fails once": {
			func(n int) (*llm.Response, error) {
				if n == 1 {
					return nil, errors.New("the judge is out")
				}
				return verdict(true, ""), nil
			}, 3, []string{"running 0/3", "complete 1/3"},
		},
		"judge fails": {
			func(int) (*llm.Response, error) { return nil, errors.New("the judge is out") }, 3,
			[]string{"running 0/3", "interrupted 0/3"},
		},
		"judge talks": {
			func(int) (*llm.Response, error) { return says("looks good to me"), nil }, 3,
			[]string{"running 0/3", "interrupted 0/3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, judged(c.judge), nil)
			conv := h.begin(t, "")
			must.Succeed(t, conv.Goal().Start(t.Context(), "make it work", c.rounds))
			settle(t, conv)
			if diff := cmp.Diff(c.want, h.goals(t, conv.ID())); diff != "" {
				t.Errorf("goal (-want +got):\n%s", diff)
			}
			if got := status(t, conv); got != "finished" {
				t.Errorf("status %s", got)
			}
		})
	}
}

// TestGoalStopped stops while the judge thinks, when no run of the controller
// is there to be stopped.
func TestGoalStopped(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*session.Conversation, context.Context) error{
		"stop":      func(c *session.Conversation, ctx context.Context) error { return c.Goal().Stop(ctx) },
		"pause":     (*session.Conversation).Pause,
		"interrupt": (*session.Conversation).Interrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 10)
			h := setup(t, func(ctx context.Context, r llm.Request) (*llm.Response, error) {
				if r.Schema == nil {
					return says("worked"), nil
				}
				asked <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}, nil)
			c := h.begin(t, "")
			must.Succeed(t, c.Goal().Start(t.Context(), "make it work", 3))
			<-asked
			must.Succeed(t, stop(c, t.Context()))
			settle(t, c)
			got := h.goals(t, c.ID())
			if last := got[len(got)-1]; !strings.HasPrefix(last, "interrupted") {
				t.Errorf("the goal was stopped: %q", got)
			}
			if n := strings.Count(strings.Join(h.kinds(t, c.ID()), "\n"), "agent: worked"); n != 1 {
				t.Errorf("%d rounds after a stop in the first", n)
			}
		})
	}
}

// blockFirst has the first command of the model block.
func (h *fixture) blockFirst() {
	work, first := h.model.answer, true
	h.model.answer = func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		if first {
			first = false
			return shell("block"), nil
		}
		return work(ctx, r)
	}
}

func TestGoalResumed(t *testing.T) {
	t.Parallel()
	h := setup(t, judged(func(int) (*llm.Response, error) { return verdict(true, ""), nil }), nil)
	h.blockFirst()
	c := h.begin(t, "")
	if err := c.Goal().Resume(t.Context()); err == nil {
		t.Error("resumed a goal that is not there")
	}
	must.Succeed(t, c.Goal().Start(t.Context(), "make it work", 3))
	<-h.tools.started
	if err := c.Goal().Start(t.Context(), "another", 3); err == nil {
		t.Error("two goals at once")
	}
	must.Succeed(t, c.Goal().Stop(t.Context()))
	must.Succeed(t, c.Goal().Resume(t.Context()))
	settle(t, c)
	want := []string{"running 0/3", "interrupted 0/3", "running 0/3", "complete 1/3"}
	if diff := cmp.Diff(want, h.goals(t, c.ID())); diff != "" {
		t.Errorf("goal (-want +got):\n%s", diff)
	}
}

// TestGoalAfterCrash finds a goal that no process works on; it can be resumed.
func TestGoalAfterCrash(t *testing.T) {
	t.Parallel()
	h := setup(t, judged(func(int) (*llm.Response, error) { return verdict(true, ""), nil }), nil)
	h.blockFirst()
	c := h.begin(t, "")
	must.Succeed(t, c.Goal().Start(t.Context(), "make it work", 3))
	<-h.tools.started
	h.restart(t)
	c = h.get(t, c.ID())
	must.Succeed(t, c.Goal().Resume(t.Context()))
	settle(t, c)
	want := []string{"running 0/3", "interrupted 0/3", "running 0/3", "complete 1/3"}
	if diff := cmp.Diff(want, h.goals(t, c.ID())); diff != "" {
		t.Errorf("goal (-want +got):\n%s", diff)
	}
}
