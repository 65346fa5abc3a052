package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/agentserver/settings/wireagent"
	"github.com/deft-dev/deft/internal/agentserver/settings/wirellm"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/think"
)

// outfitter makes what conversations of the agent server work with.
type outfitter struct {
	dir string   // of conversations
	env []string // of commands
}

// outfit makes the tools of an agent and the places where they run.
func (f *outfitter) outfit(_ context.Context, n conversation.Needs) (*conversation.Outfit, error) {
	defs, err := toolDefinitions(n)
	if err != nil {
		return nil, err
	}
	set, err := tool.NewSet(defs...)
	if err != nil {
		return nil, err
	}
	execs, err := sandboxTools(n.Workspace, filepath.Join(f.dir, n.ID.Hex(), "observations"), f.env)
	if err != nil {
		return nil, fmt.Errorf("set up tools: %w", err)
	}
	maps.Copy(execs, localTools(n.Tasks))
	rt := local.New(executor.New(execs, executor.Volatile()))
	return &conversation.Outfit{
		Tools: set, Runtime: rt, Local: rt,
		Close: func(context.Context) error { return rt.Close() },
	}, nil
}

// toolDefinitions are the tools that an agent names, and the built-in ones.
func toolDefinitions(n conversation.Needs) ([]*tool.Definition, error) {
	edit := editor.Definition()
	if n.Info.Vision {
		edit = editor.VisionDefinition()
	}
	known := map[string]*tool.Definition{
		"terminal": terminal.Definition(), "file_editor": edit, "task_tracker": tasktracker.Definition(),
		"glob": glob.Definition(), "grep": grep.Definition(),
	}
	builtin := map[string]*tool.Definition{"FinishTool": finish.Definition(), "ThinkTool": think.Definition()}
	var defs []*tool.Definition
	for _, t := range n.Agent.Tools {
		d := known[t.Name]
		if d == nil {
			return nil, fault.New(fault.Invalid, "this server has no tool "+t.Name)
		}
		defs = append(defs, d)
	}
	for _, name := range n.Agent.IncludeDefaultTools {
		if d := builtin[name]; d != nil {
			defs = append(defs, d)
		}
	}
	return defs, nil
}

// modules are the reference's Python modules of its tools, by the names of
// their specs (sdk-wire-1.58.md section B.3).
var modules = map[string]string{
	"terminal": "terminal", "file_editor": "file_editor", "task_tracker": "task_tracker",
	"glob": "glob", "grep": "grep", "planning_file_editor": "planning_file_editor", "apply_patch": "apply_patch",
}

func toolModules(a *wireagent.Agent) map[string]string {
	out := map[string]string{}
	for _, t := range a.Tools {
		if name := modules[t.Name]; name != "" {
			out[t.Name] = "openhands.tools." + name + ".definition"
		}
	}
	return out
}

// wireModel is the model of an LLM of the wire: its calls have the LLM's
// settings.
type wireModel struct {
	llm.Model
	l *wirellm.LLM
}

// Generate implements [llm.Model].
func (m wireModel) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.l.Request(r), onDelta)
}

// openWireModel opens the model of an LLM of the wire, behind the layer that
// retries.
func openWireModel(l *wirellm.LLM) (llm.Model, error) {
	m, err := route.New(l.Config(nil))
	if err != nil {
		return nil, err
	}
	return wireModel{broker.New(m, l.Broker(broker.Options{})), l}, nil
}

