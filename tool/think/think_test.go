package think_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/think"
)

func TestExecuteLogsTheThought(t *testing.T) {
	t.Parallel()
	x := think.New()
	obs, err := x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{Thought: "why?"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := event.JoinText(obs.Result().Content); got != "Your thought has been logged." || obs.Result().IsError {
		t.Errorf("observation = %q, error %v", got, obs.Result().IsError)
	}
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.FinishAction{}}); err == nil {
		t.Error("an action of another tool was accepted")
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
