package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// delegates reports whether an agent can give tasks to sub-agents.
func delegates(a *spec.Agent) bool {
	return slices.ContainsFunc(a.Tools, func(t spec.Tool) bool { return spec.GivesTasks(t.Name) })
}

// agents returns the agents to which an agent can give tasks, the first of each name: from
// the start request, plugins, a project inside the sandbox, the project, the user and the built-in
// ones. The warnings name the files that are no agents.
func (g Delegation) agents(a *spec.Agent, ofPlugins, inside []subagent.Definition) ([]subagent.Definition, []skill.Warning) {
	q := subagent.Query{User: true, Builtin: true}
	if in, err := g.c.WorkspaceInside(); err == nil && !in {
		q.Project, q.ProjectDir = true, g.c.Workspace()
	}
	g.c.mu.Lock()
	all := slices.Concat(g.c.rec.Agents, ofPlugins, inside)
	g.c.mu.Unlock()
	g.openServers(all)
	found, failed := g.c.m.o.SubAgents.List(q)
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(all, found), func(d subagent.Definition) bool {
		again := seen[d.Name] || d.Name == "" || scoped(a) && len(missingTools(a, d)) > 0 || d.IsBuiltin && lacksBrowser(a, d)
		seen[d.Name] = true
		return again
	}), failed
}

// ProjectAgents returns the definitions of the project to which an agent of the conversation can give tasks. The
// project is on this machine.
func (g Delegation) ProjectAgents(a *spec.Agent) []subagent.Definition {
	if !delegates(a) {
		return nil
	}
	_, own := usersPlugins(g.c, a)
	all, _ := g.agents(a, own.agents, nil) // its worker warns of the rest
	return slices.DeleteFunc(all, func(d subagent.Definition) bool { return !foreign(d) })
}

// lacksBrowser reports whether an agent that browses would have no browser, because the one that
// gives the task has none.
func lacksBrowser(a *spec.Agent, d subagent.Definition) bool {
	return slices.Contains(toolsOf(d), spec.BrowserTool) && slices.Contains(missingTools(a, d), spec.BrowserTool)
}

// scoped reports whether the sub-agents of an agent may only have tools that it has itself
// (the parameter sub_agent_scope of the tool).
func scoped(a *spec.Agent) bool {
	return slices.ContainsFunc(a.Tools, func(t spec.Tool) bool {
		return spec.GivesTasks(t.Name) && t.Params.Object("sub_agent_scope").Get("tools") == true
	})
}

