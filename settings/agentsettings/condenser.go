package agentsettings

import (
	"slices"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// CondenserSettings describes the condenser of the agent's history. The reference knows the first
// two kinds.
var CondenserSettings = func() s.Tagged {
	t := s.Tagged{Key: "condenser_kind", Default: "llm_summarizing", Order: condenserKinds(), Of: map[string]*s.Object{}}
	for _, k := range spec.CondenserKinds {
		switch k.Kind {
		case spec.Summarizing:
			t.Of[k.Setting] = summarizing
		case spec.NoOp:
			t.Of[k.Setting] = spec.Reference("NoOpCondenserSettings", s.Object{})
		case spec.Pipeline:
			t.Of[k.Setting] = pipeline(k, t)
		default:
			t.Of[k.Setting] = k.Settings()
		}
	}
	return t
}()

// pipeline has the settings of several condensers. all are the kinds, of which it is one: its map
// gets the ones that follow. A part has no usual kind: one that is written as in an agent, with
// kind, would be another condenser in silence.
func pipeline(k spec.CondenserKind, all s.Tagged) *s.Object {
	o := k.Settings()
	all.Default = ""
	o.Fields = append(o.Fields, s.Field{Name: "condensers", Type: s.List{Of: all}, Required: true})
	return o
}

// The pages offer all kinds of condensers.
var summarizing = spec.Reference("LLMSummarizingCondenserSettings", s.Object{}, s.Field{Name: "condenser_kind", Type: s.Enum(condenserKinds())})

func condenserKinds() (names []string) {
	for _, k := range spec.CondenserKinds {
		names = append(names, k.Setting)
	}
	return names
}

// condenserPage has the fields of all kinds but the pipeline, which a page cannot show.
func condenserPage() *s.Object {
	o := &s.Object{Fields: slices.Clone(summarizing.All())}
	for _, k := range spec.CondenserKinds {
		for _, f := range k.Settings().Fields {
			if o.Field(f.Name) == nil {
				f.Page = &s.Page{DependsOn: []string{"condenser_kind=" + k.Setting}}
				o.Fields = append(o.Fields, f)
			}
		}
	}
	return o
}

// Condenser returns the condenser of an agent with an LLM that settings describe, nil for none. A
// condenser that asks a model asks that LLM. Without settings it is the usual one.
func Condenser(settings, llm *s.Map) any {
	if settings == nil {
		settings = summarizing.Defaults()
	}
	if c := condenser(settings); c != nil {
		return spec.CondenserWith(c, llm)
	}
	return nil
}

func condenser(m *s.Map) *s.Map {
	k, ok := spec.CondenserNamed(m.Text("condenser_kind"))
	if m.Get("enabled") != true || !ok {
		return nil
	}
	out := s.Of("kind", k.Kind)
	for _, name := range m.Keys() {
		if v := m.Get(name); name != "enabled" && name != "condenser_kind" && name != "condensers" && v != nil {
			out.Set(name, v)
		}
	}
	if list, ok := m.Get("condensers").([]any); ok {
		parts := []any{}
		for _, e := range list {
			part, _ := e.(*s.Map)
			if c := condenser(part); c != nil {
				parts = append(parts, c)
			}
		}
		out.Set("condensers", parts)
	}
	return out
}
