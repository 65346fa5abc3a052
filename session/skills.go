package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// loadSkills returns the skills of an agent: its own, and the project's, the user's and the
// public repository's if its context asks for them. The first of each name is used. project
// loads the project's; those of its organisation come behind them.
func (w *worker) loadSkills(a *spec.Agent, project func() ([]skill.Skill, []skill.Warning)) ([]skill.Skill, error) {
	w.c.mu.Lock()
	organisation := w.c.rec.Organisation
	w.c.mu.Unlock()
	all, err := w.c.m.skillsOf(a, func() ([]skill.Skill, []skill.Warning) {
		found, failed := project()
		return skill.Merge(found, organisation), failed
	})
	if err != nil {
		return nil, err
	}
	var own []skill.Warning // of the project and the user
	for _, warning := range all.warnings {
		if !warning.public {
			own = append(own, warning.Warning)
		}
		w.c.m.o.Log.Warn("a skill is not loaded", "conversation", w.c.id, "err", warning)
	}
	w.leftOut, w.foreign = skill.LeftOut(own), all.foreign
	return all.skills, nil
}

// agentSkills are the skills of an agent.
type agentSkills struct {
	skills   []skill.Skill
	foreign  map[string]bool // by name, the project's and its organisation's
	warnings []skillWarning
}

// skillWarning is a warning about a skill, perhaps of the public repository.
type skillWarning struct {
	skill.Warning
	public bool
}

// skillsOf is [worker.loadSkills] without a conversation.
func (m *Manager) skillsOf(a *spec.Agent, project func() ([]skill.Skill, []skill.Warning)) (out agentSkills, err error) {
	about := a.Context
	if about == nil {
		return out, nil
	}
	var all []skill.Skill
	for i, raw := range about.Skills {
		var s skill.Skill
		if err := json.Unmarshal(raw, &s); err != nil {
			return out, fault.Wrap(err, fault.Invalid, fmt.Sprintf("skill %d of the agent", i+1))
		}
		all = append(all, s)
	}
	public := false
	more := func(found []skill.Skill, failed []skill.Warning) {
		all = skill.Merge(all, found)
		for _, warning := range failed {
			out.warnings = append(out.warnings, skillWarning{warning, public})
		}
	}
	out.foreign = map[string]bool{}
	if about.LoadProjectSkills {
		found, failed := project()
		for _, s := range found {
			out.foreign[s.Name] = !slices.ContainsFunc(all, func(own skill.Skill) bool { return own.Name == s.Name })
		}
		more(found, failed)
	}
	if about.LoadUserSkills {
		more(m.o.Files.UserSkills())
	}
	if about.LoadPublicSkills {
		marketplace := ""
		if about.MarketplacePath != nil {
			marketplace = *about.MarketplacePath
		}
		public = true
		more(m.o.Files.PublicSkills(marketplace))
	}
	out.skills = skill.Without(all, about.DisabledSkills)
	return out, nil
}

// inlineSeconds bounds an inline command (reference: skills/execute.py).
const inlineSeconds = 10

// inline runs an inline command of a skill where the conversation's actions run, and returns
// the text in its place. That of a project runs only in a sandbox, and only if actions wait
// for nobody: reading a skill is no yes.
func (w *worker) inline(ctx context.Context, s skill.Skill, command string, sandboxed bool) string {
	policy, err := security.ParsePolicy(w.c.policy(w.State()))
	if _, never := policy.(security.NeverConfirm); w.foreign[s.Name] && (!sandboxed || !never || err != nil) {
		return "[Not run, because nobody has allowed it: `" + command + "`. Run it yourself if you need its output.]"
	}
	failed := func(why string) string { return "[Error: Command `" + command + "` " + why + "]" }
	got, err := w.res.RunProgram(ctx, Program{Argv: []string{"/bin/sh", "-c", command}, Dir: w.c.Workspace(), Seconds: inlineSeconds})
	switch {
	case err != nil:
		return failed("could not be run: " + err.Error())
	case got.TimedOut:
		return failed(fmt.Sprintf("timed out after %d s", inlineSeconds))
	case got.ExitCode != 0:
		return failed(fmt.Sprintf("exited with code %d: %s", got.ExitCode, strings.TrimSpace(got.Stderr)))
	}
	return got.Stdout
}

