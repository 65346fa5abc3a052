package launch

import (
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Runtime is what the runtime of the agent can do, and what a launch adds to
// what was resolved.
type Runtime struct {
	Browser bool // whether the browser tools can run
	// ManagedACPSkills gives skills to ACP agents; by default they find their
	// own.
	ManagedACPSkills bool
	// Memory makes the agent load its notes.
	Memory bool
	// Suffixes are appended to the end of the system prompt.
	Suffixes []string
	// Skills are added unless the agent has or disables those names. Each is
	// as spec.SkillSchema has it.
	Skills []*schema.Map
	// ClientTools are added unless the agent has tools of those names.
	ClientTools []*schema.Map
	// ManagedSecrets are not given to the agent's context.
	ManagedSecrets []string
	// Window returns a model's context window in tokens, 0 where it is not
	// known; nil for unknown.
	Window func(*spec.LLM) int
	// At is when the launch is; zero takes the present.
	At time.Time
}

// Finalize makes the agent of a launch.
func Finalize(r *Resolved, rt Runtime) (*spec.Agent, error) {
	a := r.Agent
	if a == nil {
		var err error
		if a, err = agentsettings.Agent(r.Settings, rt.Browser, rt.Window); err != nil {
			return nil, refuse("%v", err)
		}
	}
	doc := a.Doc().Copy()
	context, had := doc.Get("agent_context").(*schema.Map)
	if had {
		context = context.Copy()
	} else {
		// An agent without a context does not get the time.
		empty := schema.Of("current_datetime", nil)
		var err error
		if context, err = spec.ContextSchema.Check(empty, schema.Reading{}); err != nil {
			return nil, err
		}
	}
	changed := rt.context(context, a.Kind == "ACPAgent")
	if had || changed {
		doc.Set("agent_context", context)
	}
	rt.tools(doc)
	return spec.AgentFrom(doc)
}

// context changes an agent's context, and reports whether something was added
// to it.
func (rt Runtime) context(c *schema.Map, acp bool) (changed bool) {
	if at, ok := c.Get("current_datetime").(string); ok {
		c.Set("current_datetime", rt.now(at))
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
	if acp && !rt.ManagedACPSkills {
		c.Set("skills", []any{})
		c.Set("load_user_skills", false)
		c.Set("load_public_skills", false)
		c.Set("registered_marketplaces", []any{})
	}
	if secrets := c.Object("secrets"); secrets != nil {
		kept := secrets.Copy()
		for _, name := range rt.ManagedSecrets {
			kept.Delete(name)
		}
		c.Set("secrets", kept)
	}
	return changed
}

// now is the time of the launch in the zone of a time of before; text that is
// no time stays.
func (rt Runtime) now(old string) string {
	at := rt.At
	if at.IsZero() {
		at = time.Now()
	}
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
	for _, e := range list {
		taken = append(taken, spec.ToolName(e))
	}
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

func (rt Runtime) tools(doc *schema.Map) {
	list, _ := doc.Get("tools").([]any)
	list = slices.Clone(list)
	for _, one := range rt.ClientTools {
		if !slices.ContainsFunc(list, func(t any) bool { return spec.ToolName(t) == one.Text("name") }) {
			list = append(list, one)
		}
	}
	if len(rt.ClientTools) > 0 {
		doc.Set("tools", list)
	}
}
