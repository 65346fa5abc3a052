package builtin_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	_ "github.com/deft-dev/deft/tool/builtin" // beside which the trial is registered
	"github.com/deft-dev/deft/tool/glob"
)

// trial is a tool that nothing in Deft knows of.
var trial = tool.Registration{
	Name: "trial", Description: "Try something.", Sets: tool.Standard | tool.Terminal,
	Definition: func(m tool.Model) *tool.Definition {
		if m.Name == "openai/without" {
			return nil
		}
		d := glob.Definition()
		d.Name, d.ActionKind = "trial", "TrialAction"
		return d
	},
	New: func(p tool.Place) (tool.Executor, error) { return glob.New(glob.Config{Workspace: p.Workspace}), nil },
}

func init() { tool.Register(trial) }

// TestRegistration holds that one registration brings a tool to everything that lists tools.
// The script tool_registered of cmd/deft runs one in a sandbox.
func TestRegistration(t *testing.T) {
	t.Parallel()
	a, err := runcommand.NewAgent(runcommand.Models{}, nil, nil, "")
	must.Succeed(t, err)
	if !slices.ContainsFunc(a.Tools, func(own spec.Tool) bool { return own.Name == "trial" }) {
		t.Errorf("deft run has not got it: %v", a.Tools)
	}
	var standardSet []string
	for _, one := range spec.LaunchTools(nil, spec.Preset{}) {
		m, _ := one.(*schema.Map)
		standardSet = append(standardSet, m.Text("name"))
	}
	if !slices.Equal(standardSet, []string{"terminal", "file_editor", "task_tracker", "trial", "switch_llm"}) {
		t.Errorf("the standard set: %v", standardSet)
	}
	if !slices.Contains(mcp.UsableNames(mcp.Catalogue()), "trial") {
		t.Error("the catalogue has not got it")
	}
	raw, err := json.Marshal(mcp.Catalogue())
	if err != nil || !slices.ContainsFunc(mcp.Catalogue(), func(one mcp.Tool) bool {
		return one == mcp.Tool{Name: "trial", Selectable: true, Usable: true, Default: true, Description: "Try something."}
	}) {
		t.Errorf("the catalogue: %s %v", raw, err)
	}
	all, err := standard.New(standard.Config{Workspace: t.TempDir(), Scratch: t.TempDir()})
	must.Succeed(t, err)
	defer func() {
		for _, x := range all {
			must.Report(t, x.Close())
		}
	}()
	if all["TrialAction"] == nil {
		t.Error("nothing executes it in a sandbox")
	}
}
