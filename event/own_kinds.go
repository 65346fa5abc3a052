package event

import (
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event/internal/wire"
	"github.com/deft-dev/deft/fault"
)

// WithoutOwnKinds returns an event in kinds that every client of OpenHands can read. Their
// list is closed: such a client fails at the kinds that tools have registered with
// [RegisterAction] and [RegisterObservation]. They become what the tools of MCP servers have:
//
//   - an action is an [MCPToolAction], whose data are its members;
//   - an observation is an [MCPToolObservation] with its content and no other members;
//   - a tool in a [SystemPromptEvent] is an MCPToolDefinition.
//
// Events with other kinds are returned as they are. The error is of kind fault.Invalid.
func WithoutOwnKinds(raw json.RawMessage) (json.RawMessage, error) {
	if !actions.mayHaveOwn(raw) && !observations.mayHaveOwn(raw) {
		return raw, nil
	}
	ev, err := Unmarshal(raw)
	if err != nil {
		return nil, err
	}
	var changed bool
	switch e := ev.(type) {
	case *ActionEvent:
		if changed = e.Action != nil && actions.owns(e.Action.Kind()); changed {
			e.Action, err = asMCPAction(e.Action)
		}
	case *ObservationEvent:
		if changed = observations.owns(e.Observation.Kind()); changed {
			e.Observation = &MCPToolObservation{ObservationBase: *e.Observation.Result(), ToolName: e.ToolName}
		}
	case *SystemPromptEvent:
		for i := range e.Tools {
			if t := &e.Tools[i]; actions.owns(t.ActionType) || observations.owns(t.ObservationType) {
				changed = true
				if err = t.becomeMCP(); err != nil {
					break
				}
			}
		}
	}
	if err != nil || !changed { // a text has the name of a kind
		return raw, err
	}
	return Marshal(ev)
}

func asMCPAction(a Action) (Action, error) {
	raw, err := MarshalAction(a)
	if err != nil {
		return nil, err
	}
	members, err := wire.Members(raw, nil)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an action")
	}
	data := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if name := string(m.Name); name != "kind" {
			data[name] = m.Value
		}
	}
	raw, err = json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", a.Kind(), err)
	}
	return &MCPToolAction{Data: raw}, nil
}

// becomeMCP changes the description of a tool. The parameters of such tools are not in the event.
func (d *ToolDefinition) becomeMCP() (err error) {
	d.MCPTool, err = json.Marshal(map[string]any{"name": d.Title, "description": d.Description, "inputSchema": map[string]string{"type": "object"}})
	d.KindName, d.ActionType, d.ObservationType = "MCPToolDefinition", (&MCPToolAction{}).Kind(), (&MCPToolObservation{}).Kind()
	return err
}
