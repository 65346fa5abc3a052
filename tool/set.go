package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// maxDefaultSummary bounds the summary that is made from the arguments, in
// bytes, so that a large file is not stored twice in its own event.
const maxDefaultSummary = 2000

// Set is the ordered collection of tools that an agent offers. It is
// immutable and safe for concurrent use.
type Set struct {
	defs    []*Definition
	byName  map[string]*Definition
	schemas map[string]Schema // own fields only, raw ones parsed
}

// Parsed is a model's call after parsing.
type Parsed struct {
	Definition *Definition
	Action     event.Action
	// Risk is the model's rating; event.RiskUnknown when it gives none or no valid
	// one.
	Risk event.Risk
	// RiskText is the security_risk as the model wrote it, empty for none, so
	// that a caller with an analyzer can refuse a value that is not a risk.
	RiskText string
	// Summary is the model's own short description of the call, "" when it gave none.
	Summary string
	// Arguments are the ones that were decoded.
	Arguments json.RawMessage
}

// Describe returns the model's description, or "<tool>: <arguments>". mask hides secrets in
// the arguments while they are whole: a part of one that was cut would be found no more. Nil
// hides none.
func (p Parsed) Describe(mask func(arguments string) string) string {
	if p.Summary != "" {
		return p.Summary
	}
	arguments := string(p.Arguments)
	if mask != nil {
		arguments = mask(arguments)
	}
	return clip(p.Definition.Name+": "+arguments, maxDefaultSummary)
}

// NewSet returns the set of the definitions in their order. A name that is
// empty or taken, a missing Decode and a Raw schema that cannot be read give
// an error of kind fault.Invalid.
func NewSet(defs ...*Definition) (*Set, error) {
	s := &Set{defs: slices.Clone(defs), byName: make(map[string]*Definition), schemas: make(map[string]Schema)}
	for _, d := range defs {
		if d.Name == "" || d.Decode == nil {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("tool %q has no name or no decoder", d.Name))
		}
		if s.byName[d.Name] != nil {
			return nil, fault.New(fault.Invalid, "two tools are called "+d.Name)
		}
		own, err := d.fields()
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", d.Name, err)
		}
		s.byName[d.Name], s.schemas[d.Name] = d, own
	}
	return s, nil
}

// All returns the definitions in order. The caller must not change them.
func (s *Set) All() []*Definition { return slices.Clone(s.defs) }

// Get returns the definition called name, or nil. Aliases are not considered.
func (s *Set) Get(name string) *Definition { return s.byName[name] }

// Guidance returns the tools' additions to the system prompt in order, each
// block once.
func (s *Set) Guidance() []string {
	var blocks []string
	for _, d := range s.defs {
		if d.Guidance != "" && !slices.Contains(blocks, d.Guidance) {
			blocks = append(blocks, d.Guidance)
		}
	}
	return blocks
}

// Describe returns the tools as a SystemPromptEvent lists them, in order.
func (s *Set) Describe() event.List[event.ToolDefinition] {
	list := make(event.List[event.ToolDefinition], 0, len(s.defs))
	for _, d := range s.defs {
		list = append(list, Describe(d))
	}
	return list
}

// Describe returns a tool as a SystemPromptEvent lists it
// (docs/openhands/sdk-wire-1.58.md section A).
func Describe(d *Definition) event.ToolDefinition {
	annotations := d.Annotations
	t := event.ToolDefinition{
		Description:     d.Description,
		ActionType:      d.ActionKind,
		ObservationType: d.ObservationKind,
		Annotations:     &annotations,
		KindName:        d.Kind,
		Title:           d.Name,
	}
	if d.Describe != nil {
		d.Describe(&t)
	}
	return t
}

func (d *Definition) fields() (Schema, error) {
	if d.Parameters.Raw == nil {
		return d.Parameters, nil
	}
	return ParseSchema(d.Parameters.Raw)
}

// Parse turns a model's call into an action. It accepts common mistakes of models
// that have only one sensible reading: other products' tool names, text in place
// of numbers or lists, unescaped line breaks, null for a missing argument,
// misspelled security_risk (docs/openhands/sdk-features.md section 2). Anything
// else is an error of kind fault.Invalid whose message is for the model: it names
// the mistake and the allowed values. Nothing is run.
func (s *Set) Parse(name, rawArguments string) (Parsed, error) {
	args, err := parseArguments(rawArguments)
	if err != nil {
		return Parsed{}, err
	}
	args.dropNulls()
	d, err := s.resolve(name, args)
	if err != nil {
		return Parsed{}, err
	}
	own := s.schemas[d.Name]
	p := Parsed{Definition: d}
	p.Risk, p.RiskText = popRisk(args, own)
	p.Summary = popSummary(args, own)
	if d.Repair != nil {
		d.Repair(args)
	}
	if err := args.conform(d.Name, own); err != nil {
		return Parsed{}, err
	}
	p.Arguments = args.JSON()
	if p.Action, err = d.Decode(p.Arguments); err != nil {
		if fault.Is(err, fault.Invalid) {
			return Parsed{}, err
		}
		return Parsed{}, fault.Wrap(err, fault.Invalid, "arguments of "+d.Name)
	}
	return p, nil
}

// clip shortens s to at most limit bytes without splitting a rune.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
