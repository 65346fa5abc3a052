package spec

import (
	"errors"
	"slices"

	s "github.com/deft-dev/deft/schema"
)

// Condenser shortens an agent's history. Kind is one of [CondenserKinds]; it decides
// about the other fields.
type Condenser struct {
	Kind                           string       `json:"kind"`
	LLM                            *LLM         `json:"-"`
	MaxSize                        int          `json:"max_size"`
	MaxTokens                      *int         `json:"max_tokens"`
	KeepFirst                      int          `json:"keep_first"`
	MinimumProgress                float64      `json:"minimum_progress"`
	HardContextResetMaxRetries     int          `json:"hard_context_reset_max_retries"`
	HardContextResetContextScaling float64      `json:"hard_context_reset_context_scaling"`
	MaxEvents                      int          `json:"max_events"`
	MaxEventLength                 int          `json:"max_event_length"`
	AttentionWindow                int          `json:"attention_window"`
	Condensers                     []*Condenser `json:"-"`
}

// CondenserKind is a kind of condenser. The former generation of OpenHands has the names of
// those that its present one lacks (docs/condensers.md).
type CondenserKind struct {
	Kind    string // in an agent
	Setting string // condenser_kind in settings
	Former  string // type in the former generation's config.toml
	Asks    bool   // it asks a model

	own  []s.Field // of a kind that the contract does not have, beside its kind and LLM
	room func(m *s.Map) error
}

// CondenserKinds are the kinds of condensers.
var CondenserKinds = []CondenserKind{
	{Kind: Summarizing, Setting: "llm_summarizing", Former: "llm", Asks: true},
	{Kind: NoOp, Setting: "no_op", Former: "noop"},
	{Kind: Pipeline, Setting: "pipeline", Former: "pipeline"},
	{Kind: RecentEvents, Setting: "recent", Former: "recent", own: []s.Field{keepFirst, count("max_events", 100, 2)}, room: below("max_events", 1)},
	{Kind: Amortized, Setting: "amortized", Former: "amortized", own: []s.Field{keepFirst, formerSize}, room: below("max_size", 2)},
	{Kind: Window, Setting: "conversation_window", Former: "conversation_window"},
	{Kind: MaskObservations, Setting: "observation_masking", Former: "observation_masking", own: []s.Field{count("attention_window", 100, 1)}},
	{Kind: MaskBrowser, Setting: "browser_output_masking", Former: "browser_output_masking", own: []s.Field{count("attention_window", 1, 1)}},
	{Kind: Attention, Setting: "llm_attention", Former: "llm_attention", Asks: true, own: []s.Field{keepFirst, formerSize}, room: below("max_size", 2)},
	{
		Kind: StructuredSummary, Setting: "structured", Former: "structured", Asks: true,
		own: []s.Field{keepFirst, formerSize, count("max_event_length", 10_000, 100)}, room: below("max_size", 2),
	},
}

// The kinds of condensers, as an agent has them.
const (
	Summarizing       = "LLMSummarizingCondenser"
	NoOp              = "NoOpCondenser"
	Pipeline          = "PipelineCondenser"
	RecentEvents      = "RecentEventsCondenser"
	Amortized         = "AmortizedForgettingCondenser"
	Window            = "ConversationWindowCondenser"
	MaskObservations  = "ObservationMaskingCondenser"
	MaskBrowser       = "BrowserOutputCondenser"
	Attention         = "LLMAttentionCondenser"
	StructuredSummary = "StructuredSummaryCondenser"
)

var (
	keepFirst  = count("keep_first", 1, 0)
	formerSize = count("max_size", 100, 2)
)

// count is a number with a default and a least value.
func count(name string, usual int, least float64) s.Field {
	return s.Field{Name: name, Type: s.Int{Bounds: s.Bounds{GE: &least}}, Default: s.Count(usual)}
}

// below wants keep_first below a part of the size, so that something can be left out.
func below(size string, part int) func(*s.Map) error {
	return func(m *s.Map) error {
		most, err1 := whole(m.Get(size))
		first, err2 := whole(m.Get("keep_first"))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if first+1 >= max(most/part, 2) {
			return errors.New("keep_first must be less than " + size + map[int]string{2: " // 2"}[part] + " - 1")
		}
		return nil
	}
}

// Condensers describes the condenser of an agent.
var Condensers = Define("CondenserBase", condensers())

// The condenser that asks a model for summaries.
var summarizing = Reference(Summarizing, s.Object{After: checkCondenser}, s.Field{Name: "llm", Type: ExtendedLLM})

