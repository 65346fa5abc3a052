package runcommand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	_ "github.com/deft-dev/deft/tool/builtin" // the tools under test
)

func served(model, key string) *spec.LLM {
	l := spec.NewLLM(model)
	l.APIKey = llm.Secret(key)
	l.UsageID, l.Stream = "agent", true
	return l
}

// summary has the parts of an agent that matter here.
type summary struct {
	Model, Condenser string
	Tools, Servers   []string
	Skills           bool
}

func summarize(a *spec.Agent) summary {
	s := summary{Model: a.LLM.Model, Servers: a.MCPServers.Keys()}
	if a.Condenser != nil && a.Condenser.LLM != nil {
		s.Condenser = a.Condenser.LLM.Model + " " + a.Condenser.LLM.UsageID
	}
	for _, tool := range a.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	s.Skills = a.Context != nil && a.Context.LoadProjectSkills && a.Context.LoadUserSkills
	return s
}

func TestAgent(t *testing.T) {
	t.Parallel()
	servers := func(name string) *schema.Map {
		return schema.Of(name, schema.Of("command", "x"))
	}
	a, err := NewAgent(Models{Agent: served("openai/a", "k")}, nil, servers("one"), "")
	must.Succeed(t, err)
	all := []string{"terminal", "file_editor", "task_tracker", "glob", "grep", "task_tool_set"}
	want := summary{"openai/a", "openai/a condenser", all, []string{"one"}, true}
	if diff := cmp.Diff(want, summarize(a)); diff != "" {
		t.Fatalf("new (-want +got):\n%s", diff)
	}
	none, err := NewAgent(Models{}, nil, nil, "")
	if err != nil || none.LLM.Model != session.NoModel {
		t.Errorf("without a model: %v, %v", none, err)
	}
	for name, tt := range map[string]struct {
		models    Models
		summaries bool
		servers   *schema.Map
		want      summary
	}{
		"nothing":         {want: want},
		"model":           {Models{Agent: served("openai/b", "k")}, true, nil, summary{"openai/b", "openai/b condenser", all, []string{"one"}, true}},
		"own condenser":   {Models{served("openai/b", "k"), served("openai/c", "k").Clone("condenser")}, true, nil, summary{"openai/b", "openai/c condenser", all, []string{"one"}, true}},
		"another server":  {servers: servers("two"), want: summary{"openai/a", "openai/a condenser", all, []string{"one", "two"}, true}},
		"the same server": {servers: servers("one"), want: want},
	} {
		got, err := UpdateAgent(a, tt.models, tt.summaries, tt.servers, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, summarize(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for preset, tools := range map[string][]string{
		"gpt5":    {"terminal", "apply_patch", "task_tracker"},
		"gemini":  {"terminal", "read_file", "write_file", "edit", "list_directory", "task_tracker"},
		"default": all, "planning": {"glob", "grep", "planning_file_editor"},
	} {
		got, err := UpdateAgent(a, Models{}, false, nil, preset)
		made, err2 := NewAgent(Models{}, nil, nil, preset)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, x := range []*spec.Agent{got, made} {
			if diff := cmp.Diff(tools, summarize(x).Tools); diff != "" {
				t.Errorf("%s (-want +got):\n%s", preset, diff)
			}
		}
	}
	if _, err := NewAgent(Models{}, nil, nil, "other"); err == nil {
		t.Error("an unknown preset was accepted")
	}
	if diff := cmp.Diff(want, summarize(a)); diff != "" {
		t.Errorf("the agent was changed in place (-want +got):\n%s", diff)
	}
}
