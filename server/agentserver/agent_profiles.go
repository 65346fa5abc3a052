package agentserver

import (
	"context"
	"log/slog"

	settingsroutes "github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// AgentProfiles returns the operations on agent profiles, for a server of several users:
// of returns the settings of a request's caller.
func AgentProfiles(of func(ctx context.Context) (*settings.Service, error), log *slog.Logger) []rest.Route {
	return settingsroutes.AgentProfiles(of, log)
}
