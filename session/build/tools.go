package build

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/askoracle"
	"github.com/deft-dev/deft/tool/client"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/remember"
	"github.com/deft-dev/deft/tool/routetask"
	"github.com/deft-dev/deft/tool/startchild"
	"github.com/deft-dev/deft/tool/switchllm"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/workflow"
)

// parts are the tools of a conversation that is being built.
type parts struct {
	more     map[string]*tool.Definition // tools beside the built-in ones, by name
	defs     []*tool.Definition
	local    map[string]tool.Executor // by kind of action
	closers  []func() error
	warnings []string
	open     bool // actions have the rights of this process
}

func (p *parts) close() error {
	var first error
	for _, c := range slices.Backward(p.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// addTools adds the tools that need nothing of the runtime, in the order in which
// the model sees them. The tools of MCP servers and of the client follow.
func (p *parts) addTools(ctx context.Context, r session.BuildRequest, log *slog.Logger) error {
	if err := p.addBuiltins(r); err != nil {
		return err
	}
	p.addInvokeSkill(r)
	p.addSwitchLLM(ctx, r, log)
	p.addRemember(r)
	p.addDeeds(r)
	return nil
}

// addDeeds adds the executors of tools that the conversation itself carries out.
func (p *parts) addDeeds(r session.BuildRequest) {
	for _, d := range p.defs {
		switch d.ActionKind {
		case askoracle.Definition().ActionKind:
			p.local[d.ActionKind] = askoracle.New(r.AskOracle)
		case routetask.Definition().ActionKind:
			p.local[d.ActionKind] = routetask.New(func(ctx context.Context) (routetask.Routed, error) {
				got, err := r.Route(ctx, paramsOf(r.Agent, routetask.Class, routetask.Name))
				return routetask.Routed(got), err
			})
		case startchild.Definition().ActionKind:
			p.local[d.ActionKind] = startchild.New(func(ctx context.Context, id event.ID, a *event.StartChildConversationAction) (startchild.Child, error) {
				c, err := r.StartChild(ctx, id, a)
				if err != nil {
					return startchild.Child{}, err
				}
				child := startchild.Child{ID: c.ID(), Parent: r.ID, Status: string(c.Status()), Workspace: c.Workspace(), Isolation: startchild.Shared}
				if a.Title != nil {
					child.Title = *a.Title
				}
				if c.HasWorktree() {
					child.Isolation = startchild.Worktree
				}
				return child, nil
			})
		}
	}
}

// paramsOf are the parameters of a tool that has one of the names, none if it is not there.
func paramsOf(a *spec.Agent, names ...string) *schema.Map {
	for _, t := range a.Tools {
		if slices.Contains(names, t.Name) {
			return t.Params
		}
	}
	return nil
}

// addBuiltins adds the tools that an agent names, and those that are included
// by default.
func (p *parts) addBuiltins(r session.BuildRequest) error {
	known, included := map[string][]*tool.Definition{}, map[string][]*tool.Definition{}
	for _, t := range tool.Registered() {
		defs := t.Definitions(tool.Model{Name: r.Model.Name, Vision: r.Model.Vision})
		if len(defs) == 0 {
			continue // not for this model, or it is defined from the conversation
		}
		if known[t.Name] = defs; t.Sets.Has(tool.Included) {
			included[t.Name] = defs
		}
	}
	for name, d := range p.more {
		known[name] = []*tool.Definition{d}
	}
	if r.TaskRuntime != nil {
		agents := taskAgents(r.SubAgents)
		d := []*tool.Definition{task.Definition(agents, subagent.GeneralPurpose)}
		known[task.Tool.Name], known[d[0].Name] = d, d
		d = []*tool.Definition{workflow.Definition(task.List(agents))}
		known[workflow.Set], known[d[0].Name] = d, d
	}
	for _, t := range r.Agent.Tools {
		defs := known[t.Name]
		if len(defs) == 0 {
			p.warnings = append(p.warnings, "this server has no tool "+t.Name)
			continue
		}
		if err := spec.CheckPlanPath(t, r.Workspace); err != nil {
			return err
		}
		for _, d := range defs {
			d, err := withResponse(d, t.Params)
			if err != nil {
				return err
			}
			p.defs = append(p.defs, d)
		}
	}
	for _, name := range r.Agent.IncludeDefaultTools {
		defs := included[name]
		if name == routetask.Class {
			defs = known[name]
		}
		for _, d := range defs {
			if !slices.ContainsFunc(p.defs, func(own *tool.Definition) bool { return own.Name == d.Name }) {
				p.defs = append(p.defs, d)
			}
		}
	}
	return nil
}

// taskAgents are the agents that a task can be for, as the model is told of them.
func taskAgents(all []subagent.Definition) []task.Agent {
	out := make([]task.Agent, len(all))
	for i, d := range all {
		out[i] = task.Agent{Name: d.Name, Description: d.Description, Tools: d.Tools}
	}
	return out
}

// withResponse gives a tool the form of answer that its parameters ask for.
func withResponse(d *tool.Definition, params *schema.Map) (*tool.Definition, error) {
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

// addInvokeSkill adds the tool by which the agent reads skills, if it has any.
func (p *parts) addInvokeSkill(r session.BuildRequest) {
	if !skill.HasInvocable(r.Skills) {
		return
	}
	var run func(ctx context.Context, s skill.Skill, command string) string
	if r.Inline != nil {
		run = func(ctx context.Context, s skill.Skill, command string) string {
			return r.Inline(ctx, s, command, !p.open)
		}
	}
	d := invokeskill.Definition()
	p.defs = append(p.defs, d)
	p.local[d.ActionKind] = invokeskill.New(invokeskill.Options{
		Skills: func() []skill.Skill { return r.Skills }, Workspace: r.Workspace, Invoked: r.Invoked, Run: run,
	})
}

// addSwitchLLM adds the tool by which the agent takes another LLM.
func (p *parts) addSwitchLLM(ctx context.Context, r session.BuildRequest, log *slog.Logger) {
	if !slices.Contains(r.Agent.IncludeDefaultTools, "SwitchLLMTool") {
		return
	}
	names, err := r.Profiles(ctx)
	if err != nil {
		log.Warn("list LLM profiles", "err", err)
	}
	d := switchllm.Definition(names)
	p.defs = append(p.defs, d)
	p.local[d.ActionKind] = switchllm.New(r.SwitchLLM)
}

// addRemember adds the tool by which the agent proposes facts for the memory files, if it has any.
func (p *parts) addRemember(r session.BuildRequest) {
	if r.Remember == nil {
		return
	}
	d := remember.Definition()
	p.defs = append(p.defs, d)
	p.local[d.ActionKind] = remember.New(func(ctx context.Context, a *remember.Action) error {
		return r.Remember(ctx, a.Scope == remember.User, memoryfile.Change{Text: a.Text, Replaces: a.Replaces})
	})
}

// addExternal adds the tools that the executors bring. They come from where hostile
// programs run, so they are checked here too.
func (p *parts) addExternal(ctx context.Context, tools func(context.Context) ([]tool.External, error)) error {
	all, err := tools(ctx)
	if err != nil {
		return fmt.Errorf("set up the executors: %w", err)
	}
	for _, t := range all {
		if err := t.Complete(); err != nil {
			return fmt.Errorf("set up the executors: %w", err)
		}
		if slices.Contains(p.names(), t.Name) {
			return fault.New(fault.Invalid, "the executor brings the tool "+t.Name+", which the agent has already").Hint("give it another name")
		}
		p.defs = append(p.defs, t.Definition())
	}
	return nil
}

// clientTools reads the tools that the client carries out, and adds their
// executor.
func (p *parts) clientTools(r session.BuildRequest) ([]client.Spec, error) {
	if len(r.ClientTools) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(r.ClientTools)
	if err != nil {
		return nil, err
	}
	specs, err := client.ParseSpecs(raw)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		p.local[s.ActionKind()] = client.New()
	}
	return specs, nil
}

// addClientTools adds the definitions of tools that the client carries out.
func (p *parts) addClientTools(specs []client.Spec) error {
	if err := client.Check(specs, p.names()); err != nil {
		return fault.Wrap(err, fault.Invalid, "client tools")
	}
	for _, s := range specs {
		p.defs = append(p.defs, s.Definition())
	}
	return nil
}

// names are the names of the tools so far.
func (p *parts) names() []string {
	names := make([]string, len(p.defs))
	for i, d := range p.defs {
		names[i] = d.Name
	}
	return names
}
