package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
)

// globalFlags are the flags that all commands have.
type globalFlags struct {
	Data string `help:"Directory for everything Deft stores (default: $$XDG_DATA_HOME/deft)." env:"DEFT_DATA" placeholder:"DIR" type:"path"`
}

// streams are a command's streams, with the listener that a sandbox gives it.
type streams struct {
	stdio.Streams
	// listener is where a server listens, whatever its flags say; nil for an address of
	// its own. A sandbox gives it.
	listener net.Listener
}

func standardStreams() *streams { return &streams{Streams: stdio.Standard()} }

// listen returns the listener that was given, or listens on an address, which flag
// chooses.
func (s *streams) listen(ctx context.Context, network, address, flag string) (net.Listener, error) {
	if s.listener != nil {
		return s.listener, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, cannotListen(address, flag, err)
	}
	return l, nil
}

// tell shows the user a line.
func (s *streams) tell(line string) { fmt.Fprintln(s.Err, stdio.OneLine(line)) }

// cannotListen says why an address cannot be listened on. flag chooses another.
func cannotListen(address, flag string, err error) error {
	what, kind := "cannot listen on "+address, fault.Invalid
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.Conflict, "the address "+address+" is in use by another program").Hint("stop that program, or choose another address with " + flag)
	case errors.Is(err, fs.ErrPermission):
		kind = fault.Denied
	}
	return fault.New(kind, what).Because(err).Hint("choose another address with " + flag)
}
