package main

import (
	"context"
	"os"

	"github.com/deft-dev/deft/cli/serveconfig"
	"github.com/deft-dev/deft/cli/settingsimport"
	serversettings "github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/settings"
)

// configCmd works with the configuration of deft serve.
type configCmd struct {
	Show    serveconfig.Show       `cmd:"" default:"withargs" help:"Show each setting of deft serve with where it comes from, and the variables of other commands that are set."`
	Import  settingsimport.Command `cmd:"" help:"Take over OpenHands' configuration."`
	Check   serveconfig.Check      `cmd:"" help:"Check a file of settings."`
	Example serveconfig.Example    `cmd:"" help:"Print a file with all settings, commented out."`
}

// configSourcesOf are the sources of the configuration of deft serve, for a command.
func configSourcesOf(std *streams, g *globalFlags) serveconfig.Sources {
	return func(f config.Flags) (config.Sources, error) { return configSources(std, g, f) }
}

// configSources are the sources of the configuration of deft serve.
func configSources(std *streams, g *globalFlags, f config.Flags) (config.Sources, error) {
	p, err := findPaths("", std.Env)
	if err != nil && g.Data == "" {
		return config.Sources{}, err
	}
	return config.Sources{Environ: os.Environ(), Flags: f, Data: g.Data, DefaultData: p.data, Classes: sandboxClasses()}, nil
}

// importWiring is where settings of OpenHands go.
func importWiring(std *streams) settingsimport.Wiring {
	return settingsimport.Wiring{
		Dir: func() (string, error) { return serversettings.PersistenceDir(std.Env) },
		Open: func(ctx context.Context, dir string) (*settings.Service, error) {
			ring, err := serversettings.OpenRing(std.Env, dir, std.tell)
			if err != nil {
				return nil, err
			}
			return settings.Open(ctx, settings.Options{Dir: dir, Keys: ring, Env: std.Env})
		},
	}
}