// toolsOf are the tools that a definition names; an entry may be a list in one text.
func toolsOf(d subagent.Definition) []string {
	var names []string
	for _, entry := range d.Tools {
		for name := range strings.SplitSeq(entry, ",") {
			if name = spec.CanonicalTool(strings.TrimSpace(name)); name != "" && !spec.StartsOthers(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// missingTools are the tools of a definition that an agent lacks.
func missingTools(a *spec.Agent, d subagent.Definition) (missing []string) {
	for _, name := range toolsOf(d) {
		if !slices.ContainsFunc(a.Tools, func(t spec.Tool) bool { return t.Name == name }) && spec.BuiltinClass(name) == "" {
			missing = append(missing, name)
		}
	}
	return missing
}

// makeSubAgent makes the conversation of the sub-agent that a task is for.
func (g Delegation) makeSubAgent(ctx context.Context, id event.ConversationID, a *event.TaskAction) (*Conversation, error) {
	w, err := g.c.work(ctx)
	if err != nil {
		return nil, err
	}
	d, err := w.subAgent(a.SubagentType)
	if err != nil {
		return nil, err
	}
	title := a.Prompt
	if a.Description != nil && strings.TrimSpace(*a.Description) != "" {
		title = *a.Description
	}
	return g.makeGuest(ctx, id, d, title)
}

// makeGuest makes the conversation of a sub-agent that a definition describes.
func (g Delegation) makeGuest(ctx context.Context, id event.ConversationID, d subagent.Definition, title string) (*Conversation, error) {
	w, err := g.c.work(ctx)
	if err != nil {
		return nil, err
	}
	child, err := g.newChild(id, TitleFrom(g.c.secrets.Mask(title)))
	if err != nil {
		return nil, err
	}
	skills, err := w.skillsOf(ctx, child.agent, d)
	if err != nil {
		return nil, err
	}
	agent, err := g.agentOf(ctx, child.agent, d, skills)
	if err != nil {
		return nil, err
	}
	if err := child.setAgent(agent); err != nil {
		return nil, err
	}
	r := &child.rec
	r.SubAgent, r.Autotitle, r.ClientTools, r.Agents, r.AgentServers, r.Imported = d.Name, false, nil, nil, nil, nil
	r.Warnings, r.OwnSkills = unhonoured(d), len(d.Skills) > 0
	parents, err := r.hooks()
	if err != nil {
		return nil, err
	}
	if r.HookConfig, err = hooksOf(parents, d); err != nil {
		return nil, err
	}
	r.ProjectHooks = nil
	s := w.State()
	if r.Policy, r.Analyzer, err = confirmationOf(g.c.policy(s), g.c.analyzer(s), d); err != nil {
		return nil, err
	}
	if d.MaxIterations != nil {
		r.MaxIterations = *d.MaxIterations
	}
	if d.MaxBudget != nil && (r.MaxCost <= 0 || *d.MaxBudget < r.MaxCost) {
		r.MaxCost = *d.MaxBudget
	}
	if err := g.store(ctx, child); err != nil {
		return nil, err
	}
	if g.c.m.o.Observer != nil {
		return child, child.publish.made()
	}
	return child, nil
}

// formerNames are names that the reference's built-in agents have had.
var formerNames = map[string]string{
	"default": subagent.GeneralPurpose, "default cli mode": subagent.GeneralPurpose, "explore": "code-explorer", "bash": "bash-runner",
}

// subAgent returns the definition of a type of agent that the task tool offers.
func (w *worker) subAgent(name string) (subagent.Definition, error) {
	for _, one := range []string{name, formerNames[name]} {
		for _, d := range w.subAgents {
			if d.Name == one && one != "" {
				return d, nil
			}
		}
	}
	names := make([]string, len(w.subAgents))
	for i, d := range w.subAgents {
		names[i] = d.Name
	}
	return subagent.Definition{}, fault.New(fault.NotFound, fmt.Sprintf("there is no agent of the type %q; the types are: %s", clipped(name), strings.Join(names, ", ")))
}

// agentOf is the agent that a definition describes, for the rest the one that gives the
// task. It cannot give tasks itself.
func (g Delegation) agentOf(ctx context.Context, parent *spec.Agent, d subagent.Definition, skills []any) (*spec.Agent, error) {
	a := parent
	if d.Model != "" && d.Model != "inherit" {
		l, err := g.c.m.o.Settings.LLM(ctx, g.c.Owner(), strings.TrimSuffix(d.Model, ".json"))
		if err != nil {
			return nil, fmt.Errorf("the model of the agent %s: %w", d.Name, err)
		}
		if a, err = a.WithLLM(l.Clone("agent")); err != nil {
			return nil, err
		}
	}
	doc := a.Doc().Copy()
	doc.Set("tools", toolDocs(doc, d))
	doc.Set("include_default_tools", []any{"FinishTool", "ThinkTool"})
	doc.Set("persona", nil)
	doc.Set("critic", nil) // which judges the whole
	about := schema.NewMap()
	if own := doc.Object("agent_context"); own != nil {
		about = own.Copy()
	}
	if skills != nil {
		for _, name := range []string{"load_project_skills", "load_user_skills", "load_public_skills"} {
			about.Set(name, false)
		}
		about.Set("skills", skills)
		doc.Set("agent_context", about)
	}
	if prompt := strings.TrimSpace(d.SystemPrompt); prompt != "" {
		if before := strings.TrimSpace(about.Text("system_message_suffix")); before != "" {
			prompt = before + "\n\n" + prompt
		}
		about.Set("system_message_suffix", prompt)
		doc.Set("agent_context", about)
	}
	setCondenser(doc, d)
	if d.Servers != nil && !foreign(d) {
		doc.Set("mcp_config", serversOf(doc.Object("mcp_config"), d.Servers))
	}
	return spec.CheckAgent(doc, schema.Reading{}, "agent")
}

// toolDocs are the tools of a sub-agent, with the parameters that they have for the agent
// of doc.
func toolDocs(doc *schema.Map, d subagent.Definition) []any {
	own, _ := doc.Get("tools").([]any)
	out := []any{}
	if names := toolsOf(d); len(names) > 0 {
		for _, name := range names {
			i := slices.IndexFunc(own, func(t any) bool { return spec.ToolName(t) == name })
			switch {
			case spec.BuiltinClass(name) != "": // it has them
			case i >= 0:
				out = append(out, own[i])
			default:
				out = append(out, spec.NewTool(name))
			}
		}
		return out
	}
	for _, t := range own {
		if name := spec.ToolName(t); !spec.StartsOthers(name) && spec.BuiltinClass(name) == "" {
			out = append(out, t)
		}
	}
	return out
}

// permissionModes are the presets that a definition can ask for.
var permissionModes = map[string]security.Preset{"always_confirm": security.Always, "confirm_risky": security.Risky}

// confirmationOf returns the confirmation policy and the analyzer of a sub-agent: its parent's,
// or the definition's preset where that is stricter. A file of a project must not weaken the
// user's policy.
func confirmationOf(policy, analyzer json.RawMessage, d subagent.Definition) (ownPolicy, ownAnalyzer json.RawMessage, err error) {
	if d.PermissionMode == nil || permissionModes[*d.PermissionMode] == "" {
		return policy, analyzer, nil
	}
	p, err := security.ParsePolicy(policy)
	if err != nil {
		return nil, nil, err
	}
	preset := permissionModes[*d.PermissionMode]
	_, never := p.(security.NeverConfirm)
	switch {
	case never:
		if analyzer, err = normalAnalyzer(preset.Analyzer()); err != nil {
			return nil, nil, err
		}
	case preset != security.Always:
		return policy, analyzer, nil
	}
	policy, err = normalPolicy(preset.Policy())
	return policy, analyzer, err
}

// foreign reports whether a definition is of a repository, whose hooks nobody has allowed.
func foreign(d subagent.Definition) bool { return d.Level != nil && *d.Level == subagent.Project }

// hooksOf returns the hooks of a sub-agent: the definition's, behind its parent's for tools, which
// a task must not get round.
func hooksOf(parent *hook.Config, d subagent.Definition) (json.RawMessage, error) {
	var tools *hook.Config
	if parent != nil {
		tools = &hook.Config{PreToolUse: parent.PreToolUse, PostToolUse: parent.PostToolUse}
	}
	own := d.Hooks
	if foreign(d) {
		own = nil
	}
	merged := hook.Merge(tools, own)
	if merged == nil {
		return nil, nil
	}
	return json.Marshal(merged)
}

// unhonoured says which parts of a definition have no effect.
func unhonoured(d subagent.Definition) (parts []string) {
	note := func(has bool, field, why string) {
		if has {
			parts = append(parts, "agent "+d.Name+": "+field+": "+why)
		}
	}
	note(!d.Hooks.Empty() && foreign(d), "hooks", "hooks of a project's agents do not run, because nobody has allowed them")
	note(spec.NamesModel(documentOf(d.Condenser)), "condenser.llm", "the condenser of a sub-agent asks the sub-agent's model")
	note(d.Servers != nil && foreign(d), "mcp_config", "MCP servers of a project's agents are not used, because nobody has allowed them")
	note(givesTasks(d), "tools", "a sub-agent cannot give tasks or start conversations itself")
	note(d.ProfileStoreDir != nil, "profile_store_dir", "LLM profiles are in the user's settings")
	note(d.PermissionMode != nil && permissionModes[*d.PermissionMode] == "", "permission_mode", "what the user has to confirm is not taken away")
	return parts
}

// givesTasks reports whether a definition names a tool that gives tasks.
func givesTasks(d subagent.Definition) bool {
	return slices.ContainsFunc(d.Tools, func(entry string) bool {
		for name := range strings.SplitSeq(entry, ",") {
			if spec.StartsOthers(strings.TrimSpace(name)) {
				return true
			}
		}
		return false
	})
}

// update gives a sub-agent the present secrets, confirmation policy and analyser of its
// parent, before it gets another task.
func (g Delegation) update(ctx context.Context, child *Conversation) error {
	w, err := g.c.work(ctx)
	if err != nil {
		return err
	}
	s := w.State()
	was, err := child.State(ctx)
	if err != nil {
		return err
	}
	policy, analyzer := g.c.policy(s), g.c.analyzer(s)
	if d, err := w.subAgent(child.SubAgent()); err == nil { // else it is not there any more
		if policy, analyzer, err = confirmationOf(policy, analyzer, d); err != nil {
			return err
		}
	}
	if string(policy) != string(child.policy(was)) {
		if err := child.Confirmation().SetPolicy(ctx, policy); err != nil {
			return err
		}
	}
	if string(analyzer) != string(child.analyzer(was)) {
		unmasked, err := g.c.unmaskedAnalyzer(analyzer)
		if err != nil {
			return err
		}
		if err := child.Confirmation().SetAnalyzer(ctx, unmasked); err != nil {
			return err
		}
	}
	g.c.mu.Lock()
	secrets := g.c.rec.Secrets
	g.c.mu.Unlock()
	child.mu.Lock()
	defer child.mu.Unlock()
	if string(secrets) == string(child.rec.Secrets) || len(secrets) == 0 {
		return nil
	}
	if err := child.takeSecrets(secrets, true); err != nil {
		return err
	}
	child.rec.Secrets = secrets
	return child.save(ctx)
}
