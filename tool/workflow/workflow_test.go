package workflow_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers with the agent and the prompt; a prompt with "fail" fails.
func echo(_ context.Context, p workflow.Part) (string, error) {
	if strings.Contains(p.Prompt, "fail") {
		return "", errors.New("it failed")
	}
	return p.Agent + ": " + p.Prompt, nil
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ script, want, err string }{
		"one":          {"def main(wf):\n  return wf.run_agent('look')", "general-purpose: look", ""},
		"of a type":    {"def main(wf):\n  return wf.run_agent('look', subagent_type='bash', description='d')", "bash: look", ""},
		"of Python":    {"async def main(wf):\n  x = await wf.run_agent('await # async')\n  return x # await", "general-purpose: await # async", ""},
		"map":          {"def main(wf):\n  return wf.map_agents(['a', 1, {'k': [None]}], prompt='see {item}', max_concurrency=2)", `["general-purpose: see a", "general-purpose: see 1", "general-purpose: see {\"k\":[null]}"]`, ""},
		"map function": {"def main(wf):\n  return wf.map_agents(range(2), prompt=lambda i: 'see %d' % i)[1]", "general-purpose: see 1", ""},
		"map failures": {"def main(wf):\n  wf.map_agents(['a', 'fail', 'c', 'fail'], '{item}')", "", "map_agents: one or more sub-agents failed:\n  [item 2] it failed\n  [item 4] it failed"},
		"pipeline":     {"def main(wf):\n  seen = []\n  def note(x):\n    seen.append(x)\n    return wf.run_agent(x)\n  return wf.pipeline(['a', 'fail', 'c'], note, lambda r: r.upper()), sorted(seen)", `(["GENERAL-PURPOSE: A", None, "GENERAL-PURPOSE: C"], ["a", "c", "fail"])`, ""},
		"reduce":       {"def main(wf):\n  return wf.reduce_agent({'a': [1]}, 'sum')", "general-purpose: sum\n\nInput:\n{\"a\":[1]}", ""},
		"flatten":      {"def main(wf):\n  return wf.flatten([[1, 2], 3, [[4]]])", "[1, 2, 3, [4]]", ""},
		"nothing":      {"def main(wf):\n  pass", "None", ""},
		"failing":      {"def main(wf):\n  wf.run_agent('fail')", "", "it failed"},
		"no main":      {"x = 1", "", "must define one function main(wf)"},
		"main of two":  {"def main(wf, more):\n  pass", "", "must define one function main(wf)"},
		"other name":   {"def main(x):\n  pass", "", "must define one function main(wf)"},
		"syntax":       {"def main(wf):\n  while True:\n    pass", "", "The language is Starlark"},
		"import":       {"import os\ndef main(wf):\n  pass", "", "The language is Starlark"},
		"private":      {"def main(wf):\n  return wf.close()", "", "has no .close"},
		"no open":      {"def main(wf):\n  return open('/etc/passwd')", "", "undefined: open"},
		"no load":      {"load('x', 'y')\ndef main(wf):\n  pass", "", "load not implemented"},
		"recursion":    {"def f(x):\n  return f(x)\ndef main(wf):\n  return f(1)", "", "called recursively"},
		"endless":      {"def main(wf):\n  for i in range(1000000000):\n    pass", "", "too many steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := workflow.Run(t.Context(), tt.script, 8, echo)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestReduceIsBounded leaves out whole elements, and cuts a single long one.
func TestReduceIsBounded(t *testing.T) {
	t.Parallel()
	got, err := workflow.Run(t.Context(), "def main(wf):\n  return wf.reduce_agent(['x' * 5000] * 9, 'sum')", 1, echo)
	if err != nil || len(got) > 13_000 || !strings.HasSuffix(got, "[7 of 9 elements are left out]") {
		t.Errorf("%d: …%s, %v", len(got), got[max(0, len(got)-80):], err)
	}
	got, err = workflow.Run(t.Context(), "def main(wf):\n  return wf.reduce_agent('x' * 50000, 'sum')", 1, echo)
	if err != nil || len(got) > 13_000 || !strings.HasSuffix(got, "[the rest is left out]") {
		t.Errorf("%d: …%s, %v", len(got), got[max(0, len(got)-80):], err)
	}
}

// TestAtOnce holds the bound on sub-agents that work at a time, and runs them side by side.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	busy, most := 0, 0
	both := make(chan struct{})
	got, err := workflow.Run(t.Context(), "def main(wf):\n  return len(wf.map_agents(range(6), '{item}', max_concurrency=50))", 2, func(context.Context, workflow.Part) (string, error) {
		mu.Lock()
		if busy++; busy == 2 && most < 2 {
			close(both)
		}
		most = max(most, busy)
		mu.Unlock()
		<-both
		mu.Lock()
		busy--
		mu.Unlock()
		return "", nil
	})
	if err != nil || got != "6" || most != 2 {
		t.Errorf("%s, %v; %d at once", got, err, most)
	}
}

// TestStopped ends a script whose sub-agents work.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err := workflow.Run(ctx, "def main(wf):\n  return wf.map_agents(range(3), '{item}')", 8, func(ctx context.Context, _ workflow.Part) (string, error) {
		cancel(stopped)
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err == nil {
		t.Error("it went on")
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(workflow.Definition("- a"))
	must.Succeed(t, err)
	p, err := set.Parse("workflow", `{"name":"n","script":"s"}`)
	must.Succeed(t, err)
	if a := p.Action.(*event.WorkflowAction); a.MaxConcurrency != 8 || a.Script != "s" {
		t.Errorf("%+v", a)
	}
	for _, bad := range []string{`{"name":"n"}`, `{"name":"n","script":"s","max_concurrency":65}`, `{"name":"n","script":"s","max_concurrency":0}`, `{"name":"n","script":"` + strings.Repeat("x", 20_001) + `"}`} {
		if _, err := set.Parse("workflow", bad); err == nil {
			t.Errorf("%.60s is taken", bad)
		}
	}
}
