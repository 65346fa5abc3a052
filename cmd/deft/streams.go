package main

import (
	"context"
	"net"
	"os"

	"github.com/deft-dev/deft/cli/stdio"
)

// globalFlags are the flags that all commands have.
type globalFlags struct {
	Data string `help:"Directory for everything Deft stores (default: $$XDG_DATA_HOME/deft)." env:"DEFT_DATA" placeholder:"DIR" type:"path"`
}

// streams are a command's streams, with the files that a sandbox gives it.
type streams struct {
	stdio.Streams
	// listener is where a server listens, whatever its flags say; nil for an address of
	// its own. A sandbox gives it.
	listener net.Listener
	// journal belongs to the sandbox that gives the listener.
	journal *os.File
}

func standard() *streams { return &streams{Streams: stdio.Standard()} }

// listen returns the listener that was given, or listens on an address.
func (s *streams) listen(ctx context.Context, network, address string) (net.Listener, error) {
	if s.listener != nil {
		return s.listener, nil
	}
	return new(net.ListenConfig).Listen(ctx, network, address)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// firstSet returns the value of the first variable that has one.
func firstSet(std *streams, names []string) string {
	for _, name := range names {
		if v := std.Env(name); v != "" {
			return v
		}
	}
	return ""
}