func condensers() s.Tagged {
	t := s.Tagged{Key: "kind", Of: map[string]*s.Object{}}
	for _, k := range CondenserKinds {
		t.Order = append(t.Order, k.Kind)
		switch {
		case k.Kind == Summarizing:
			t.Of[k.Kind] = summarizing
		case k.Kind == NoOp || k.Kind == Pipeline:
			t.Of[k.Kind] = Reference(k.Kind, s.Object{})
		default:
			t.Of[k.Kind] = k.object()
		}
	}
	return t
}

// object describes a condenser of a kind that the contract does not have.
func (k CondenserKind) object() *s.Object {
	o := &s.Object{Name: k.Kind}
	if k.Asks {
		o.Fields = append(o.Fields, s.Field{Name: "llm", Type: ExtendedLLM, Required: true})
	}
	o.Fields = slices.Concat(o.Fields, k.own, []s.Field{{Name: "kind", Type: s.Enum{k.Kind}}})
	o.After = func(m *s.Map) error {
		quiet(m)
		if k.room != nil {
			return k.room(m)
		}
		return nil
	}
	return o
}

// Settings describes settings of a condenser of a kind that the contract does not have.
func (k CondenserKind) Settings() *s.Object {
	kind := s.Field{Name: "condenser_kind", Type: s.Enum{k.Setting}, Default: k.Setting}
	on := s.Field{Name: "enabled", Type: s.Bool{}, Default: true}
	return &s.Object{Name: k.Kind + "Settings", Fields: slices.Concat([]s.Field{kind, on}, k.own), After: k.room}
}

// CondenserNamed returns the kind of which one of the names is name.
func CondenserNamed(name string) (CondenserKind, bool) {
	i := slices.IndexFunc(CondenserKinds, func(k CondenserKind) bool {
		return name != "" && (k.Kind == name || k.Setting == name || k.Former == name)
	})
	if i < 0 {
		return CondenserKind{}, false
	}
	return CondenserKinds[i], true
}

// checkCondenser leaves room for events to condense.
func checkCondenser(m *s.Map) error {
	size, err1 := whole(m.Get("max_size"))
	first, err2 := whole(m.Get("keep_first"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if size/2-first-1 <= 0 {
		return errors.New("keep_first must be less than max_size // 2 to leave room for condensation")
	}
	quiet(m)
	return nil
}

// quiet does not stream the answers of a condenser's model: nobody is shown them.
func quiet(m *s.Map) {
	if l := m.Object("llm"); l.Get("stream") == true && l.Get("is_subscription") != true {
		l.Set("stream", false)
	}
}

func condenserFrom(doc *s.Map) (*Condenser, error) {
	if doc == nil {
		return nil, nil
	}
	c := &Condenser{}
	err := s.Into(doc, c)
	if l := doc.Object("llm"); l != nil && err == nil {
		c.LLM, err = LLMFrom(l)
	}
	list, _ := doc.Get("condensers").([]any)
	for _, e := range list {
		inner, _ := e.(*s.Map)
		one, ierr := condenserFrom(inner)
		c.Condensers, err = append(c.Condensers, one), errors.Join(err, ierr)
	}
	return c, err
}

// Asking returns the condensers that ask a model, among c and its parts, in their order. c may be
// nil.
func (c *Condenser) Asking() []*Condenser {
	if c == nil {
		return nil
	}
	var out []*Condenser
	if k, ok := CondenserNamed(c.Kind); ok && k.Asks {
		out = append(out, c)
	}
	for _, inner := range c.Condensers {
		out = append(out, inner.Asking()...)
	}
	return out
}

// CondenserWith returns a condenser whose parts that ask a model have this one.
func CondenserWith(c, llm *s.Map) *s.Map {
	out := c.Copy()
	if k, ok := CondenserNamed(c.Text("kind")); ok && k.Asks && llm != nil {
		own := llm.Copy()
		own.Set("usage_id", condenserUsage)
		out.Set("llm", own)
	}
	list, ok := c.Get("condensers").([]any)
	if !ok {
		return out
	}
	parts := slices.Clone(list)
	for i, e := range parts {
		if part, ok := e.(*s.Map); ok {
			parts[i] = CondenserWith(part, llm)
		}
	}
	out.Set("condensers", parts)
	return out
}

// NamesModel reports whether a condenser, or a part of it, has an LLM of its own.
func NamesModel(c *s.Map) bool {
	if c.Object("llm") != nil {
		return true
	}
	list, _ := c.Get("condensers").([]any)
	return slices.ContainsFunc(list, func(e any) bool {
		part, ok := e.(*s.Map)
		return ok && NamesModel(part)
	})
}

// condenserUsage is the usage_id of a condenser's LLM.
const condenserUsage = "condenser"
