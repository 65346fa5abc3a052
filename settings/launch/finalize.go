package launch

import (
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// Runtime has the abilities of the agent's runtime, and a launch's additions to
// the resolved settings.
type Runtime struct {
	spec.Preset // for an agent that chooses no tools
	// Memory makes the agent load its notes.
	Memory bool
	// Suffixes are appended to the end of the system prompt.
	Suffixes []string
	// Skills are added unless the agent has or disables those names. Each is
	// as spec.SkillSchema has it.
	Skills []*schema.Map
}

// DefaultLLM returns the LLM of the settings of an agent. NotFound for agents without
// one.
func DefaultLLM(agent *schema.Map) (*spec.LLM, error) {
	r, err := fromSettings(Source{Settings: agent})
	if err != nil {
		return nil, err
	}
	a, err := Finalize(r, Runtime{})
	if err != nil {
		return nil, err
	}
	if a.LLM == nil {
		return nil, fault.New(fault.NotFound, "the agent of the settings has no LLM of its own")
	}
	return a.LLM, nil
}

// Finalize makes the agent of a launch.
func Finalize(r *Resolved, rt Runtime) (*spec.Agent, error) {
	a := r.Agent
	if a == nil {
		var err error
		if a, err = agentsettings.Agent(r.Settings, rt.Preset); err != nil {
			return nil, refuse("%v", err)
		}
	}
	doc := a.Doc().Copy()
	context, had := doc.Get("agent_context").(*schema.Map)
	if had {
		context = context.Copy()
	} else {
		context = spec.ContextSchema.Defaults()
		context.Set("current_datetime", nil) // an agent without a context does not get the time
	}
	changed := rt.context(context, a.Kind == spec.ACPKind)
	if had || changed {
		doc.Set("agent_context", context)
	}
	return spec.AgentFrom(doc)
}

// context changes an agent's context, and reports whether something was added
// to it.
func (rt Runtime) context(c *schema.Map, acp bool) (changed bool) {
	if at, ok := c.Get("current_datetime").(string); ok {
		c.Set("current_datetime", now(at))
	}
	if rt.Memory {
		c.Set("load_memory", true)
		changed = true
	}
	for _, s := range rt.Suffixes {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if old := strings.TrimSpace(c.Text("system_message_suffix")); old != "" {
			s = old + "\n\n" + s
		}
		c.Set("system_message_suffix", s)
		changed = true
	}
	changed = rt.skills(c) || changed
	if acp { // it finds its own
		c.Set("skills", []any{})
		c.Set("load_user_skills", false)
		c.Set("load_public_skills", false)
		c.Set("registered_marketplaces", []any{})
	}
	return changed
}

// now is the present time in the zone of a time of before; text that is no time
// stays.
func now(old string) string {
	at := time.Now()
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		t, err := time.Parse(layout, old)
		if err != nil {
			continue
		}
		if layout == time.RFC3339Nano {
			at = at.In(t.Location())
		}
		return at.Format("2006-01-02T15:04:05.000000Z07:00")
	}
	return old
}

func (rt Runtime) skills(c *schema.Map) (added bool) {
	taken := texts(c.Get("disabled_skills"))
	list, _ := c.Get("skills").([]any)
	taken = append(taken, names(list)...)
	list = slices.Clone(list)
	for _, one := range rt.Skills {
		if name := one.Text("name"); !slices.Contains(taken, name) {
			taken = append(taken, name)
			list = append(list, one)
			added = true
		}
	}
	if added {
		c.Set("skills", list)
	}
	return added
}
