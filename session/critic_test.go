package session_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/sessiontest"
	"github.com/deft-dev/deft/spec"
)

// scores are critics over a network with one score after the other; a negative one is a failure.
type scores struct {
	mu    sync.Mutex
	next  []float64
	asked []critic.Case
	keys  []string
}

func (s *scores) Judge(_ context.Context, of *spec.Critic, about critic.Case) (critic.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	score := s.next[min(len(s.asked), len(s.next)-1)]
	s.asked, s.keys = append(s.asked, about), append(s.keys, of.APIKey.Reveal())
	if score < 0 {
		return critic.Result{}, fault.New(fault.Unavailable, "the critic at host is away, with "+of.APIKey.Reveal())
	}
	return critic.Score(score, "scripted"), nil
}

// judgedBy makes a conversation whose critic has these scores.
func (h *fixture) judgedBy(t *testing.T, s *scores, criticJSON string) *session.Conversation {
	t.Helper()
	h.extend = func(res session.Resources) session.Resources {
		res.(*sessiontest.Resources).Critics = s
		return res
	}
	return h.begin(t, `"agent":{"kind":"Agent","llm":{"model":"openai/mock","usage_id":"agent"},"tools":[{"name":"terminal","params":{}}],"critic":`+criticJSON+`}`)
}

const (
	apiCritic = `{"kind":"APIBasedCritic","api_key":"the-critic-key","iterative_refinement":{"max_iterations":2}}`
	everyStep = `{"kind":"APIBasedCritic","api_key":"the-critic-key","mode":"all_actions"}`
)

// TestIterativeRefinement sends the agent back to work until the critic is content, or the iterations
// of a task are used up; the next task has its own.
func TestIterativeRefinement(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(finished("1"), finished("2"), finished("3"), finished("4"), finished("5")), nil)
	s := &scores{next: []float64{0.1, 0.2, 0.3, 0.5, 0.9}}
	c := h.judgedBy(t, s, apiCritic)
	send(t, c, "begin")
	settle(t, c)
	if got := h.model.calls(); got != 3 || status(t, c) != "finished" {
		t.Fatalf("%d calls, %s", got, status(t, c))
	}
	h.restart(t)
	c = h.get(t, c.ID())
	send(t, c, "more")
	settle(t, c)
	info, err := h.stream.Info(t.Context(), c.ID())
	must.Succeed(t, err)
	stored := h.stored(t, c.ID()) + string(info.Meta.Extra) + string(info.Meta.Summary)
	if got := h.model.calls(); got != 5 || strings.Count(stored, `"critic_result":{"score":0.`) != 5 || strings.Count(stored, "likelihood of success") != 3 {
		t.Errorf("%d calls: %s", got, stored)
	}
	if strings.Contains(stored, "the-critic-key") || s.keys[4] != "the-critic-key" {
		t.Errorf("the key is stored in the clear, or lost: %q", s.keys)
	}
	if shown := describe(t, c); strings.Contains(shown, "the-critic-key") || !strings.Contains(shown, `"iterative_refinement_iteration":1`) {
		t.Errorf("shown as %s", shown)
	}
	last := s.asked[4]
	if _, is := last.View[0].(*event.SystemPromptEvent); !is || len(last.Tools) == 0 || last.View[len(last.View)-1].(*event.ActionEvent).ToolName != "finish" {
		t.Errorf("the critic got %d events and %d tools", len(last.View), len(last.Tools))
	}
}

// TestJudgedEvents are the end and messages, or every action; a message ends the run whatever its
// score.
func TestJudgedEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		critic string
		want   int
	}{{apiCritic, 1}, {everyStep, 3}} {
		h := setup(t, inTurn(shell("a"), shell("b"), says("a question")), nil)
		s := &scores{next: []float64{0.1}}
		conv := h.judgedBy(t, s, c.critic)
		send(t, conv, "begin")
		settle(t, conv)
		if len(s.asked) != c.want || status(t, conv) != "finished" || h.model.calls() != 3 {
			t.Errorf("%s: judged %d times, %d calls, %s", c.critic, len(s.asked), h.model.calls(), status(t, conv))
		}
	}
}

// TestCriticFails tells the user once, without the key, and the task ends as it would have.
func TestCriticFails(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("a"), shell("b"), finished("done")), nil)
	conv := h.judgedBy(t, &scores{next: []float64{-1}}, everyStep)
	send(t, conv, "begin")
	settle(t, conv)
	stored := h.stored(t, conv.ID())
	if status(t, conv) != "finished" || strings.Count(stored, `"code":"CriticFailed"`) != 1 || !strings.Contains(stored, "the critic at host is away") {
		t.Errorf("%s: %s", status(t, conv), stored)
	}
	if strings.Contains(stored, "the-critic-key") || strings.Contains(stored, "critic_result") {
		t.Errorf("the key is stored, or a score made up: %s", stored)
	}
}

// TestEmptyPatch scores the changes of the workspace's repository.
func TestEmptyPatch(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	must.Succeed(t, exec.Command("git", "init", "-q", h.work).Run())
	n := 0
	h.model.answer = func(context.Context, llm.Request) (*llm.Response, error) {
		if n++; n == 2 {
			must.Succeed(t, os.WriteFile(filepath.Join(h.work, "file"), []byte("x"), 0o600))
		}
		return finished("done"), nil
	}
	conv := h.judgedBy(t, nil, `{"kind":"AgentFinishedCritic","iterative_refinement":{}}`)
	send(t, conv, "begin")
	settle(t, conv)
	stored := h.stored(t, conv.ID())
	if n != 2 || !strings.Contains(stored, `"critic_result":{"score":0,"message":"The workspace has no changes."`) || !strings.Contains(stored, `"critic_result":{"score":1,`) {
		t.Errorf("%d calls: %s", n, stored)
	}
}
