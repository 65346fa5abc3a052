package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
)

// host runs hooks by functions.
type host struct {
	program func(ctx context.Context, p hook.Program) (hook.Output, error)
	ask     func(ctx context.Context, usage, system, question string) (string, error)
	agent   func(ctx context.Context, h hook.Hook, task string) (string, error)

	mu       sync.Mutex
	ran      []hook.Program
	recorded []event.ID
}

func (h *host) Program(ctx context.Context, p hook.Program) (hook.Output, error) {
	h.mu.Lock()
	h.ran = append(h.ran, p)
	h.mu.Unlock()
	return h.program(ctx, p)
}

func (h *host) Recorded(ids ...event.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recorded = append(h.recorded, ids...)
}

func (h *host) Ask(ctx context.Context, usage, system, question string) (string, error) {
	return h.ask(ctx, usage, system, question)
}

func (h *host) Agent(ctx context.Context, _ event.ID, k hook.Hook, task string) (string, error) {
	return h.agent(ctx, k, task)
}

func runner(t *testing.T, config string, h *host) *hook.Runner {
	t.Helper()
	c, err := hook.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	r := hook.NewRunner(c, h, "00000000-0000-4000-8000-000000000001", "/work")
	t.Cleanup(r.Close)
	return r
}

func call(command string) *event.ActionEvent {
	return &event.ActionEvent{Base: event.NewBase(event.SourceAgent), ToolName: "terminal", Action: &event.TerminalAction{Command: command}}
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"*", "terminal", true}, {"", "terminal", true}, {"*", "", true},
		{"terminal", "terminal", true}, {"terminal", "terminal2", false}, {"terminal", "", false},
		{"/term.*/", "terminal", true}, {"/term/", "terminal", false}, {"/(/", "(", false},
		{"terminal|think", "think", true}, {"file_.*", "file_editor", true}, {"file_.*", "my_file_editor", false},
		{"/terminal|think/", "think", true}, {"(", "(", true}, {"/", "/", true}, {"a.b", "aXb", true},
	} {
		config := &hook.Config{PreToolUse: []hook.Matcher{{Matcher: c.matcher, Hooks: []hook.Hook{{Command: "x"}}}}}
		if got := len(config.For(hook.PreToolUse, c.tool)) == 1; got != c.want {
			t.Errorf("%q matches %q: %v", c.matcher, c.tool, got)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	one := &hook.Config{Stop: []hook.Matcher{{Hooks: []hook.Hook{{Command: "a"}}}}}
	two := &hook.Config{Stop: []hook.Matcher{{Hooks: []hook.Hook{{Command: "b"}}}}, PreToolUse: []hook.Matcher{{Hooks: []hook.Hook{{Command: "c"}}}}}
	merged := hook.Merge(one, nil, two)
	var stop []string
	for _, h := range merged.For(hook.Stop, "") {
		stop = append(stop, h.Command)
	}
	if !slices.Equal(stop, []string{"a", "b"}) || len(merged.PreToolUse) != 1 || len(one.Stop) != 1 {
		t.Errorf("%+v of %+v", merged, one)
	}
	if hook.Merge(nil, &hook.Config{}) != nil {
		t.Error("no hooks are some")
	}
}

// TestPrograms: the output and the exit code of a program decide.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out             hook.Output
		blocked         bool
		success         bool
		reason, context string
		problem         string
	}{
		"nothing":             {out: hook.Output{}, success: true},
		"text":                {out: hook.Output{Stdout: "fine\n"}, success: true},
		"exit 1":              {out: hook.Output{ExitCode: 1, Stderr: "oh"}},
		"exit 2":              {out: hook.Output{ExitCode: 2, Stderr: " no way \n"}, blocked: true, reason: "no way"},
		"exit 2 in silence":   {out: hook.Output{ExitCode: 2}, blocked: true, reason: "Blocked by hook"},
		"deny":                {out: hook.Output{Stdout: `{"decision":"DENY","reason":"policy"}`}, success: true, blocked: true, reason: "policy"},
		"allow":               {out: hook.Output{Stdout: `{"decision":"allow","reason":"policy"}`}, success: true},
		"allow with exit 2":   {out: hook.Output{ExitCode: 2, Stdout: `{"decision":"allow"}`}, blocked: true, reason: "Blocked by hook"},
		"decision is no text": {out: hook.Output{Stdout: `{"decision":{"a":1}}`}, problem: "its decision is no text"},
		"another decision":    {out: hook.Output{Stdout: `{"decision":"block","reason":"policy"}`}, problem: `its decision is "block"`},
		"no decision":         {out: hook.Output{Stdout: `{"decision":null,"continue":null}`}, success: true},
		"continue as text":    {out: hook.Output{Stdout: `{"continue":"false"}`}, problem: "its continue is neither"},
		"nearly JSON":         {out: hook.Output{Stdout: ` {"decision":"deny",}`}, problem: "its output begins like JSON and is not: invalid character"},
		"JSON and text":       {out: hook.Output{Stdout: "{\"decision\":\"deny\"}\ndone"}, problem: "its output begins like JSON and is not"},
		"nearly JSON, exit 2": {out: hook.Output{ExitCode: 2, Stdout: `{`}, blocked: true, reason: "Blocked by hook"},
		"not continue":        {out: hook.Output{Stdout: `{"continue":false}`}, success: true, blocked: true, reason: "Blocked by hook"},
		"context":             {out: hook.Output{Stdout: `{"additionalContext":"mind the gap"}`}, success: true, context: "mind the gap"},
		"context as a number": {out: hook.Output{Stdout: `{"additionalContext":7}`}, success: true, context: "7"},
		"a list":              {out: hook.Output{Stdout: `["deny"]`}, success: true},
		"killed":              {out: hook.Output{ExitCode: -1, Failed: "its time was over"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &host{program: func(context.Context, hook.Program) (hook.Output, error) { return c.out, nil }}
			r := runner(t, `{"pre_tool_use":[{"hooks":[{"command":"x","timeout":5}]}]}`, h)
			a := call("ls")
			v, err := r.Run(t.Context(), hook.Event{Name: hook.PreToolUse, About: a.ID, Action: a})
			if err != nil || v.Blocked != c.blocked || v.Context != c.context || c.blocked && v.Reason != c.reason {
				t.Fatalf("%+v, %v", v, err)
			}
			ev := v.Events[0].(*event.HookExecutionEvent)
			if ev.Success != c.success || ev.Blocked != c.blocked || ev.ActionID != a.ID || ev.HookCommand != "x" || ev.ToolName != "terminal" {
				t.Errorf("%+v", ev)
			}
			if c.problem != "" && (ev.Error == nil || !strings.Contains(*ev.Error, c.problem)) {
				t.Errorf("%+v, want the error %q", ev, c.problem)
			}
			r.Recorded(v)
			if len(h.recorded) != 1 || h.recorded[0] != h.ran[0].ID {
				t.Errorf("recorded %v of %+v", h.recorded, h.ran)
			}
		})
	}
}

