package appserver

import (
	_ "embed" // for the contract

	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/rest"
)

// packedContract has the facts of the operations of OpenHands' documents that there are
// here. test/openapi/appserver.py makes it.
//
//go:embed contract.json.gz
var packedContract []byte

// description returns the routes that describe others: /openapi.json, /docs and /redoc.
// They need no credential, as at the agent server.
func description(all []rest.Route, version string) []rest.Route {
	return agentserver.Description(all, version, &agentserver.Contract{
		Title: "Deft App Server", Description: "The App Server of Deft, with the contract of OpenHands' cloud.", Packed: packedContract,
		Scheme: "Bearer", Schemes: map[string]any{"Bearer": map[string]any{"type": "http", "scheme": "bearer"}},
	})
}
