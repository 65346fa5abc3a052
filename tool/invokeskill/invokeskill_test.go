package invokeskill_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/invokeskill"
)

func TestInvoke(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, ".agents/skills/pdf/SKILL.md"), "/opt/skills/x/SKILL.md"
	skills := []skill.Skill{
		{Name: "pdf", Content: "How !`date`.", Source: &inside},
		{Name: "x", Content: "X", Source: &outside},
		{Name: "plain", Content: "P"},
		{Name: "rule", Content: "R", DisableModelInvocation: true},
	}
	var invoked []string
	o := invokeskill.Options{
		Skills: func() []skill.Skill { return skills }, Workspace: dir,
		Invoked: func(name string) { invoked = append(invoked, name) },
	}
	call := func(o invokeskill.Options, name string) *event.InvokeSkillObservation {
		obs, err := invokeskill.New(o).Execute(t.Context(), tool.Call{Action: &event.InvokeSkillAction{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return obs.(*event.InvokeSkillObservation)
	}
	for name, want := range map[string]string{
		" pdf ": "How !`date`.\n\n---\nThis skill is in the directory `.agents/skills/pdf`",
		"x":     "in the directory `/opt/skills/x`",
		"plain": "P",
	} {
		if got := call(o, name); got.IsError || !strings.Contains(event.JoinText(got.Content), want) || got.SkillName != strings.TrimSpace(name) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(invoked) != 3 {
		t.Errorf("invoked: %v", invoked)
	}
	if got := call(o, "none"); !got.IsError || event.JoinText(got.Content) != "Unknown skill 'none'. Available skills: pdf, plain, x." {
		t.Errorf("none: %+v", got)
	}
	if got := call(o, "rule"); !got.IsError || strings.Contains(event.JoinText(got.Content), "R\n") {
		t.Errorf("rule: %+v", got)
	}
	o.Run = func(_ context.Context, s skill.Skill, command string) string { return s.Name + " ran " + command }
	if got := event.JoinText(call(o, "pdf").Content); !strings.HasPrefix(got, "How pdf ran date.") {
		t.Errorf("with a runner: %q", got)
	}
	if _, err := invokeskill.New(o).Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("an action of another tool is run")
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	set, err := tool.NewSet(invokeskill.Definition())
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Parse("invoke_skill", `{"name":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"skill:a"}, p.Definition.Locks(p.Action)); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}
