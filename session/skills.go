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
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// loadSkills returns the skills of an agent: its own, and the project's, the user's and the
// public repository's if its context asks for them. The first of each name is used. project
// loads the project's.
func (w *worker) loadSkills(a *spec.Agent, project func() ([]skill.Skill, []skill.Warning)) ([]skill.Skill, error) {
	about := a.Context
	if about == nil {
		return nil, nil
	}
	var all []skill.Skill
	for i, raw := range about.Skills {
		var s skill.Skill
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fmt.Sprintf("skill %d of the agent", i+1))
		}
		all = append(all, s)
	}
	var warnings []skill.Warning
	more := func(found []skill.Skill, failed []skill.Warning) {
		all, warnings = skill.Merge(all, found), append(warnings, failed...)
	}
	if about.LoadProjectSkills {
		more(project())
	}
	if about.LoadUserSkills {
		more(w.c.m.o.Files.UserSkills())
	}
	w.leftOut = leftOut(warnings)
	if about.LoadPublicSkills {
		marketplace := ""
		if about.MarketplacePath != nil {
			marketplace = *about.MarketplacePath
		}
		more(w.c.m.o.Files.PublicSkills(marketplace))
	}
	for _, warning := range warnings {
		w.c.m.o.Log.Warn("a skill is not loaded", "conversation", w.c.id, "err", warning)
	}
	return skill.Without(all, about.DisabledSkills), nil
}

// mostLeftOut bounds the skills that are named one by one.
const mostLeftOut = 10

// leftOut says which skills of the project and the user are not there.
func leftOut(warnings []skill.Warning) (all []string) {
	for i, w := range warnings {
		if i == mostLeftOut {
			return append(all, fmt.Sprintf("%d more skills are not loaded", len(warnings)-i))
		}
		all = append(all, "not loaded: "+w.Error())
	}
	return all
}

// prompt returns the variable text of the system prompt.
func (w *worker) prompt(a *spec.Agent) Prompt {
	p := Prompt{Secrets: map[string]string{}}
	if a.Persona != nil {
		p.Persona = *a.Persona
	}
	for _, s := range w.c.secrets.Infos() {
		p.Secrets[s.Name] = s.Description
	}
	parts := []string{skill.RepoContext(w.skills), skill.Available(w.skills)}
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

// activate adds to a message the skills that its words trigger, and the agent's suffix of
// messages.
func (w *worker) activate(ctx context.Context, ev *event.MessageEvent) error {
	w.c.mu.Lock()
	about := w.c.agent.Context
	w.c.mu.Unlock()
	if about != nil && about.UserMessageSuffix != nil && *about.UserMessageSuffix != "" {
		ev.ExtendedContent = append(ev.ExtendedContent, event.Text(*about.UserMessageSuffix))
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
	f, ok := o.Observation.(*event.FileEditorObservation)
	if !ok || f.Path == nil {
		return nil
	}
	workspace := w.c.Workspace()
	known := names(w.State(), keyPathRules)
	hit := skill.MatchPath(w.skills, skill.Touched(workspace, *f.Path), known)
	if len(hit.Names) == 0 {
		return nil
	}
	o.ExtendedContent = append(o.ExtendedContent, event.Text(hit.Text))
	return w.Update(w.c.m.ctx, keyPathRules, slices.Concat(known, hit.Names))
}
