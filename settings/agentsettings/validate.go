package agentsettings

import s "github.com/deft-dev/deft/schema"

// Validate returns agent settings in their normal form, with their secrets
// opened.
func Validate(v any, how s.Reading) (*s.Map, error) {
	out, err := s.Check(Settings, v, how)
	m, _ := out.(*s.Map)
	return m, err
}

// Dump returns agent settings as they may leave the process.
func Dump(m *s.Map, how s.Writing) (*s.Map, error) {
	out, err := s.Dump(Settings, m, how)
	m, _ = out.(*s.Map)
	return m, err
}

// Apply returns settings changed by a JSON merge patch. Another kind of agent
// starts from the defaults of that kind, because the fields of the two have
// nothing to do with one another. So does another kind of condenser: a window of
// 100 results is no window of 100 web pages.
func Apply(base, diff *s.Map, how s.Reading) (*s.Map, error) {
	if diff.Len() == 0 {
		return base, nil
	}
	kind := diff.Text("agent_kind")
	if kind != "" && kind != base.Text("agent_kind") {
		return Validate(s.Merge(s.Of("agent_kind", kind), diff), how)
	}
	plain, err := Dump(base, s.Writing{Mode: s.Plain})
	if err != nil {
		return nil, err
	}
	if had, kind := plain.Object("condenser"), diff.Object("condenser").Text("condenser_kind"); had != nil && kind != "" && kind != had.Text("condenser_kind") {
		plain.Set("condenser", s.Of("enabled", had.Get("enabled")))
	}
	return Validate(s.Merge(plain, diff), how)
}
