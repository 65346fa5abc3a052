// Package mcpserver is the App Server's own MCP server: its tools open pull requests with
// the owner's tokens, and search the web. Agents get them without a connection to
// configure; programs in a sandbox reach them at /mcp/mcp
// (docs/openhands/app-server.md section 2.5).
//
// # Usage
//
//	s := mcpserver.New(mcpserver.Options{Conversations: c, Host: hostOf, …})
//	handler, err := s.Handler(ctx, owner, id) // of one conversation; nil if it has no tools
//	routes := s.Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. A failure of a tool is a result with the reason,
// for the model. Tokens and keys never reach the agent.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// Options configure a Service. All are required, but Search.
type Options struct {
	Conversations *conversations.Service
	Store         *store.Store
	// Providers are the Git hosts for which an owner has tokens, Host the owner's host of one.
	Providers func(ctx context.Context, owner identity.Tenant) ([]forge.Provider, error)
	Host      func(ctx context.Context, owner identity.Tenant, p forge.Provider) (forge.Host, error)
	// SearchKey returns the key of Tavily for an owner, "" for none.
	SearchKey func(ctx context.Context, owner identity.Tenant) (llm.Secret, error)
	// Search is the address of Tavily's API; "" for the public one.
	Search string
}

// Service makes the tools.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service {
	o.Search = cmp.Or(o.Search, tavily)
	return &Service{o: o}
}

// Name is the server's among the servers of an agent.
const Name = "deft"

// Handler returns the MCP server of a conversation, nil if it has no tools: pull requests
// are for conversations with a repository whose owner has a token.
func (s *Service) Handler(ctx context.Context, owner identity.Tenant, id event.ConversationID) (http.Handler, error) {
	c := conversation{s: s, owner: owner, id: id}
	server := sdk.NewServer(&sdk.Implementation{Name: Name, Version: "1"}, nil)
	some, err := c.addPulls(ctx, server)
	if err != nil {
		return nil, err
	}
	key, err := s.o.SearchKey(ctx, owner)
	if err != nil {
		return nil, err
	}
	if key != "" {
		s.addSearch(server, key)
		some = true
	}
	if !some {
		return nil, nil //nolint:nilnil // there is nothing to serve
	}
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true}), nil
}

// conversationHeader names the conversation of a request.
const conversationHeader = "X-OpenHands-ServerConversation-ID"

// maxBody bounds a request; the description of a pull request is some kilobytes.
const maxBody = 1 << 20

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	var out []rest.Route
	for _, method := range []string{"POST", "GET", "DELETE"} {
		out = append(out, rest.Route{Method: method, Path: "/mcp/mcp", Tag: "MCP", Limit: maxBody, Scope: rest.Sandbox, Handle: s.serve})
	}
	return out
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) error {
	owner, id, err := s.conversationOf(r)
	if err != nil {
		return err
	}
	h, err := s.Handler(r.Context(), owner, id)
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "the conversation has no tools of the server").Hint("they need a repository and a token of its Git provider")
	}
	h.ServeHTTP(w, r)
	return nil
}

// conversationOf returns the conversation of a request: with the key of its sandbox, or
// with an API key of its owner.
func (s *Service) conversationOf(r *http.Request) (identity.Tenant, event.ConversationID, error) {
	ctx := r.Context()
	id, named := event.ParseConversationID(r.Header.Get(conversationHeader))
	caller := identity.CallerOf(ctx)
	if caller.Sandbox != "" {
		in, err := s.o.Store.InSandbox(ctx, caller.Sandbox)
		if err != nil {
			return "", "", err
		}
		if !named && len(in) == 1 {
			return caller.Tenant(), in[0], nil
		}
		if !named || !slices.Contains(in, id) {
			return "", "", fault.New(fault.NotFound, "the sandbox has no such conversation").Hint("name it in the header " + conversationHeader)
		}
		return caller.Tenant(), id, nil
	}
	if caller.Method != identity.APIKey {
		return "", "", fault.New(fault.Auth, "an API key, or the session key of a sandbox, is needed")
	}
	if !named {
		return "", "", fault.New(fault.Invalid, "the header "+conversationHeader+" names no conversation")
	}
	_, err := s.o.Conversations.One(ctx, caller.Tenant(), id)
	return caller.Tenant(), id, err
}

// text is a result of a tool.
func text(parts ...string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(parts, "\n")}}}
}

// said is an error as the model reads it.
func said(err error) error {
	if hint := fault.HintOf(err); hint != "" {
		return fault.New(fault.KindOf(err), err.Error()+" ("+hint+")")
	}
	return err
}

// labels reads labels, which models write as a list or as text with commas.
type labels []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *labels) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*l = nil
		for part := range strings.SplitSeq(one, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*l = append(*l, part)
			}
		}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(l))
}
