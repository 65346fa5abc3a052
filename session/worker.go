package session

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/subagent"
)

// worker is a conversation at work: its controller, resources and models.
type worker struct {
	*controller.Controller
	res     Resources
	models  *models
	guard   *guard
	skills  []skill.Skill
	review  *review
	agent   agent.Agent // of the controller, except in a replay
	answers *answerStream
	memory  memories
	// judgement has a critic judge the agent's answers.
	judgement *judgement
	unlock    func() // nil before the conversation is locked
	title     titler
	hooks     *sessionHooks
	plugins   plugins
	// checkpoints keep the workspace's files.
	checkpoints *checkpointer
	// ctx is the context of runs. abandon ends it when another process continues.
	ctx     context.Context
	abandon context.CancelFunc
	// host is the worker whose guest the conversation is; nil for an ordinary one.
	host   *worker
	c      *Conversation // whose worker it is
	guests guests
	// tasks runs the tasks that the agent gives to subAgents.
	tasks     *tasks
	subAgents []subagent.Definition
	notes     notes
	// leftOut and agentsLeftOut are warnings about skills and about agents.
	leftOut, agentsLeftOut []string
	foreign                map[string]bool // names of skills of the project and its organisation
	// parts are those of the project that run programs; outdated says that the owner has answered about one since.
	parts    []ProjectPart
	outdated atomic.Bool
	// setUpAllowed says that the owner has allowed the project's scripts for its set-up.
	setUpAllowed bool
	// streams says that clients want the answer as it is written.
	streams atomic.Bool
}

// warnings name the parts that are not available.
func (w *worker) warnings() []string {
	w.c.mu.Lock()
	all := slices.Concat(w.c.rec.Warnings, w.plugins.warnings, w.leftOut, w.agentsLeftOut, w.hooks.Problems(), w.res.Warnings())
	for _, t := range w.c.agent.Tools {
		if why := t.Ineffective(); why != "" {
			all = append(all, why)
		}
	}
	forced := w.c.agent.LLM != nil && w.c.agent.LLM.TakesImages()
	w.c.mu.Unlock()
	if w.Controller != nil {
		all = append(all, names(w.State(), keySetUp)...)
		for _, model := range names(w.State(), keyNoImages) {
			if !forced {
				all = append(all, "the model "+model+" was found to take no pictures: it is told that there was one (--vision yes sends them again)")
			}
		}
	}
	for i, text := range all { // MCP warnings may quote a command with secrets
		all[i] = w.c.secrets.Mask(text)
	}
	return all
}

// recordWarnings records which parts are not available.
func (w *worker) recordWarnings(ctx context.Context) {
	all := w.warnings()
	if slices.Equal(all, names(w.State(), keyWarnings)) {
		return
	}
	w.c.m.o.Log.Warn("parts are not available", "conversation", w.c.id, "warnings", all)
	if err := w.Update(ctx, keyWarnings, all); err != nil {
		w.c.m.o.Log.Warn("record what is not available", "conversation", w.c.id, "err", err)
	}
}

