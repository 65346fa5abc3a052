package critic_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// clients are API critics with one answer.
type clients struct {
	result critic.Result
	err    error
}

func (c clients) Judge(context.Context, *spec.Critic, critic.Case) (critic.Result, error) {
	return c.result, c.err
}

// described decodes the critic of an agent.
func described(t *testing.T, raw string) *spec.Critic {
	t.Helper()
	a, err := spec.DecodeAgent([]byte(`{"llm":{"model":"m"},"critic":`+raw+`}`), schema.Reading{})
	must.Succeed(t, err)
	return a.Critic
}

func made(t *testing.T, raw string, c critic.Clients) *critic.Critic {
	t.Helper()
	out, err := critic.New(described(t, raw), c)
	must.Succeed(t, err)
	return out
}

var (
	finish  = &event.ActionEvent{Action: &event.FinishAction{Message: "done"}}
	command = &event.ActionEvent{Action: &event.TerminalAction{Command: "ls"}}
	said    = &event.MessageEvent{Base: event.Base{Source: event.SourceAgent}}
	asked   = &event.MessageEvent{Base: event.Base{Source: event.SourceUser}}
)

// about is a case whose workspace has changes, or not.
func about(changed bool, view ...event.Event) critic.Case {
	return critic.Case{View: view, Changed: func(context.Context) (bool, error) { return changed, nil }}
}

// TestConformance holds every kind of critic to the same rules.
func TestConformance(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	for _, kind := range spec.CriticKinds {
		key := ""
		if kind == spec.APICritic {
			key = `"api_key":"k",`
		}
		raw := `{` + key + `"kind":"` + kind + `","iterative_refinement":{"success_threshold":0.5,"max_iterations":2}}`
		c := made(t, raw, clients{result: critic.Score(0.25, "x")})
		for _, view := range [][]event.Event{nil, {asked}, {asked, command, said}, {asked, finish}} {
			for _, changed := range []bool{false, true} {
				r, err := c.Judge(t.Context(), about(changed, view...))
				must.Succeed(t, err)
				out, err := json.Marshal(r)
				must.Succeed(t, err)
				again, ok := critic.Read(out)
				if r.Score < 0 || r.Score > 1 || !ok || again.Score != r.Score || r.Summary() == "" {
					t.Errorf("%s: %s", kind, out)
				}
				content := r.Score >= 0.5
				for i, want := range []bool{!content, !content, false} {
					if got := c.FollowUp(r, i+1) != ""; got != want {
						t.Errorf("%s, score %v: goes on %v at iteration %d", kind, r.Score, got, i+1)
					}
				}
			}
		}
		if !c.Judges(finish) || !c.Judges(said) || c.Judges(command) || c.Judges(asked) || c.Judges(&event.PauseEvent{}) {
			t.Errorf("%s judges other events than the end and messages", kind)
		}
		all := made(t, strings.Replace(raw, "{", `{"mode":"all_actions",`, 1), clients{})
		if !all.Judges(command) || all.Judges(asked) {
			t.Errorf("%s does not judge all actions", kind)
		}
		failing := made(t, raw, clients{err: broken})
		_, err := failing.Judge(t.Context(), critic.Case{Changed: func(context.Context) (bool, error) { return false, broken }})
		if fails := kind != spec.PassCritic; errors.Is(err, broken) != fails {
			t.Errorf("%s failed with %v", kind, err)
		}
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  string
		about critic.Case
		want  float64
	}{
		{spec.PassCritic, about(false), 1},
		{spec.EmptyPatchCritic, about(false, asked, finish), 0}, {spec.EmptyPatchCritic, about(true, asked, said), 1},
		{spec.AgentFinishedCritic, about(true, asked, command, finish), 1}, {spec.AgentFinishedCritic, about(false, asked, finish), 0},
		{spec.AgentFinishedCritic, about(true, asked, command), 0}, {spec.AgentFinishedCritic, about(true, asked, finish, command), 0},
		{spec.AgentFinishedCritic, about(true, asked), 0},
	} {
		r, err := made(t, `{"kind":"`+c.kind+`"}`, nil).Judge(t.Context(), c.about)
		if err != nil || r.Score != c.want || r.Message == nil {
			t.Errorf("%s: %+v %v, want %v", c.kind, r, err, c.want)
		}
	}
}

// TestFollowUp has the reasons of a result.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	grave := critic.Score(0.9, "Success: 0.90")
	grave.Metadata = &critic.Metadata{Features: critic.Features{AgentIssues: []critic.Feature{{"loop_behavior", "Loop Behavior", 0.8}}}}
	c := made(t, `{"kind":"APIBasedCritic","api_key":"k","iterative_refinement":{}}`, clients{})
	if got := c.FollowUp(grave, 1); !strings.Contains(got, "try 1 of 3, likelihood of success 90 %") || !strings.Contains(got, "Loop Behavior (80 %)") {
		t.Errorf("a grave fault: %q", got)
	}
	if got := made(t, `{"kind":"APIBasedCritic","api_key":"k","issue_threshold":0.85,"iterative_refinement":{}}`, clients{}).FollowUp(grave, 1); got != "" {
		t.Errorf("a fault below the threshold: %q", got)
	}
	if got := made(t, `{"kind":"EmptyPatchCritic","iterative_refinement":{}}`, nil).FollowUp(critic.Score(0, "The workspace has no changes."), 3); !strings.Contains(got, "The workspace has no changes.") {
		t.Error(got)
	}
	if got := made(t, `{"kind":"EmptyPatchCritic"}`, nil).FollowUp(critic.Score(0, "x"), 1); got != "" {
		t.Errorf("without refinement: %q", got)
	}
}

func TestNoSuchCritic(t *testing.T) {
	t.Parallel()
	if c, err := critic.New(nil, nil); c.Judges(finish) || err != nil {
		t.Error(c, err)
	}
	if _, err := critic.New(&spec.Critic{Kind: "Moon"}, clients{}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	if _, err := critic.New(&spec.Critic{Kind: spec.APICritic}, nil); !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
	for raw, want := range map[string]string{
		`{"kind":"MoonCritic"}`:     "the kind 'MoonCritic' is none of AgentFinishedCritic, APIBasedCritic, EmptyPatchCritic, PassCritic",
		`{"kind":"APIBasedCritic"}`: "Field required",
		`{"kind":"PassCritic","iterative_refinement":{"success_threshold":2}}`: "less than or equal to 1",
		`{"kind":"PassCritic","mode":"never"}`:                                 "Input should be 'finish_and_message' or 'all_actions'",
	} {
		if _, err := spec.DecodeAgent([]byte(`{"llm":{"model":"m"},"critic":`+raw+`}`), schema.Reading{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}
