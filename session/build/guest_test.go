package build_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/tool"
)

// tasks notes the tasks that it is given.
type tasks struct {
	runtime.Runtime
	given []string
}

func (t *tasks) Execute(_ context.Context, r tool.Request) (event.Observation, error) {
	t.given = append(t.given, r.Action.(*event.TaskAction).Prompt)
	return &event.TaskObservation{Status: "completed"}, nil
}

// names are the tools that an agent has.
func names(t *testing.T, a session.Agent) (all []string) {
	t.Helper()
	offers, err := a.Tools().Offered()
	must.Succeed(t, err)
	for _, o := range offers {
		all = append(all, o.Name)
	}
	return all
}

// TestGuest holds that a sub-agent works in the runtime of its parent, in a shell of its
// own, without giving tasks, and ends nothing of it.
func TestGuest(t *testing.T) {
	t.Parallel()
	b, err := build.New(build.Options{Dir: t.TempDir()})
	must.Succeed(t, err)
	given := &tasks{}
	request := session.BuildRequest{
		ID: event.NewConversationID(), Workspace: t.TempDir(), Model: llm.Info{Tools: true},
		Agent:       &spec.Agent{Tools: []spec.Tool{{Name: "terminal"}, {Name: "task_tool_set"}}, IncludeDefaultTools: []string{"FinishTool"}, SystemPromptFilename: "system_prompt.j2"},
		TaskRuntime: given, SubAgents: []subagent.Definition{{Name: "helper", Description: "Helps."}},
	}
	parent, err := b.Build(t.Context(), request)
	must.Succeed(t, err)
	defer func() { must.Report(t, parent.Close(context.Background(), false)) }()
	if got := names(t, parent.Agent()); !slices.Equal(got, []string{"terminal", "task", "finish"}) {
		t.Errorf("the parent has the tools %v", got)
	}
	if _, err := parent.Local().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: &event.TaskAction{Prompt: "help"}}}); err != nil || !slices.Equal(given.given, []string{"help"}) {
		t.Errorf("given %v, %v", given.given, err)
	}
	own := request
	own.ID, own.TaskRuntime, own.SubAgents = event.NewConversationID(), nil, nil
	own.Agent = &spec.Agent{Tools: []spec.Tool{{Name: "terminal"}}, IncludeDefaultTools: []string{"FinishTool"}, SystemPromptFilename: "system_prompt.j2"}
	guest, err := parent.(session.Host).Guest(t.Context(), own)
	must.Succeed(t, err)
	if got := names(t, guest.Agent()); !slices.Equal(got, []string{"terminal", "finish"}) || len(guest.Warnings()) > 0 {
		t.Errorf("the sub-agent has the tools %v, and warnings %v", got, guest.Warnings())
	}
	run := func(r session.Resources, command string) string {
		t.Helper()
		obs, err := r.Runtime().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: &event.TerminalAction{Command: command}}})
		must.Succeed(t, err)
		return strings.TrimSpace(event.JoinText(obs.Result().Content))
	}
	run(guest, "mark=guest; echo of the guest > file")
	if got := run(parent, "echo [$mark]; cat file"); got != "[]\nof the guest" {
		t.Errorf("the parent finds %q", got)
	}
	if _, ok := guest.Runtime().(runtime.Preparer); ok {
		t.Error("a guest says what the parent alone can know")
	}
	must.Succeed(t, guest.Close(t.Context(), false))
	if got := run(parent, "echo still"); got != "still" {
		t.Errorf("after the end of the sub-agent: %q", got)
	}
}
