package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/runtime/remote"
)

// forwardCmd passes ports of this machine on to a sandbox.
type forwardCmd struct {
	ID    string   `arg:"" optional:"" help:"The conversation's id, the start of it, or \"last\"." default:"last" complete:"conversations"`
	Ports []string `arg:"" optional:"" help:"Ports in the sandbox, or LOCAL:PORT with the port on this machine. Without any, the ports on which something listens are shown."`
	JSON  bool     `name:"json" help:"Print ports as JSON."`
}

// Help is shown by `deft forward --help`.
func (c *forwardCmd) Help() string {
	return `The ports are opened on 127.0.0.1, until Ctrl-C. The sandbox needs no network for it, and must run: it does
during a run, and for a while after it.

Examples:
  deft forward last
  deft forward last 8000
  deft forward 7c1f 8080:80 5432`
}

// forwarded is one port.
type forwarded struct {
	Local int `json:"local"`
	Port  int `json:"port"`
}

func parseForwarded(s string) (f forwarded, err error) {
	local, inside, two := strings.Cut(s, ":")
	if !two {
		inside = local
	}
	if f.Local, err = strconv.Atoi(local); err == nil {
		f.Port, err = strconv.Atoi(inside)
	}
	if err != nil || f.Local < 0 || f.Local > 65535 || f.Port < 1 || f.Port > 65535 {
		return f, fault.New(fault.Invalid, "not a port: "+s).Hint("give PORT or LOCAL:PORT, for example 8080:80")
	}
	return f, nil
}

// Run forwards until it is stopped.
func (c *forwardCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	var ports []forwarded
	for _, s := range c.Ports {
		f, err := parseForwarded(s)
		if err != nil {
			return err
		}
		ports = append(ports, f)
	}
	return c.withLink(ctx, std, g, func(rt *remote.Runtime) error {
		if len(ports) == 0 {
			return c.list(ctx, std, rt)
		}
		if _, err := rt.Ports(ctx); err != nil { // whether it can be
			return err
		}
		return c.forward(ctx, std, rt, ports)
	})
}

// withLink connects to the sandbox of the conversation.
func (c *forwardCmd) withLink(ctx context.Context, std *streams, g *globalFlags, do func(*remote.Runtime) error) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		id, err := resolve(ctx, s, c.ID)
		if err != nil {
			return err
		}
		r := newForeground(std, p, s, nil)
		builder, sessions, err := r.open(r.models, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
		conv, err := sessions.Get(ctx, id)
		if err != nil {
			return err
		}
		rt, err := builder.Link(ctx, conv.SandboxRequest())
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "the sandbox of the conversation does not run").Hint("deft shell " + string(id) + " starts it, deft run --resume " + string(id) + " too")
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rt.Close()) }()
		return do(rt)
	})
}

func (c *forwardCmd) list(ctx context.Context, std *streams, rt *remote.Runtime) error {
	list, err := rt.Ports(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, p := range list {
		if c.JSON {
			err = printJSON(std, p)
		} else {
			_, err = fmt.Fprintf(w, "%d\t%s\n", p.Port, p.Address)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 && !c.JSON {
		fmt.Fprintln(std.err, "nothing listens in the sandbox")
	}
	return w.Flush()
}

func (c *forwardCmd) forward(ctx context.Context, std *streams, rt *remote.Runtime, ports []forwarded) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	var listeners []net.Listener
	for i, f := range ports {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Local)))
		if err != nil {
			for _, l := range listeners {
				_ = l.Close() // nothing has come yet
			}
			return fault.Wrap(err, fault.Conflict, fmt.Sprintf("open port %d of this machine; another one can be given as LOCAL:%d", f.Local, f.Port))
		}
		listeners = append(listeners, l)
		ports[i].Local = l.Addr().(*net.TCPAddr).Port
	}
	for i, l := range listeners {
		f := ports[i]
		refused := func(err error) { fmt.Fprintln(std.err, "deft:", console.Line(err.Error())) }
		all.Go(func() error {
			return portforward.Serve(ctx, l, func(ctx context.Context) (portforward.Target, error) { return rt.DialPort(ctx, f.Port) }, refused)
		})
	}
	for _, f := range ports {
		var err error
		if c.JSON {
			err = printJSON(std, f)
		} else {
			_, err = fmt.Fprintf(std.out, "127.0.0.1:%d is port %d of the sandbox\n", f.Local, f.Port)
		}
		if err != nil {
			cancel()
			return errors.Join(err, all.Wait())
		}
	}
	return all.Wait()
}
