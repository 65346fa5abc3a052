package bash

import (
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Request asks for a command.
type Request struct {
	// Command is given to `sh -c`.
	Command string `json:"command"`
	// Cwd is the directory to run in; empty takes the service's.
	Cwd string `json:"cwd,omitempty"`
	// Timeout is in seconds. Zero or less ends the command at once, as the
	// reference does.
	Timeout int `json:"timeout"`
}

// RequestSchema describes the JSON of a [Request].
var RequestSchema = spec.Reference("ExecuteBashRequest", schema.Object{})

// ParseRequest reads a request from JSON. Errors are [schema.Violations].
func ParseRequest(raw []byte) (req Request, err error) {
	doc, err := schema.Parse(raw)
	if err != nil {
		return req, schema.Invalid(err.Error(), nil, "body")
	}
	m, err := RequestSchema.Check(doc, schema.Reading{}, "body")
	if err != nil {
		return req, err
	}
	return req, schema.Into(m, &req)
}
