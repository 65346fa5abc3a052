package appserver

import (
	"github.com/deft-dev/deft/server/appserver/mcpserver"
	"github.com/deft-dev/deft/server/appserver/v0"
	"github.com/deft-dev/deft/server/rest"
)

// Routes are the operations of a server, which cannot be called.
func Routes() []rest.Route {
	s := &services{v0: v0.New(v0.Options{}), mcp: mcpserver.New(mcpserver.Options{})}
	return s.routes()
}

// WithModel is tested without a server.
var WithModel = withModel

// AddTokens is tested without a server.
var AddTokens = addTokens