// newWorkerLimited is newWorker within the limit on computing goroutines. An
// agent with MCP servers, which may be slow, starts outside of it.
func (c *Conversation) newWorkerLimited(ctx context.Context, host *worker) (*worker, error) {
	a, of := c.loadPlugins(ctx, c.Agent(), host)
	slow := a.MCPServers.Len() > 0
	if slow && host != nil { // its host has connected to some of them
		slow = a.MCPServers.Len() > host.c.Agent().MCPServers.Len()
	}
	if !slow {
		release, err := c.m.cpu.acquire(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return c.newWorker(ctx, host, a, of)
}

// newWorker builds the worker of a conversation. a is its agent with the parts of plugins.
func (c *Conversation) newWorker(ctx context.Context, host *worker, a *spec.Agent, of plugins) (_ *worker, err error) {
	w := &worker{c: c, plugins: of, parts: of.project.parts}
	w.title.c, w.title.w = c, w
	w.tasks = newTasks(w)
	w.ctx, w.abandon = context.WithCancel(c.m.ctx)
	defer func() {
		if err != nil {
			// keep: a sandbox from before may run programs that a later start waits for.
			err = errors.Join(err, w.close(context.WithoutCancel(ctx), true))
			w.leave()
		}
	}()
	if host != nil {
		if err = host.guests.add(c); err != nil {
			return nil, err
		}
		w.host = host
	}
	if w.unlock, err = c.m.lock(ctx, c.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	rec := c.rec
	c.mu.Unlock()
	inside, err := c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	if err = c.CheckWorkspace(); err != nil {
		return nil, err
	}
	if w.models, err = w.openModels(a, rec.MaxCost); err != nil {
		return nil, err
	}
	w.guard = &guard{secret.Guard{Registry: c.secrets}, c, w}
	if w.hooks, err = w.openHooks(rec); err != nil {
		return nil, err
	}
	project := func() (found []skill.Skill, warnings []skill.Warning) {
		if inside { // they are added by the request's Project
			return nil, nil
		}
		found, warnings = c.m.o.Files.ProjectSkills(rec.Workspace.WorkingDir)
		more, problems := w.projectsPlugins()
		return skill.Merge(found, more), append(warnings, problems...)
	}
	if w.skills, err = w.loadSkills(a, project); err != nil {
		return nil, err
	}
	if a, err = w.withSkillServers(a); err != nil {
		return nil, err
	}
	w.loadMemory(ctx, a, nil)
	if !inside {
		if err = w.loadMemoryHere(ctx, a); err != nil {
			return nil, err
		}
	}
	request, err := w.buildRequest(ctx, rec, a)
	if err != nil {
		return nil, err
	}
	if request.Condenser, err = memory.New(a.Condenser); err != nil {
		return nil, err
	}
	if inside && (a.Context != nil && a.Context.LoadProjectSkills || remembers(a) || request.TaskRuntime != nil || c.m.o.Permissions != nil) {
		request.Project = w.addProject(a)
	}
	if !inside {
		w.openProjectHooksHere(ctx)
	}
	build := c.m.o.Builder.Build
	if host != nil {
		lender, ok := host.res.(Host)
		if !ok {
			return nil, fault.New(fault.Unsupported, "the resources of this conversation cannot be shared with sub-agents")
		}
		build = lender.Guest
	}
	if w.res, err = build(ctx, request); err != nil {
		return nil, err
	}
	w.review, w.answers, w.checkpoints = &review{c: c, w: w}, newAnswerStream(c, w), newCheckpointer(c, w)
	w.streams.Store(a.LLM != nil && a.LLM.Stream)
	w.agent = streamedAgent{w.res.Agent(), w.answers}
	if w.judgement, err = newJudgement(w); err != nil {
		return nil, err
	}
	w.Controller, err = controller.Open(ctx, controller.Config{
		ID: c.id, Stream: c.m.o.Store, Agent: w.agent, Runtime: w.res.Runtime(), Local: w.res.Local(),
		LLM: w.models.get, CountedAs: w.models.countedAs, MaxIterations: rec.MaxIterations, MaxCost: rec.MaxCost, Parallel: max(a.ToolConcurrencyLimit, 1),
		Review: w.review.judge, Guard: w.guard, Hooks: w.hooks.Runner, FollowUp: w.judgement.followUp, Permit: c.permit, Stuck: stuckThresholds(rec), OnOutput: c.publish.output, OnOutputEnd: c.publish.outputEnd,
		BeforeActions: w.checkpoints.before(),
		Log:           c.m.o.Log,
	})
	if err != nil {
		return nil, err
	}
	w.notes.open(w.noteTools)
	if err = w.askAboutSetUp(ctx, rec); err != nil {
		return nil, err
	}
	return w, w.countEarlier(ctx)
}

func stuckThresholds(rec record) controller.StuckThresholds {
	if !rec.StuckDetection {
		return controller.StuckThresholds{ActionObservation: -1}
	}
	return controller.StuckThresholds{}
}

func (w *worker) buildRequest(ctx context.Context, rec record, a *spec.Agent) (r BuildRequest, err error) {
	r = BuildRequest{
		ID: w.c.id, Owner: w.c.Owner(), Workspace: rec.Workspace.WorkingDir, CheckWorkspace: w.c.CheckWorkspace, Placement: rec.Placement, Agent: a,
		Model: w.models.get(agent.UsageAgent).Info(), Prompt: w.prompt(a),
		ClientTools: rec.ClientTools, Skills: w.skills, Invoked: func(name string) { w.noteInvoked(name) }, Inline: w.inline,
		SandboxEnded: w.c.publish.sandboxEnd,
		ToolsChanged: w.notes.say,
		Tasks: func() []event.TaskItem {
			if w.Controller == nil {
				return nil
			}
			return w.State().Tasks
		},
		SwitchLLM: w.c.SwitchProfile,
		Profiles:  func(ctx context.Context) ([]string, error) { return w.c.m.o.Settings.LLMs(ctx, w.c.Owner()) },
		AskOracle: w.askOracle, Route: w.route, StartChild: w.c.Delegation().StartedBy,
		Secret: w.c.secrets.Value,

		SecretNames: w.c.secrets.Names,
		Track:       w.c.secrets.Track,
		Mask:        w.c.secrets.Mask,

		MaskArguments: w.c.secrets.MaskArguments,
	}
	if remembers(a) && rec.SubAgent == "" && !a.Plans() {
		r.Remember = w.remember
	}
	if delegates(a) && rec.SubAgent == "" {
		err = w.openSubAgents(ctx, a, nil, nil)
		r.TaskRuntime, r.SubAgents = w.tasks, w.subAgents
	}
	return r, err
}

// close closes the resources and releases the conversation's lock.
func (w *worker) close(ctx context.Context, keep bool) error {
	w.abandon()
	if w.unlock != nil {
		defer w.unlock()
	}
	return w.closeResources(ctx, keep)
}

func (w *worker) closeResources(ctx context.Context, keep bool) error {
	if w.res == nil {
		return nil
	}
	return w.res.Close(ctx, keep)
}

// Status returns the present status of a conversation without loading its
// events: idle if it is not active.
func (c *Conversation) Status() state.Status {
	if w := c.active.Load(); w != nil {
		return w.State().Status
	}
	return state.Idle
}
