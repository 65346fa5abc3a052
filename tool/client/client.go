// Package client makes tools that a client defines and runs itself: the agent
// calls one like any other, the client sees the ActionEvent and runs it.
//
// # Usage
//
//	specs, err := client.ParseSpecs(raw) // client_tools of a new conversation
//	err = client.Check(specs, names)     // names are taken by other tools
//	for _, s := range specs {
//		defs = append(defs, s.Definition())
//		tools[s.ActionKind()] = client.New()
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. An invalid definition is an error of
// kind fault.Invalid.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/tool"
)

// Limits on a client's definitions.
const (
	MaxTools      = 128
	maxParameters = 64 << 10 // bytes of one schema
)

// Spec is a tool as a client defines it (docs/openhands/sdk-wire.md section 8).
type Spec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON schema of an object; nil for a tool without any.
	Parameters json.RawMessage `json:"parameters"`
	// Annotations are nil if the client gives none: the tool is then assumed
	// to be able to do harm.
	Annotations *event.Annotations `json:"annotations"`
}

var (
	noParameters = json.RawMessage(`{"type":"object","properties":{}}`)
	validName    = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
)

// UnmarshalJSON reads a spec and checks it. Unknown fields are ignored.
func (s *Spec) UnmarshalJSON(b []byte) error {
	var given struct {
		Name        *string         `json:"name"`
		Description *string         `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(b, &given); err != nil {
		return fault.Wrap(err, fault.Invalid, "client tool")
	}
	if given.Name == nil || given.Description == nil {
		return fault.New(fault.Invalid, "a client tool needs name and description")
	}
	*s = Spec{Name: *given.Name, Description: *given.Description, Parameters: noParameters}
	if !validName().MatchString(s.Name) {
		return fault.New(fault.Invalid, fmt.Sprintf("client tool name %q: letters, digits, _ and - are allowed, 64 at most", s.Name))
	}
	if given.Parameters != nil {
		s.Parameters = slices.Clone(given.Parameters)
	}
	if given.Annotations != nil && string(given.Annotations) != "null" {
		s.Annotations = &event.Annotations{}
		s.Annotations.SetDefaults()
		if err := json.Unmarshal(given.Annotations, s.Annotations); err != nil {
			return fault.Wrap(err, fault.Invalid, "annotations of client tool "+s.Name)
		}
	}
	return s.checkParameters()
}

func (s *Spec) checkParameters() error {
	if len(s.Parameters) > maxParameters {
		return fault.New(fault.Invalid, fmt.Sprintf("the parameters of client tool %s have %d bytes; at most %d are allowed", s.Name, len(s.Parameters), maxParameters))
	}
	var schema struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(s.Parameters, &schema); err != nil || string(schema.Type) != `"object"` {
		got := "None"
		if schema.Type != nil {
			got = string(schema.Type)
		}
		return fault.New(fault.Invalid, "ClientToolSpec.parameters must be an object JSON Schema (got type="+got+`), for example {"type": "object", "properties": {}}`)
	}
	if _, err := tool.ParseSchema(s.Parameters); err != nil {
		return fmt.Errorf("parameters of client tool %s: %w", s.Name, err)
	}
	return nil
}

// ParseSpecs reads a list of specs. Empty input and null give none.
func ParseSpecs(raw json.RawMessage) ([]Spec, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	var specs []Spec
	if err := json.Unmarshal(raw, &specs); err != nil {
		if fault.Is(err, fault.Invalid) {
			return nil, err
		}
		return nil, fault.Wrap(err, fault.Invalid, "client_tools")
	}
	if len(specs) > MaxTools {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%d client tools; at most %d are allowed", len(specs), MaxTools))
	}
	return specs, nil
}

// Check returns an error if two tools have the same name, or if one has the name
// of another tool of the agent, listed in taken.
func Check(specs []Spec, taken []string) error {
	seen := map[string]bool{}
	for _, s := range specs {
		if seen[s.Name] {
			return fault.New(fault.Invalid, fmt.Sprintf("Duplicate client tool name '%s' in one registration request. Client tool names must be unique.", s.Name))
		}
		seen[s.Name] = true
		if slices.Contains(taken, s.Name) {
			return fault.New(fault.Invalid, fmt.Sprintf("Client tool name '%s' collides with an existing non-client tool. Choose a unique client tool name.", s.Name))
		}
	}
	return nil
}

// ActionKind is the kind of the tool's actions.
func (s Spec) ActionKind() string { return "ClientAction_" + s.Name }

// Definition describes the tool. Calls of one tool are sent in their order.
func (s Spec) Definition() *tool.Definition {
	annotations := event.Annotations{Destructive: true, OpenWorld: true}
	if s.Annotations != nil {
		annotations = *s.Annotations
	}
	kind, lock := s.ActionKind(), "tool:"+s.Name
	return &tool.Definition{
		Name: s.Name, Kind: "ClientTool", Description: s.Description,
		Parameters: tool.Schema{Raw: s.Parameters}, Annotations: annotations,
		ActionKind: kind, ObservationKind: "ClientToolObservation",
		Local: true,
		Locks: func(event.Action) []string { return []string{lock} },
		Describe: func(t *event.ToolDefinition) {
			t.ClientToolName, t.InputSchema, t.Annotations = s.Name, s.Parameters, s.Annotations
		},
		Decode: tool.DecodeUnknown(kind),
	}
}

// New returns the executor of client tools. It only acknowledges the call.
func New() tool.Executor { return executor{} }

type executor struct{}

// Execute implements [tool.Executor].
func (executor) Execute(context.Context, tool.Call) (event.Observation, error) {
	// The text is fixed by the wire contract (docs/openhands/sdk-wire.md
	// section 8).
	return &event.ClientToolObservation{ObservationBase: event.ObservationBase{
		Content: event.Texts("Tool call dispatched to client."),
	}}, nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }
