package tool

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// WithResponse returns a tool whose calls carry, besides its own arguments, an
// answer in the form of a JSON schema of an object
// (docs/openhands/sdk-features.md section 2, "structured finish output"). The
// answer is checked like any argument and stays in the call that the event
// holds; the action does not get it. A schema without properties, or with one
// that the tool has or that every tool gets, gives an error of kind
// fault.Invalid.
func WithResponse(d *Definition, schema json.RawMessage) (*Definition, error) {
	answer, err := ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	own, err := d.fields()
	if err != nil {
		return nil, err
	}
	if len(answer.Properties) == 0 {
		return nil, fault.New(fault.Invalid, "the response schema of "+d.Name+" has no properties")
	}
	for _, p := range answer.Properties {
		if _, taken := own.find(p.Name); taken || p.Name == argRisk || p.Name == argSummary || p.Name == "kind" {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("the response schema of %s has a property %q, which the tool has itself", d.Name, p.Name))
		}
	}
	out, decode := *d, d.Decode
	out.Parameters = Schema{Properties: slices.Concat(own.Properties, answer.Properties), open: own.open}
	out.Decode = func(args json.RawMessage) (event.Action, error) {
		fields, err := object(args)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "arguments")
		}
		for _, p := range answer.Properties {
			delete(fields, p.Name)
		}
		rest, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		return decode(rest)
	}
	return &out, nil
}
