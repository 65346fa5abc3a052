package finish_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
)

func TestExecuteReturnsTheMessage(t *testing.T) {
	t.Parallel()
	x := finish.New()
	obs, err := x.Execute(t.Context(), tool.Call{Action: &event.FinishAction{Message: "all tests pass"}})
	must.Succeed(t, err)
	if got := event.JoinText(obs.Result().Content); got != "all tests pass" {
		t.Errorf("content = %q", got)
	}
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("an action of another tool was accepted")
	}
	must.Report(t, x.Close())
}