// prompt returns the variable text of the system prompt.
func (w *worker) prompt(a *spec.Agent) Prompt {
	p := Prompt{Secrets: map[string]string{}, Repository: w.c.repository()}
	if a.Persona != nil {
		p.Persona = *a.Persona
	}
	for _, s := range w.c.secrets.Infos() {
		p.Secrets[s.Name] = s.Description
	}
	parts := []string{skill.RepoContext(w.skills), memoryfile.Prompt(w.memory.user, w.memory.project), skill.Available(w.skills)}
	if about := a.Context; about != nil {
		if about.SystemMessageSuffix != nil {
			parts = append(parts, *about.SystemMessageSuffix)
		}
		if about.CurrentDatetime != nil {
			p.Now = time.Now()
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	p.Suffix = strings.Join(parts, "\n\n")
	return p
}

// activate adds to a message the prompt that it names, the skills that its words trigger, and
// the agent's suffix of messages.
func (w *worker) activate(ctx context.Context, ev *event.MessageEvent) error {
	w.c.mu.Lock()
	about := w.c.agent.Context
	w.c.mu.Unlock()
	if about != nil && about.UserMessageSuffix != nil && *about.UserMessageSuffix != "" {
		ev.ExtendedContent = append(ev.ExtendedContent, event.Text(*about.UserMessageSuffix))
	}
	if p, ok := w.res.(Prompter); ok {
		text, err := p.Prompt(ctx, event.JoinText(ev.LLMMessage.Content))
		if err != nil {
			return &MessageError{err}
		}
		if text != "" {
			ev.ExtendedContent = append(ev.ExtendedContent, event.Text(text))
		}
	}
	if len(w.skills) == 0 {
		return nil
	}
	known := names(w.State(), keyActivated)
	hit := skill.Match(w.skills, event.JoinText(ev.LLMMessage.Content), known)
	if len(hit.Names) == 0 {
		return nil
	}
	ev.ActivatedSkills = hit.Names
	ev.ExtendedContent = append(ev.ExtendedContent, event.Text(hit.Text))
	return w.Update(ctx, keyActivated, slices.Concat(known, hit.Names))
}

// MessageError is the error of a message that cannot be sent as it is. Nothing of it is stored.
type MessageError struct{ Err error }

// Error implements error.
func (e *MessageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MessageError) Unwrap() error { return e.Err }

// names is a state field that is a list of names.
func names(s *state.State, key string) []string {
	var out []string
	s.Field(key, &out)
	return out
}

// noteInvoked records that the agent asked for a skill.
func (w *worker) noteInvoked(name string) {
	invoked := names(w.State(), keyInvoked)
	if slices.Contains(invoked, name) {
		return
	}
	if err := w.Update(w.c.m.ctx, keyInvoked, append(invoked, name)); err != nil {
		w.c.m.o.Log.Warn("record an invoked skill", "conversation", w.c.id, "err", err)
	}
}

// addPathRules adds to the result of a file tool the rules for its file, and
// records that the agent has them.
func (w *worker) addPathRules(ev event.Event) error {
	o, ok := ev.(*event.ObservationEvent)
	if !ok || len(w.skills) == 0 {
		return nil
	}
	workspace := w.c.Workspace()
	known := names(w.State(), keyPathRules)
	had := len(known)
	for _, f := range event.FileChanges(o.Observation) {
		hit := skill.MatchPath(w.skills, skill.Touched(workspace, f.Path), known)
		if len(hit.Names) > 0 {
			o.ExtendedContent = append(o.ExtendedContent, event.Text(hit.Text))
			known = slices.Concat(known, hit.Names)
		}
	}
	if len(known) == had {
		return nil
	}
	return w.Update(w.c.m.ctx, keyPathRules, known)
}
