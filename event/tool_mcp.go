package event

import "encoding/json"

// MCPToolAction is the input of any tool of an MCP server. Data is the object
// of arguments, which the server's schema describes; empty when absent.
type MCPToolAction struct {
	ActionBase
	Data json.RawMessage `json:"data"`
}

// Kind implements [Action].
func (*MCPToolAction) Kind() string { return "MCPToolAction" }

// MCPToolObservation is the result of any tool of an MCP server.
type MCPToolObservation struct {
	ObservationBase
	ToolName string `json:"tool_name"`
}

// Kind implements [Observation].
func (*MCPToolObservation) Kind() string { return "MCPToolObservation" }

// ClientToolObservation acknowledges a call of a tool that a client runs.
type ClientToolObservation struct {
	ObservationBase
}

// Kind implements [Observation].
func (*ClientToolObservation) Kind() string { return "ClientToolObservation" }

// SetDefaults implements [Defaulter].
func (a *MCPToolAction) SetDefaults() { a.Data = json.RawMessage("{}") }

func init() {
	registerAction[MCPToolAction]()
	registerObservation[MCPToolObservation]()
	registerObservation[ClientToolObservation]()
}
