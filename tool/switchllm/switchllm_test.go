package switchllm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/switchllm"
)

func TestSwitch(t *testing.T) {
	t.Parallel()
	x := switchllm.New(func(_ context.Context, profile string) (string, error) {
		switch profile {
		case "fast":
			return "m", nil
		case "none":
			return "", fault.New(fault.NotFound, "no file")
		}
		return "", errors.New("no key")
	})
	for profile, want := range map[string]struct {
		text  string
		isErr bool
	}{
		"fast": {"'fast', with the model 'm'", false},
		"none": {"There is no LLM profile 'none'", true},
		"bad":  {"no key", true},
	} {
		obs, err := x.Execute(t.Context(), tool.Call{Action: &event.SwitchLLMAction{ProfileName: profile, Reason: "r"}})
		must.Succeed(t, err)
		got := obs.(*event.SwitchLLMObservation)
		if got.IsError != want.isErr || !strings.Contains(event.JoinText(got.Content), want.text) || *got.Reason != "r" || (got.ActiveModel == nil) != want.isErr {
			t.Errorf("%s: %+v", profile, got)
		}
	}
	if _, err := x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("an action of another tool is run")
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(switchllm.Definition([]string{"slow", "fast"}))
	must.Succeed(t, err)
	if got := set.All()[0].Description; !strings.HasSuffix(got, "- fast\n- slow") {
		t.Errorf("description:\n%s", got)
	}
	p, err := set.Parse("switch_llm", `{"profile_name":"fast","reason":"r"}`)
	must.Succeed(t, err)
	if diff := cmp.Diff(event.Action(&event.SwitchLLMAction{ProfileName: "fast", Reason: "r"}), p.Action); diff != "" {
		t.Errorf("action (-want +got):\n%s", diff)
	}
	if _, err := set.Parse("switch_llm", `{"profile_name":"fast"}`); err == nil {
		t.Error("a reason is not needed")
	}
}