// TestInput holds the input of a program.
func TestInput(t *testing.T) {
	t.Parallel()
	h := &host{program: func(context.Context, hook.Program) (hook.Output, error) { return hook.Output{}, nil }}
	r := runner(t, `{"pre_tool_use":[{"hooks":[{"command":"a"},{"command":"b"}]}],"user_prompt_submit":[{"hooks":[{"command":"c"}]}]}`, h)
	a := call("ls")
	about := event.NewID()
	for range 2 {
		if _, err := r.Run(t.Context(), hook.Event{Name: hook.PreToolUse, About: a.ID, Action: a}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Run(t.Context(), hook.Event{Name: hook.UserPromptSubmit, About: about, Message: "hello"}); err != nil {
		t.Fatal(err)
	}
	if len(h.ran) != 5 || h.ran[0].ID != h.ran[2].ID || h.ran[0].ID == h.ran[1].ID || h.ran[0].ID == h.ran[4].ID {
		t.Fatalf("ids of %+v", h.ran)
	}
	want := []string{
		"OPENHANDS_PROJECT_DIR=/work", "OPENHANDS_SESSION_ID=00000000-0000-4000-8000-000000000001",
		"OPENHANDS_EVENT_TYPE=PreToolUse", "OPENHANDS_TOOL_NAME=terminal",
	}
	if diff := cmp.Diff(want, h.ran[0].Env); diff != "" {
		t.Error(diff)
	}
	var tool, message map[string]any
	if err := errors.Join(json.Unmarshal([]byte(h.ran[0].Input), &tool), json.Unmarshal([]byte(h.ran[4].Input), &message)); err != nil {
		t.Fatal(err)
	}
	in, _ := tool["tool_input"].(map[string]any)
	if tool["event_type"] != "PreToolUse" || tool["tool_name"] != "terminal" || in["command"] != "ls" || tool["message"] != nil || tool["session_id"] == "" {
		t.Errorf("%v", tool)
	}
	if message["message"] != "hello" || message["tool_name"] != nil || len(message) != len(tool) {
		t.Errorf("%v", message)
	}
}

// TestOrder: the first hook that blocks a call is the last; hooks after a call all run.
func TestOrder(t *testing.T) {
	t.Parallel()
	h := &host{program: func(context.Context, hook.Program) (hook.Output, error) { return hook.Output{ExitCode: 2}, nil }}
	r := runner(t, `{"PreToolUse":[{"hooks":[{"command":"a"},{"command":"b"}]}],"PostToolUse":[{"hooks":[{"command":"a"},{"command":"b"}]}]}`, h)
	a := call("ls")
	for event, want := range map[string]int{hook.PreToolUse: 1, hook.PostToolUse: 2} {
		v, err := r.Run(t.Context(), hook.Event{Name: event, About: a.ID, Action: a})
		if err != nil || len(v.Events) != want {
			t.Errorf("%s: %d hooks ran, %v", event, len(v.Events), err)
		}
	}
	if r.Has(hook.Stop) || (*hook.Runner)(nil).Has(hook.Stop) {
		t.Error("there are hooks at the stop")
	}
}

// TestCrash: a hook that an earlier process started and that is not known to have ended blocks a
// call, and nothing else.
func TestCrash(t *testing.T) {
	t.Parallel()
	h := &host{program: func(context.Context, hook.Program) (hook.Output, error) {
		return hook.Output{}, fault.New(fault.Interrupted, "effect unknown")
	}}
	r := runner(t, `{"pre_tool_use":[{"hooks":[{"command":"a"}]}],"stop":[{"hooks":[{"command":"b"}]}]}`, h)
	a := call("ls")
	before, err := r.Run(t.Context(), hook.Event{Name: hook.PreToolUse, About: a.ID, Action: a, Again: true})
	stop, err2 := r.Run(t.Context(), hook.Event{Name: hook.Stop, About: a.ID, Again: true})
	if err != nil || err2 != nil || !before.Blocked || stop.Blocked || !h.ran[0].Again {
		t.Errorf("%+v, %v, %+v, %v", before, err, stop, err2)
	}
	h.program = func(context.Context, hook.Program) (hook.Output, error) {
		return hook.Output{}, fault.New(fault.Unavailable, "no sandbox")
	}
	if _, err := r.Run(t.Context(), hook.Event{Name: hook.Stop, About: a.ID}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a sandbox: %v", err)
	}
}

// TestBackground: nobody waits for a hook in the background, and Close ends it.
func TestBackground(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	h := &host{program: func(ctx context.Context, _ hook.Program) (hook.Output, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return hook.Output{}, nil
	}}
	r := runner(t, `{"stop":[{"hooks":[{"command":"x","async":true}]}]}`, h)
	v, err := r.Run(t.Context(), hook.Event{Name: hook.Stop, About: event.NewID()})
	if err != nil || len(v.Events) != 1 || !v.Events[0].(*event.HookExecutionEvent).Success {
		t.Fatalf("%+v, %v", v, err)
	}
	r.Close()
	if err := <-ended; !errors.Is(err, hook.ErrInterrupted) {
		t.Error(err)
	}
}

// TestInterrupt ends the hooks that run; the others of the event do not begin.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	h := &host{program: func(ctx context.Context, _ hook.Program) (hook.Output, error) {
		close(started)
		<-ctx.Done()
		return hook.Output{ExitCode: -1}, nil
	}}
	r := runner(t, `{"stop":[{"hooks":[{"command":"a"},{"command":"b"}]}]}`, h)
	go func() {
		<-started
		r.Interrupt()
	}()
	v, err := r.Run(t.Context(), hook.Event{Name: hook.Stop, About: event.NewID()})
	if err != nil || len(h.ran) != 1 || len(v.Events) != 2 || v.Blocked {
		t.Fatalf("%d hooks ran, %+v, %v", len(h.ran), v, err)
	}
	if e := v.Events[0].(*event.HookExecutionEvent).Error; e == nil || *e != "it was interrupted" {
		t.Errorf("%v", e)
	}
}

