package invokeskill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/invokeskill"
)

func TestInvoke(t *testing.T) {
	t.Parallel()
	// The reference's own words.
	const footer = "\n\n---\nThis skill is located at `%s`. Any files it references (e.g. under `scripts/`, `references/`, `assets/`) are relative to that directory."
	dir := t.TempDir()
	inside, outside, gone := filepath.Join(dir, "ws/.agents/skills/pdf/SKILL.md"), filepath.Join(dir, "skills/x/SKILL.md"), filepath.Join(dir, "gone/SKILL.md")
	for _, file := range []string{inside, outside} {
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Succeed(t, os.WriteFile(file, nil, 0o600))
	}
	skills := []skill.Skill{
		{Name: "pdf", Content: "How !`date`.", Source: &inside},
		{Name: "x", Content: "X", Source: &outside},
		{Name: "plain", Content: "P"},
		{Name: "gone", Content: "G", Source: &gone},
		{Name: "rule", Content: "R", DisableModelInvocation: true},
	}
	var invoked []string
	o := invokeskill.Options{
		Skills: func() []skill.Skill { return skills }, Workspace: dir + "/ws",
		Invoked: func(name string) { invoked = append(invoked, name) },
	}
	call := func(o invokeskill.Options, name string) *event.InvokeSkillObservation {
		obs, err := invokeskill.New(o).Execute(t.Context(), tool.Call{Action: &event.InvokeSkillAction{Name: name}})
		must.Succeed(t, err)
		return obs.(*event.InvokeSkillObservation)
	}
	for name, want := range map[string]string{
		" pdf ": "How !`date`." + fmt.Sprintf(footer, ".agents/skills/pdf"),
		"x":     "X" + fmt.Sprintf(footer, dir+"/skills/x"),
		"plain": "P",
		"gone":  "G",
	} {
		if got := call(o, name); got.IsError || event.JoinText(got.Content) != want || got.SkillName != strings.TrimSpace(name) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(invoked) != 4 {
		t.Errorf("invoked: %v", invoked)
	}
	if got := call(o, "none"); !got.IsError || event.JoinText(got.Content) != "Unknown skill 'none'. Available skills: gone, pdf, plain, x." {
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
	must.Succeed(t, err)
	p, err := set.Parse("invoke_skill", `{"name":"a"}`)
	must.Succeed(t, err)
	if diff := cmp.Diff([]string{"skill:a"}, p.Definition.Locks(p.Action)); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
}
