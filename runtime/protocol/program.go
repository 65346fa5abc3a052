package protocol

import (
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Upgrade is the protocol of a connection to a program's input and output.
const Upgrade = "deft-program"

// ProgramEnd describes the end of a program.
type ProgramEnd struct {
	Stderr string `json:"stderr"` // the end of its standard error
}

// program is the wire form of a [tool.Program]. It is not exported, so that
// nothing else encodes the values of its environment.
type program struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// EncodeProgram returns the body of a request for a program. It holds the values
// of the environment as they are: send it, and do not show it. A program with a
// network of its own is fault.Unsupported: an action server cannot give it one.
func EncodeProgram(p tool.Program) ([]byte, error) {
	if len(p.Network) > 0 {
		return nil, fault.New(fault.Unsupported, "programs of one sandbox cannot have different networks")
	}
	raw, err := json.Marshal(program{Command: p.Command, Args: p.Args, Dir: p.Dir, Env: p.Env})
	return raw, fault.Wrap(err, fault.Invalid, "the program has no JSON")
}

// DecodeProgram reads the body of a request for a program. The error is of kind
// fault.Invalid.
func DecodeProgram(raw []byte) (tool.Program, error) {
	var body program
	if err := json.Unmarshal(raw, &body); err != nil {
		return tool.Program{}, fault.Wrap(err, fault.Invalid, "the request is not the JSON it should be")
	}
	if body.Command == "" {
		return tool.Program{}, fault.New(fault.Invalid, "the request names no command")
	}
	return tool.Program{Command: body.Command, Args: body.Args, Dir: body.Dir, Env: body.Env}, nil
}
