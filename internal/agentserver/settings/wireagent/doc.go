// Package wireagent is the agent of the wire: the JSON object that says of
// which model, tools, MCP servers, context and condenser an agent is made
// (sdk-wire.md section 5.4, sdk-wire-1.58.md section B.7), with its parts,
// which settings and profiles are made of as well.
//
// # Usage
//
//	a, err := wireagent.Decode(raw, shape.Reading{Keys: ring}, "body", "agent")
//	out, err := a.JSON(shape.Writing{Mode: shape.Nulled}) // for REST
//	out, err = a.JSON(shape.Writing{Mode: shape.Masked})  // for sockets
//	out, err = a.JSON(shape.Writing{Mode: shape.Sealed, Keys: ring})
//
// # Concurrency
//
// Agents are values of their owner; nothing here changes them.
//
// # Failure
//
// Decode returns rest.Violations in the reference's words, or shape.ErrSealed.
package wireagent
