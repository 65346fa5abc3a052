package openhands

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// Why settings are left.
const (
	ofOperator = "it is for who runs the server: deft serve --openhands-config reads the file"
	noEffect   = "it has no effect in Deft"
	unfit      = "its value does not fit"
	ofService  = "a service is chosen for each conversation: deft run --analyzer FILE (docs/confirmation.md)"
	sealed     = "it is masked or sealed with a key of the other server: enter it anew"
	overridden = "another file has it, too, and counts"
)

// reader adds the settings of a file to a plan.
type reader struct {
	*Plan
	file string
}

func (r reader) leave(key, why string) { r.Left = append(r.Left, Left{r.file, key, why}) }

// take takes a setting over. A later file takes the place of an earlier one.
func (r reader) take(key, to, value string, secret bool, set func(*change)) {
	if old := r.targets[to]; old == nil {
		r.order = append(r.order, to)
	} else {
		r.Left = append(r.Left, Left{old.File, old.Key, overridden})
	}
	r.targets[to] = &target{Taken{r.file, key, to, value, secret}, set}
}

// unset reports whether a value stands for none.
func unset(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case *schema.Map:
		return v.Len() == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// shown is a value for people.
func shown(v any) string {
	if s, ok := v.(string); ok {
		if u, err := url.Parse(s); err == nil && u.User != nil {
			u.User = nil
			return u.String()
		}
		return s
	}
	raw, err := schema.Encode(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// open returns the text of a secret, "" with the reason why it cannot be used.
func open(v any) (text, why string) {
	s, ok := v.(string)
	switch {
	case !ok:
		return "", unfit
	case !settings.UsableSecret(s) || strings.HasPrefix(s, "gAAAA"): // Fernet's first bytes
		return "", sealed
	}
	return strings.TrimSpace(s), ""
}

// fields takes the fields of an object that have the types of a form. to names the
// object, and by is how the change is made.
func (r reader) fields(prefix, to string, form *schema.Object, m *schema.Map, names []string, by func(c *change) *schema.Map) {
	defaults := form.Defaults()
	for _, name := range m.Keys() {
		v := m.Get(name)
		if unset(v) {
			continue
		}
		f := form.Field(name)
		if f == nil || !slices.Contains(names, name) {
			r.leave(prefix+name, noEffect)
			continue
		}
		checked, err := schema.Check(f.Type, v, schema.Reading{})
		if err != nil {
			r.leave(prefix+name, unfit)
			continue
		}
		if same(checked, defaults.Get(name)) {
			continue
		}
		r.take(prefix+name, strings.TrimSuffix(to+name, ": model"), shown(checked), false, func(c *change) { by(c).Set(name, checked) })
	}
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// llmSecrets are the fields of an LLM that are never shown.
var llmSecrets = []string{"api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}

// model takes an LLM over.
func (r reader) model(prefix string, m *schema.Map) {
	var plain []string
	for _, f := range spec.LLMSchema.All() {
		if spec.HasEffect(f.Name) && f.Name != "usage_id" && !slices.Contains(llmSecrets, f.Name) {
			plain = append(plain, f.Name)
		}
	}
	rest := m.Copy()
	for _, name := range []string{"usage_id", "service_id", "kind"} { // names of the call, not settings
		rest.Delete(name)
	}
	for _, name := range llmSecrets {
		v, _ := rest.Lookup(name)
		rest.Delete(name)
		if unset(v) {
			continue
		}
		text, why := open(v)
		if why != "" {
			r.leave(prefix+name, why)
			continue
		}
		r.take(prefix+name, "model: "+name, "", true, func(c *change) { c.model.Set(name, text) })
	}
	r.fields(prefix, "model: ", spec.LLMSchema, rest, plain, func(c *change) *schema.Map { return c.model })
}

// named takes an LLM over as a profile.
func (r reader) named(key, name string, m *schema.Map) {
	l, err := spec.CheckLLM(m, schema.Reading{})
	if err != nil || !spec.ProfileName.MatchString(name) {
		r.leave(key, unfit)
		return
	}
	if text := m.Text("api_key"); text != "" {
		if _, why := open(text); why != "" {
			r.leave(key, why)
			return
		}
	}
	r.take(key, "profile "+name, l.Model, m.Text("api_key") != "", func(c *change) { c.profiles = append(c.profiles, profile{name, m}) })
}

// serviceKey takes the key of a service over.
func (r reader) serviceKey(key string, name settings.ServiceKey, v any) {
	text, why := open(v)
	if why != "" {
		r.leave(key, why)
		return
	}
	r.take(key, string(name), "", true, func(c *change) { c.services[name] = llm.Secret(text) })
}

// preferences are the [settings.PreferenceFields] that have an effect.
var preferences = []string{"git_user_name", "git_user_email", "max_budget_per_task", "sandbox_grouping_strategy"}

// conversationFields are settings of conversations.
var conversationFields = []string{"max_iterations", "confirmation_mode", "security_analyzer"}

func (r reader) preference(key, name string, v any) {
	r.fields(strings.TrimSuffix(key, name), "", settings.PreferenceFields, schema.Of(name, v), preferences, func(c *change) *schema.Map { return c.preferences })
}

func (r reader) conversation(key, name string, v any) {
	if name == "security_analyzer" && (v == "invariant" || v == "grayswan") {
		r.leave(key, ofService)
		return
	}
	r.fields(strings.TrimSuffix(key, name), "", agentsettings.Conversation, schema.Of(name, v), conversationFields, func(c *change) *schema.Map { return c.conversation })
}

// configCondenser reads [condenser]. One that asks a model asks the agent's.
func (r reader) configCondenser(m *schema.Map) {
	kind, ok := spec.CondenserNamed(m.Text("type"))
	own := slices.ContainsFunc(m.Keys(), func(key string) bool { return key != "type" && key != "max_size" })
	if !ok || kind.Kind == spec.Summarizing && !own {
		for _, key := range m.Keys() {
			if key == "max_size" {
				r.condenser("condenser.max_size", key, m.Get(key))
			} else if key != "type" || !ok {
				r.leave("condenser."+key, noEffect)
			}
		}
		return
	}
	doc, left := formerCondenser(m, kind)
	for _, key := range left {
		r.leave("condenser."+key, noEffect)
	}
	checked, err := schema.Check(agentsettings.CondenserSettings, doc, schema.Reading{})
	if err != nil {
		r.leave("condenser.type", unfit+": "+err.Error())
		return
	}
	r.take("condenser.type", "condenser: kind", kind.Setting, false, func(c *change) { c.agent.Set("condenser", checked) })
}

// formerCondenser returns the settings of a condenser of the former generation, and the keys that
// they do not have.
func formerCondenser(m *schema.Map, kind spec.CondenserKind) (doc *schema.Map, left []string) {
	doc = schema.Of("condenser_kind", kind.Setting)
	form := agentsettings.CondenserSettings.Of[kind.Setting]
	for _, key := range m.Keys() {
		switch {
		case key == "type":
		case form.Field(key) == nil:
			left = append(left, key)
		case key == "condensers":
			list := []any{}
			for _, part := range objects(m.Get(key)) {
				inner, known := spec.CondenserNamed(part.Text("type"))
				if !known {
					left = append(left, "condensers."+part.Text("type"))
					continue
				}
				one, more := formerCondenser(part, inner)
				list, left = append(list, one), append(left, more...)
			}
			doc.Set(key, list)
		default:
			doc.Set(key, m.Get(key))
		}
	}
	return doc, left
}

// objects are the objects of a list, as inline tables or as tables, which are by their numbers.
func objects(v any) (all []*schema.Map) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			one, _ := e.(*schema.Map)
			all = append(all, one)
		}
	case *schema.Map:
		for _, key := range v.Keys() {
			all = append(all, v.Object(key))
		}
	}
	return all
}

// condenser takes the two settings of condensers over that both have.
func (r reader) condenser(key, name string, v any) {
	switch on, isBool := v.(bool); {
	case name == "enabled" && isBool && on: // the default
	case name == "enabled" && isBool:
		r.take(key, "condenser: off", "", false, func(c *change) { c.agent.Set("condenser", schema.Of("enabled", false)) })
	default:
		form := agentsettings.CondenserSettings.Of["llm_summarizing"]
		checked, err := schema.Check(form.Field("max_size").Type, v, schema.Reading{})
		if err != nil {
			r.leave(key, unfit)
			return
		}
		if same(checked, form.Defaults().Get("max_size")) {
			return
		}
		r.take(key, "condenser: size", shown(checked), false, func(c *change) {
			c.agent.Set("condenser", schema.Merge(schema.Of("condenser_kind", "llm_summarizing", "max_size", checked), c.agent.Object("condenser").Copy()))
		})
	}
}
