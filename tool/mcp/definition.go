package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// reserved are names that no server's tool may have: models' usual names for the shell and
// the editor, and the names of the tools that agents have unless they choose.
var reserved = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{
		listResources: true, readResource: true,
		"bash": true, "execute_bash": true, "shell": true, "str_replace_editor": true, "str_replace_based_edit_tool": true,
	}
	for _, t := range tool.Registered() {
		if !t.Sets.Has(tool.Standard | tool.Included) {
			continue
		}
		names[strings.ToLower(t.Name)] = true
		for _, d := range t.Definitions(tool.Model{}) {
			names[d.Name] = true
		}
	}
	return names
})

// offered is one tool of a server, as it is offered to the model.
type offered struct {
	name   string // the model's name for it
	remote string // the server's name for it
	server *server
	own    ownTool // of the set itself, in place of a server's tool; nil for one of a server
	def    *tool.Definition
	raw    json.RawMessage // the server's own description of it, for the events
}

// masked returns a listed tool whose texts repeat no secret.
func (o *Options) masked(t *sdk.Tool) *sdk.Tool {
	raw, err := json.Marshal(t)
	if err != nil {
		return t // define says so
	}
	text := o.Mask(string(raw))
	if text == string(raw) {
		return t
	}
	out := &sdk.Tool{}
	if json.Unmarshal([]byte(text), out) != nil { // a secret was a part of the document's form
		return &sdk.Tool{Name: t.Name}
	}
	out.Name = t.Name
	return out
}

// define makes a definition of a server's listed tool.
func define(s *server, name string, t *sdk.Tool) (*offered, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if t.InputSchema == nil {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if len(schema) > maxSchema {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("its schema has %d bytes; at most %d are allowed", len(schema), maxSchema))
	}
	parsed, err := tool.ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	cleanDescriptions(&parsed, 0)
	text := describe(t.Description, maxDescription)
	text = cmp.Or(text, "No description provided")
	o := &offered{name: name, remote: t.Name, server: s}
	if o.raw, err = wireTool(t, name, text, schema); err != nil {
		return nil, err
	}
	var meta json.RawMessage
	if s != nil {
		if meta, err = json.Marshal(map[string]string{"mcp_server": describe(s.name, 200)}); err != nil { // whose tool it is
			return nil, err
		}
	}
	o.def = &tool.Definition{
		Name: name, Kind: "MCPToolDefinition", Description: text, Parameters: parsed,
		Annotations: annotations(t.Annotations),
		ActionKind:  "MCPToolAction", ObservationKind: "MCPToolObservation",
		Local:    true,
		Locks:    func(event.Action) []string { return []string{"tool:" + name} },
		Describe: func(t *event.ToolDefinition) { t.MCPTool, t.Meta = o.raw, meta },
		Decode: func(args json.RawMessage) (event.Action, error) {
			return &event.MCPToolAction{Data: args}, nil
		},
	}
	return o, nil
}

// cleanDescriptions cleans the descriptions inside a schema.
func cleanDescriptions(s *tool.Schema, depth int) {
	for i := range s.Properties {
		calmProperty(&s.Properties[i], depth)
	}
}

func calmProperty(p *tool.Property, depth int) {
	p.Description = describe(p.Description, maxDescription)
	if depth > 32 {
		return
	}
	if p.Object != nil {
		cleanDescriptions(p.Object, depth+1)
	}
	if p.Items != nil {
		calmProperty(p.Items, depth+1)
	}
}

// annotations are shown as the server gives them, except the claim that a tool is
// read-only: a call would then need neither a rating nor a confirmation.
func annotations(a *sdk.ToolAnnotations) event.Annotations {
	out := event.Annotations{Destructive: true, OpenWorld: true}
	if a == nil {
		return out
	}
	out.Title, out.Idempotent = describe(a.Title, 200), a.IdempotentHint
	if a.DestructiveHint != nil {
		out.Destructive = *a.DestructiveHint
	}
	if a.OpenWorldHint != nil {
		out.OpenWorld = *a.OpenWorldHint
	}
	return out
}

// wireTool is mcp_tool of a MCPToolDefinition (docs/openhands/sdk-wire-1.58.md
// section A): the tool under the name that the model uses.
func wireTool(t *sdk.Tool, name, text string, schema json.RawMessage) (json.RawMessage, error) {
	out := struct {
		Name        string               `json:"name"`
		Title       string               `json:"title,omitempty"`
		Description string               `json:"description"`
		InputSchema json.RawMessage      `json:"inputSchema"`
		Annotations *sdk.ToolAnnotations `json:"annotations,omitempty"`
	}{name, describe(t.Title, 200), text, schema, t.Annotations}
	return json.Marshal(out)
}

// naming decides the names of a server's tools. With several servers the
// server's name comes first, as in the reference.
func naming(serverName, toolNameOfServer string, several bool) string {
	if several {
		return toolName(serverName + "_" + toolNameOfServer)
	}
	return toolName(toolNameOfServer)
}

// shadows reports whether a name belongs to a built-in tool.
func (o *Options) shadows(name string) bool {
	lower := strings.ToLower(name)
	if reserved()[lower] {
		return true
	}
	return slices.ContainsFunc(o.Reserved, func(r string) bool { return strings.EqualFold(r, name) })
}