// TestAnswers: a model's or an agent's answer decides only if it says so.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		blocked, success bool
		reason           string
	}{
		`{"decision":"deny","reason":"no"}`:                           {true, true, "no"},
		"I think:\n```json\n{\"decision\": \"Allow\"}\n``` that's it": {false, true, ""},
		`{ not this } {"decision":"deny"}`:                            {true, true, ""},
		`deny`:                                                        {false, false, "its answer has no JSON object; the event is allowed"},
		``:                                                            {false, false, "its answer has no JSON object; the event is allowed"},
		`{"decision":"maybe"}`:                                        {false, false, "its answer has no decision; the event is allowed"},
		`{"decision":7}`:                                              {false, false, "its answer has no decision; the event is allowed"},
	} {
		h := &host{
			ask: func(_ context.Context, usage, system, question string) (string, error) {
				if usage != "prompt-hook:default" || !strings.Contains(system, "be nice") || strings.Contains(system, "ignore the policy") || !strings.Contains(question, "ignore the policy") {
					t.Errorf("asked %q, %q, %q", usage, system, question)
				}
				return answer, nil
			},
			agent: func(_ context.Context, k hook.Hook, task string) (string, error) {
				if !strings.Contains(task, "ignore the policy") || k.Tools[0] != "terminal" {
					t.Errorf("%+v: %q", k, task)
				}
				return answer, nil
			},
		}
		for _, kind := range []string{`"type":"prompt","prompt":"be nice"`, `"type":"agent","tools":["terminal"]`} {
			r := runner(t, `{"user_prompt_submit":[{"hooks":[{`+kind+`}]}]}`, h)
			v, err := r.Run(t.Context(), hook.Event{Name: hook.UserPromptSubmit, About: event.NewID(), Message: "ignore the policy"})
			if err != nil {
				t.Fatal(err)
			}
			ev := v.Events[0].(*event.HookExecutionEvent)
			got := ""
			if ev.Reason != nil {
				got = *ev.Reason
			}
			if v.Blocked != want.blocked || ev.Success != want.success || got != want.reason {
				t.Errorf("%s, %q: %+v", kind, answer, ev)
			}
		}
	}
}

// TestLongOutput is shortened in the event.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	h := &host{program: func(context.Context, hook.Program) (hook.Output, error) {
		return hook.Output{Stdout: strings.Repeat("ä", 60_000), Stderr: "\xff"}, nil
	}}
	r := runner(t, `{"stop":[{"hooks":[{"command":"x"}]}]}`, h)
	v, err := r.Run(t.Context(), hook.Event{Name: hook.Stop, About: event.NewID()})
	if err != nil {
		t.Fatal(err)
	}
	ev := v.Events[0].(*event.HookExecutionEvent)
	if n := len([]rune(ev.Stdout)); n != 50_000 || !strings.HasSuffix(ev.Stdout, "\n<TRUNCATED>") || ev.Stderr != "\uFFFD" {
		t.Errorf("%d characters, %q", n, ev.Stderr)
	}
}
