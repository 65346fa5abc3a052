package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// workflow runs a script that coordinates sub-agents. Each part has a conversation whose id is made
// from the action and the part: a script that begins anew, after it was stopped or the process was
// killed, finds the sub-agents that have finished.
func (t *tasks) workflow(ctx context.Context, id event.ID, a *event.WorkflowAction) (event.Observation, error) {
	if t.w.c.replaying.active() {
		return failedWorkflow(a, fault.Text(errNoSubAgent)), nil
	}
	scripts, ok := t.w.res.(Scripter)
	if !ok {
		return failedWorkflow(a, "the resources of this conversation run no scripts"), nil
	}
	work, end := t.begin(ctx, id)
	defer end()
	flow := &workflow{tasks: t, action: id, seen: map[string]int{}}
	text, err := scripts.RunScript(work, a.Script, a.MaxConcurrency, func(part context.Context, prompt, agent, description string) (string, error) {
		child, text, err := flow.part(part, prompt, agent, description)
		if part.Err() != nil && ctx.Err() == nil { // else the sub-agent goes on with the next process
			flow.stop(part, child)
		}
		return text, err
	})
	switch {
	case ctx.Err() != nil: // this process ends, and the sub-agents with it
		return nil, ctx.Err()
	case errors.Is(context.Cause(work), errTaskStopped):
		return nil, errors.Join(errTaskStopped, flow.stopped())
	case err != nil:
		return failedWorkflow(a, fault.Text(err)), nil
	}
	o := &event.WorkflowObservation{Name: a.Name, Status: taskCompleted}
	o.Content = event.Texts(limitedResult(text))
	return o, nil
}

// maxResult bounds the result of a script, in characters.
const maxResult = 50_000

func limitedResult(text string) string {
	if r := []rune(text); len(r) > maxResult {
		return string(r[:maxResult]) + fmt.Sprintf("\n… [%d more characters of the result are left out]", len(r)-maxResult)
	}
	return text
}

func failedWorkflow(a *event.WorkflowAction, why string) *event.WorkflowObservation {
	o := &event.WorkflowObservation{Name: a.Name, Status: taskError}
	o.Content, o.IsError = event.Texts(limitedResult(why)), true
	return o
}

// workflow is a script that runs.
type workflow struct {
	tasks  *tasks
	action event.ID

	mu   sync.Mutex
	seen map[string]int // equal parts so far
	errs []error        // of sub-agents that could not be stopped
}

// part has a sub-agent do a part of the script.
func (f *workflow) part(ctx context.Context, prompt, agent, description string) (*Conversation, string, error) {
	a := &event.TaskAction{Prompt: prompt, SubagentType: agent}
	if description != "" {
		a.Description = &description
	}
	child, err := f.tasks.carryOut(ctx, f.partID(prompt, agent), f.action, a)
	if err != nil {
		return child, "", err
	}
	got, err := assignee{child}.result(ctx)
	if err != nil {
		return child, "", err
	}
	text := event.JoinText(got.Result().Content)
	if got.Result().IsError {
		return child, "", errors.New(text)
	}
	return child, text, nil
}

func (f *workflow) stop(ctx context.Context, child *Conversation) {
	if err := (assignee{child}).stop(ctx); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, err)
	}
}

// partID is the id of the conversation of a part, in the form of a UUID.
func (f *workflow) partID(prompt, agent string) event.ID {
	key := agent + "\x00" + prompt
	f.mu.Lock()
	n := f.seen[key]
	f.seen[key]++
	f.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", f.action, n, key))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // RFC 9562, version 8
	return event.ID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

func (f *workflow) stopped() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}
