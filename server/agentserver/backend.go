package agentserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// Backend has the services that a server's program links.
type Backend struct {
	Store   eventstream.Stream
	Lock    session.Lock
	Builder session.Builder
	Models  session.Models
	// Sandboxed says that each conversation gets a sandbox; Sandbox is its class, unless it
	// chooses one.
	Sandboxed bool
	Sandbox   sandbox.Class
	// Link connects to the sandbox of a conversation; nil where there are none.
	Link func(ctx context.Context, r session.BuildRequest) (ports.Link, error)
	// Containers are the conversations' containers; nil where there are none.
	Containers *conversation.Containers
	// Orphans removes sandboxes; nil where there are none.
	Orphans Orphans
	// Sandboxes are the conversations' sandboxes, whatever their class.
	Sandboxes conversation.Sandboxes
	// Vanished returns the conversations, of those given, whose workspaces are gone with
	// the sandboxes that they were inside of, and when these were started.
	Vanished func(ctx context.Context, p session.Placement, ids []event.ConversationID) (map[event.ConversationID]time.Time, error)
	// DiscoverACP asks an agent program for its models, in the place of a new conversation.
	DiscoverACP func(ctx context.Context, fields *spec.ACP, secrets map[string]string, mask func(string) string) (spec.ACPDiscovery, error)
	// Close closes the backend's services beside Lock, which the sessions close.
	Close func() error
}

// Orphans removes sandboxes that nothing needs.
type Orphans interface {
	// RemoveOrphans removes the sandboxes of a class whose conversations do not
	// exist, and returns how many those were.
	RemoveOrphans(ctx context.Context, class string, exists func(context.Context, event.ConversationID) (bool, error)) (int, error)
}

// Adapters are the parts of a program that a server asks directly.
type Adapters interface {
	// Open opens the backend of a configuration.
	Open(ctx context.Context, cfg *config.Loaded) (*Backend, error)
	// NewModel opens a model, to see whether it answers.
	NewModel(llm.Config) (llm.Model, error)
	// Providers are the prefixes of model names that are known.
	Providers() []string
	// Forges opens Git hosts.
	Forges() forge.Opener
	// ProbeMCP tries an MCP server.
	ProbeMCP(ctx context.Context, p mcp.Probe) (mcp.Result, error)
	// LogInMCP logs in at an MCP server.
	LogInMCP(ctx context.Context, r mcplogin.Request) (state json.RawMessage, err error)
	// LogOutMCP logs out, as mcplogin.LogOut.
	LogOutMCP(ctx context.Context, server json.RawMessage, logins mcplogin.Logins) (revoked bool, err error)
	// MCPLoginKey is the key of the login at the address of an MCP server.
	MCPLoginKey(address string) (string, error)
	// CheckClientTool describes the mistake in a tool that a client defines, and
	// ClientToolName its name.
	CheckClientTool(raw json.RawMessage) (name string, err error)
}
