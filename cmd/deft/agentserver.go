package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/agentserver"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/shape"
	"github.com/deft-dev/deft/internal/agentserver/settings/wireagent"
	"github.com/deft-dev/deft/internal/agentserver/settings/wirellm"
	"github.com/deft-dev/deft/internal/agentserver/socket"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/llm/broker"
)

// agentServerCmd serves conversations to OpenHands' clients.
type agentServerCmd struct {
	Host string `help:"Address to listen on (default: 127.0.0.1, or all if session keys are set)."`
	Port int    `help:"Port to listen on." default:"8000"`
}

// Run serves until it is told to stop.
func (c *agentServerCmd) Run(ctx context.Context, std *streams, g *grammar) error {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	dir := "workspace/conversations"
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	ring := keyring.New("deft")
	fit := &outfitter{dir: dir, env: commandEnv(os.Environ()), log: log}
	models := wireModels{broker.NewBreakers(broker.BreakerOptions{})}
	m, err := conversation.Open(conversation.Options{
		Stream: store, Dir: dir, Ring: ring, Log: log,
		Resolve: func(_ context.Context, r *conversation.StartRequest) (*conversation.Launch, error) {
			a, err := wireagent.Decode(r.Agent, shape.Reading{Keys: ring}, "body", "agent")
			if err != nil {
				return nil, err
			}
			return &conversation.Launch{Agent: a}, nil
		},
		LLM: func(_ context.Context, raw json.RawMessage) (*wirellm.LLM, error) {
			return wirellm.Decode(raw, shape.Reading{Keys: ring}, "body", "llm")
		},
		Profile: func(_ context.Context, name string) (*wirellm.LLM, error) {
			return nil, fault.New(fault.NotFound, "Profile '"+name+"' not found")
		},
		Model: models.open, Outfit: fit.outfit, Modules: toolModules,
	})
	if err != nil {
		return err
	}
	var keys []string
	sockets := socket.New(socket.Options{Find: agentserver.Followed(m), Keys: func() []string { return keys }})
	defer sockets.Close()
	routes := slices.Concat(m.Routes(), sockets.Routes(), []rest.Route{})
	s, err := agentserver.New(agentserver.Options{Routes: routes, Keys: func() []string { return keys }, Log: log})
	if err != nil {
		return err
	}
	host := c.Host
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(c.Port)))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "listen")
	}
	if _, err := m.Resume(ctx); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "deft agent-server: http://%s, data in %s\n", l.Addr(), filepath.Clean(dir))
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	return m.Close(context.WithoutCancel(ctx))
}
