package main

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
)

// portFlags say who reaches whom by name and port.
type portFlags struct {
	AddHost []sandbox.ExtraHost `name:"add-host" help:"A name that a container knows the address of, for example of a database that --net names too. May be repeated; kept with the conversation." placeholder:"NAME:ADDRESS" sep:"none"`
	Publish []portforward.Port  `short:"p" help:"Port of the sandbox that is reached from this machine while the run lasts: PORT, LOCAL:PORT or ADDRESS:LOCAL:PORT; without an address of 127.0.0.1 only, and 0 for LOCAL takes a free one. May be repeated." placeholder:"PORT" sep:"none"`
}

// publish passes the ports of --publish on to the sandbox of a conversation until the
// function that it returns is called.
func (r *foreground) publish(ctx context.Context, builder *build.Builder, sessions *session.Manager, id event.ConversationID) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run that is stopped ends its command first
	dial := func(ctx context.Context, port int) (portforward.Target, error) {
		return dialSandbox(ctx, builder, sessions, id, port)
	}
	refused := func(err error) { r.view.Warn("a published port: " + console.Line(err.Error())) }
	served := make(chan error, 1)
	go func() { served <- r.published.Serve(ctx, dial, refused) }()
	for _, p := range r.published.Ports() {
		r.view.Warn(p.String())
	}
	return func() error {
		cancel()
		return <-served
	}
}

// dialSandbox connects to a port in the sandbox that the conversation has now: it may be
// another one than before.
func dialSandbox(ctx context.Context, builder *build.Builder, sessions *session.Manager, id event.ConversationID, port int) (portforward.Target, error) {
	conv, err := sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	rt, err := builder.Link(ctx, conv.SandboxRequest())
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the sandbox does not run yet")
	}
	if err != nil {
		return nil, err
	}
	conn, err := rt.DialPort(ctx, port)
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return published{conn, rt}, nil
}

// published is a connection with the link that it goes over.
type published struct {
	portforward.Target
	link *remote.Runtime
}

// Close ends both.
func (p published) Close() error { return errors.Join(p.Target.Close(), p.link.Close()) }
