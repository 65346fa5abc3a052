package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Limits on the description of an [External] tool, in bytes.
const (
	maxExternalDescription = 8 << 10
	maxExternalSchema      = 64 << 10
)

var (
	externalName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	externalKind = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
)

// External is a tool that an executor outside of this program brings: its
// definition as data, which an Action Execution Server passes on to the
// controller.
type External struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON schema of an object; nil for a tool without any.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Annotations are nil if there are none: the tool is then assumed to be able to
	// do harm. The claim to be read-only is dropped, as an MCP server's is.
	Annotations *event.Annotations `json:"annotations,omitempty"`
	// ActionKind and ObservationKind default to the name in camel case with Action
	// or Observation behind it: open_ticket gives OpenTicketAction.
	ActionKind      string `json:"action,omitempty"`
	ObservationKind string `json:"observation,omitempty"`
}

// Offering is implemented by an [Executor] that brings tools of its own.
type Offering interface {
	// Tools returns the tools; the same for as long as the executor lives.
	Tools() []External
}

// OfferedBy returns the tools that executors bring, by name.
func OfferedBy(executors map[string]Executor) []External {
	byName := map[string]External{}
	for _, x := range executors {
		if o, ok := x.(Offering); ok {
			for _, t := range o.Tools() {
				byName[t.Name] = t // the same executor may have several kinds of actions
			}
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b External) int { return strings.Compare(a.Name, b.Name) })
}

// Complete checks the tool and fills in missing fields. The error is of kind
// fault.Invalid.
func (e *External) Complete() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, fmt.Sprintf("tool %.64q: ", e.Name)+fmt.Sprintf(format, args...))
	}
	if !externalName().MatchString(e.Name) {
		return bad("a name begins with a letter and has letters, digits, _ and -, 64 at most")
	}
	if strings.TrimSpace(e.Description) == "" {
		return bad("it has no description")
	}
	if len(e.Description) > maxExternalDescription || len(e.Parameters) > maxExternalSchema {
		return bad("a description has at most %d bytes, a schema %d", maxExternalDescription, maxExternalSchema)
	}
	if e.Parameters == nil {
		e.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	parsed, err := ParseSchema(e.Parameters)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "parameters of tool "+e.Name)
	}
	if _, taken := parsed.find("kind"); taken {
		return bad(`a parameter cannot be called "kind"`)
	}
	if hidesText(e.Description) || schemaHidesText(e.Parameters) {
		return bad("its description or schema has characters that cannot be seen")
	}
	camel := camelCase(e.Name)
	e.ActionKind = cmp.Or(e.ActionKind, camel+"Action")
	e.ObservationKind = cmp.Or(e.ObservationKind, camel+"Observation")
	if !externalKind().MatchString(e.ActionKind) || !externalKind().MatchString(e.ObservationKind) {
		return bad("the kinds %.80q and %.80q have other characters than letters, digits and _", e.ActionKind, e.ObservationKind)
	}
	if action, err := event.UnmarshalAction([]byte(`{"kind":"` + e.ActionKind + `"}`)); err == nil {
		if _, unknown := action.(*event.UnknownAction); unknown {
			return nil
		}
	}
	return bad("the kind %s belongs to an action of Deft", e.ActionKind)
}

// Definition describes the tool to a model. Calls of one tool run in their order.
// The tool was completed, see [External.Complete].
func (e External) Definition() *Definition {
	annotations := event.Annotations{Destructive: true, OpenWorld: true}
	if e.Annotations != nil {
		annotations = *e.Annotations
		annotations.ReadOnly = false // a call would need neither a rating nor a confirmation
	}
	lock := "tool:" + e.Name
	return &Definition{
		Name: e.Name, Kind: camelCase(e.Name) + "Tool", Description: e.Description,
		Parameters: Schema{Raw: e.Parameters}, Annotations: annotations,
		ActionKind: e.ActionKind, ObservationKind: e.ObservationKind,
		Locks:  func(event.Action) []string { return []string{lock} },
		Decode: DecodeUnknown(e.ActionKind),
	}
}

// DecodeUnknown makes a [Definition.Decode] of a kind of action that this program
// has no type for: the arguments with the kind, which comes last as in every action.
// An argument called kind cannot be distinguished from it and is refused.
func DecodeUnknown(kind string) func(args json.RawMessage) (event.Action, error) {
	return func(args json.RawMessage) (event.Action, error) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(args, &fields); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "arguments")
		}
		if _, taken := fields["kind"]; taken {
			return nil, fault.New(fault.Invalid, `an argument cannot be called "kind"`)
		}
		name, err := json.Marshal(kind)
		if err != nil {
			return nil, err
		}
		args = bytes.TrimSpace(args)
		raw := bytes.Clone(args[:len(args)-1])
		if len(fields) > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, `"kind":`...), name...), '}')
		return &event.UnknownAction{KindName: kind, Raw: raw}, nil
	}
}

func camelCase(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// hidesText reports characters that control a terminal, are invisible or change the
// direction of text.
func hidesText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co))
	})
}

func schemaHidesText(raw json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.Token()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		if s, ok := token.(string); ok && hidesText(s) {
			return true
		}
	}
}
