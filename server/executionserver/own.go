package executionserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// ofEvery are arguments that actions of the reference's first generation have beside
// their own.
var ofEvery = []string{"thought", "confirmation_state", "security_risk", "hidden", "blocking"}

// parseOwn makes the action of an executor's own tool from the arguments.
func parseOwn(own *tool.Set, d *tool.Definition, raw json.RawMessage) (event.Action, error) {
	args := map[string]json.RawMessage{}
	if raw != nil {
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "arguments of "+d.Name)
		}
	}
	schema := d.Parameters
	if schema.Raw != nil {
		parsed, err := tool.ParseSchema(schema.Raw)
		if err != nil {
			return nil, err
		}
		schema = parsed
	}
	for _, name := range ofEvery {
		if !slices.ContainsFunc(schema.Properties, func(p tool.Property) bool { return p.Name == name }) {
			delete(args, name)
		}
	}
	kept, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	parsed, err := own.Parse(d.Name, string(kept))
	return parsed.Action, err
}

// runOwn runs an action of an executor's own tool: its observation has the name of the
// tool, its text as the content, and its further fields as the extras.
func (s *Server) runOwn(ctx context.Context, a action) (observation, error) {
	x := s.o.Tools[a.own.Kind()]
	if x == nil {
		return observation{}, fault.New(fault.Unsupported, "this server has no executor for "+a.name)
	}
	if a.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		ctx = limited
	}
	got, err := x.Execute(ctx, tool.Call{ID: event.NewID(), Action: a.own, Tool: a.name, Progress: func(tool.Chunk) {}})
	if err != nil {
		return observation{}, err
	}
	raw, err := event.MarshalObservation(got)
	if err != nil {
		return observation{}, err
	}
	extras := map[string]any{}
	if err := json.Unmarshal(raw, &extras); err != nil {
		return observation{}, err
	}
	for _, name := range []string{"kind", "content", "is_error"} {
		delete(extras, name)
	}
	text, success := shorten(event.JoinText(got.Result().Content)), !got.Result().IsError
	message := "The action " + a.name + " was carried out."
	if !success {
		message = "The action " + a.name + " failed."
	}
	return observation{Message: message, Name: a.name, Content: text, Extras: extras, Success: &success}, nil
}

// checkOwn returns an error if a tool has the name of an action of the contract.
func checkOwn(own *tool.Set) error {
	var taken []string
	for _, d := range own.All() {
		if _, ok := known[d.Name]; ok {
			taken = append(taken, d.Name)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "an executor's tools have the names of actions of OpenHands: "+strings.Join(taken, ", ")).
		Hint("give the tools other names")
}
