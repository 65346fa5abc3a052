package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/spawn"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/client"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/switchllm"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/think"
)

// outfitter makes what conversations of the agent server work with.
type outfitter struct {
	dir      string   // of conversations
	env      []string // of commands
	log      *slog.Logger
	profiles func(context.Context) []string // of LLMs, by name
	boxes    *process.Provider              // nil: tools run where the server stands
	shells   *spawn.Starter                 // of shells that run there; may be nil
}

// kit is an outfit in the making.
type kit struct {
	defs     []*tool.Definition
	execs    map[string]tool.Executor
	closers  []func() error
	warnings []string
	warm     func(context.Context) error // nil for nothing to do
}

// outfit makes the tools of an agent and the places where they run.
func (f *outfitter) outfit(ctx context.Context, n conversation.Needs) (_ *conversation.Outfit, err error) {
	k := &kit{execs: localTools(n.Tasks)}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	if err := k.own(n); err != nil {
		return nil, err
	}
	k.skills(n)
	k.switching(ctx, f, n)
	k.servers(ctx, f, n)
	if err := k.client(n); err != nil {
		return nil, err
	}
	set, err := tool.NewSet(k.defs...)
	if err != nil {
		return nil, err
	}
	inside, beside, err := f.place(ctx, k, n)
	if err != nil {
		return nil, err
	}
	prompt, err := promptOf(n)
	if err != nil {
		return nil, err
	}
	if file := n.Agent.SystemPromptFilename; file != builtinPrompt {
		k.warnings = append(k.warnings, "this server has no system prompt "+file)
	}
	act, err := codeact.New(codeact.Config{Tools: set, Condenser: n.Condenser, ReportRisk: true, Prompt: prompt})
	if err != nil {
		return nil, fmt.Errorf("set up the agent: %w", err)
	}
	return &conversation.Outfit{
		Agent: act, Runtime: inside, Local: beside, Warnings: k.warnings,
		Warm: k.warm, Close: func(context.Context) error { return k.close() },
	}, nil
}

func (k *kit) close() error {
	var first error
	for _, c := range slices.Backward(k.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// own adds the tools that an agent names, and the built-in ones.
func (k *kit) own(n conversation.Needs) error {
	edit := editor.Definition()
	if n.Info.Vision {
		edit = editor.VisionDefinition()
	}
	known := map[string]*tool.Definition{
		"terminal": terminal.Definition(), "file_editor": edit, "task_tracker": tasktracker.Definition(),
		"glob": glob.Definition(), "grep": grep.Definition(),
	}
	builtin := map[string]*tool.Definition{"FinishTool": finish.Definition(), "ThinkTool": think.Definition()}
	for _, t := range n.Agent.Tools {
		d := cmp.Or(known[t.Name], builtin[t.Name])
		if d == nil {
			k.warnings = append(k.warnings, "this server has no tool "+t.Name)
			continue
		}
		d, err := responding(d, t.Params)
		if err != nil {
			return err
		}
		k.defs = append(k.defs, d)
	}
	for _, name := range n.Agent.IncludeDefaultTools {
		d := builtin[name]
		if d != nil && !slices.ContainsFunc(k.defs, func(own *tool.Definition) bool { return own.Name == d.Name }) {
			k.defs = append(k.defs, d)
		}
	}
	return nil
}

// responding gives a tool the form of answer that its parameters ask for.
func responding(d *tool.Definition, params *schema.Map) (*tool.Definition, error) {
	wanted, ok := params.Lookup("response_schema")
	if !ok || wanted == nil {
		return d, nil
	}
	raw, err := schema.Encode(wanted)
	if err != nil {
		return nil, err
	}
	return tool.WithResponse(d, raw)
}

// skills adds the tool by which the agent asks for skills, where it has any.
func (k *kit) skills(n conversation.Needs) {
	if !skill.HasInvocable(n.Skills) {
		return
	}
	d := invokeskill.Definition()
	k.defs = append(k.defs, d)
	k.execs[d.ActionKind] = invokeskill.New(invokeskill.Options{
		Skills: func() []skill.Skill { return n.Skills }, Workspace: n.Workspace, Invoked: n.Invoked,
	})
}

// switching adds the tool by which the agent takes another LLM.
func (k *kit) switching(ctx context.Context, f *outfitter, n conversation.Needs) {
	if !slices.Contains(n.Agent.IncludeDefaultTools, "SwitchLLMTool") || f.profiles == nil {
		return
	}
	d := switchllm.Definition(f.profiles(ctx))
	k.defs = append(k.defs, d)
	k.execs[d.ActionKind] = switchllm.New(n.SwitchLLM)
}

// servers adds the tools of the agent's MCP servers. One that cannot be used
// is a warning.
func (k *kit) servers(ctx context.Context, f *outfitter, n conversation.Needs) {
	if len(n.Agent.MCPServers) == 0 {
		return
	}
	raw, err := schema.Encode(n.Agent.Doc().Object("mcp_config"))
	var servers map[string]mcp.Server
	if err == nil {
		servers, err = mcp.ParseServers(raw)
	}
	if err != nil {
		k.warnings = append(k.warnings, "MCP servers: "+err.Error())
		return
	}
	taken := make([]string, len(k.defs))
	for i, d := range k.defs {
		taken[i] = d.Name
	}
	pattern := ""
	if p := n.Agent.FilterToolsRegex; p != nil {
		pattern = *p
	}
	find := func(name string) (string, bool) { return n.Secret(context.WithoutCancel(ctx), name) }
	set, warnings := mcp.Connect(ctx, servers, mcp.Options{
		Log: f.log, Reserved: taken, Filter: pattern, Dir: n.Workspace, Variables: find, Secrets: find,
	})
	for _, w := range warnings {
		k.warnings = append(k.warnings, w.Error())
	}
	k.closers = append(k.closers, set.Close)
	k.defs = append(k.defs, set.Definitions()...)
	k.execs[(&event.MCPToolAction{}).Kind()] = set.Executor()
}

// client adds the tools that the client carries out.
func (k *kit) client(n conversation.Needs) error {
	specs, err := clientSpecs(n.ClientTools)
	if err != nil {
		return err
	}
	taken := make([]string, len(k.defs))
	for i, d := range k.defs {
		taken[i] = d.Name
	}
	if err := client.Check(specs, taken); err != nil {
		return fault.Wrap(err, fault.Invalid, "client tools")
	}
	for _, s := range specs {
		k.defs = append(k.defs, s.Definition())
		k.execs[s.ActionKind()] = client.New()
	}
	return nil
}

func clientSpecs(list []json.RawMessage) ([]client.Spec, error) {
	if len(list) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return client.ParseSpecs(raw)
}
