package controller_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/tool"
)

// commandsOf has the commands that a runtime is given, in order.
func commandsOf(b *bundle) *[]string {
	commands := &[]string{}
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		b.rt.mu.Lock()
		defer b.rt.mu.Unlock()
		if a, ok := r.Action.(*event.TerminalAction); ok {
			*commands = append(*commands, a.Command)
		}
		return echo(ctx, r)
	}
	return commands
}

// TestOneAfterTheOther runs the actions of an answer in order where none may run beside another:
// a test comes after the edit before it.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var answer [][2]string
	var want []string
	for i := range 20 {
		answer = append(answer, [2]string{"terminal", fmt.Sprintf(`{"command":"%d"}`, i)})
		want = append(want, fmt.Sprint(i))
	}
	b := setup(t, func(c *controller.Config) { c.Parallel = 1 }, script(calls(answer...), done()))
	got := commandsOf(b)
	b.send(t, "go")
	b.mustRun(t)
	if fmt.Sprint(*got) != fmt.Sprint(want) {
		t.Errorf("ran %v", *got)
	}
}

// TestReplayOfEqualAnswerIDs keeps the answers apart of a server that gives all the same id.
func TestReplayOfEqualAnswerIDs(t *testing.T) {
	t.Parallel()
	var answers []*llm.Response
	for i := range 20 {
		answers = append(answers, calls([2]string{"terminal", fmt.Sprintf(`{"command":"%d"}`, i)}))
	}
	answers = append(answers, done())
	for _, r := range answers {
		r.ID = "chatcmpl-1"
	}
	b := setup(t, nil, script(answers...))
	b.send(t, "go")
	b.mustRun(t)
	var trajectory []event.Event
	for rec, err := range b.stream.Read(t.Context(), b.cfg.ID, 1) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		trajectory = append(trajectory, ev)
	}
	want := b.kinds()
	r := setup(t, nil, nil)
	p, err := controller.NewReplay(trajectory, newAgent(t))
	must.Succeed(t, err)
	r.cfg.Agent = p
	r.reopen(t)
	must.Succeed(t, p.Run(t.Context(), r.Controller))
	if got := r.kinds(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("replayed %v, recorded %v", got, want)
	}
}
