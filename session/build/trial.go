package build

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/deft-dev/deft/agent/acpagent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/mcp"
)

// trial is a sandbox as a new conversation gets it, with an empty workspace. An image is not
// fetched for it.
type trial struct {
	provider sandbox.Provider
	spec     sandbox.Spec
	open     bool // nothing isolates it
}

// newTrial describes a trial. Unsupported for classes whose sandboxes take long to start or may
// cost money ([sandbox.Class.NoTrial]), and for none.
func (b *Builder) newTrial(ctx context.Context) (_ *trial, err error) {
	r := session.BuildRequest{ID: event.NewConversationID(), Placement: b.placement(session.Placement{})}
	class := b.class(r.Placement)
	switch {
	case r.RuntimeClass == LocalRuntime:
		return nil, errNoSandbox
	case class.NoTrial != "":
		return nil, fault.New(fault.Unsupported, class.NoTrial).Hint("a conversation that works shows its isolation")
	}
	t := &trial{open: class.Open(r.Isolation)}
	if t.provider, err = b.Sandboxes(r.SandboxClass, r.Isolation); err != nil {
		return nil, err
	}
	if r.Workspace, err = os.MkdirTemp("", "deft-trial-"); err != nil {
		return nil, fault.Wrap(err, fault.Full, "make a directory to try a sandbox in")
	}
	if class.Has(sandbox.FeatureImage) {
		r.Container.Pull = sandbox.PullNever
	}
	if t.spec, err = b.sandboxSpec(ctx, r, b.o.Env, ""); err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.Workspace))
	}
	return t, nil
}

var errNoSandbox = fault.New(fault.Unsupported, "commands run without a sandbox here")

// remove removes the sandbox and its workspace.
func (t *trial) remove(ctx context.Context) error {
	return errors.Join(t.provider.Remove(context.WithoutCancel(ctx), t.spec.ID), os.RemoveAll(t.spec.Workspace))
}

// TryIsolation reports the isolation of a new conversation: it starts a sandbox with an
// empty workspace and removes it. Unsupported for classes that have no trials.
func (b *Builder) TryIsolation(ctx context.Context) (rep sandbox.Report, err error) {
	t, err := b.newTrial(ctx)
	if errors.Is(err, errNoSandbox) {
		return sandbox.Report{Level: sandbox.None.Name}, nil
	}
	if err != nil {
		return rep, err
	}
	defer func() {
		if gone := t.remove(ctx); err == nil { // else it is the same trouble
			err = gone
		}
	}()
	box, err := t.provider.Start(ctx, t.spec)
	if err != nil {
		return rep, err
	}
	return box.Report(), nil
}

// TryMCP starts an MCP server that is a program in the sandbox of a new conversation, and returns
// the names of its tools. limit bounds the start of the program and its list. Unsupported where
// there are no trials, or where nothing would isolate the program.
func (b *Builder) TryMCP(ctx context.Context, name string, server mcp.Server, limit time.Duration) (tools []string, err error) {
	t, err := b.newTrial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if gone := t.remove(ctx); err == nil {
			err = gone
		}
	}()
	if t.open {
		return nil, errNoSandbox
	}
	err = t.use(ctx, func(programs tool.Starter) error {
		got, err := mcp.Probe(ctx, name, server, mcp.Options{Programs: programs}, limit, "", nil)
		tools = got.Tools
		return err
	})
	return tools, err
}

// use starts the sandbox, passes on the function that starts programs in it, and ends it.
func (t *trial) use(ctx context.Context, f func(programs tool.Starter) error) (err error) {
	options := sandboxed.Options{Provider: t.provider, Spec: t.spec, Connect: connect}
	box := sandboxed.Start(ctx, options)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, box.Stop(ctx))
	}()
	if _, err := box.Ready(ctx); err != nil {
		return err
	}
	if t.open {
		return f(HostPrograms(t.spec.Workspace))
	}
	return f(&ownSandboxes{shared: box, options: options, provider: t.provider})
}

// DiscoverACP starts an agent program in the place of a new conversation, with an empty workspace,
// and asks it for its models. mask hides the secrets in errors. Unsupported where there are no trials.
func (b *Builder) DiscoverACP(ctx context.Context, f *spec.ACP, secrets map[string]string, mask func(string) string) (found spec.ACPDiscovery, err error) {
	c := acpagent.Config{
		Fields: f, Conversation: event.NewConversationID(), Mask: mask, Log: b.o.Log,
		Secrets: func(context.Context) map[string]string { return secrets },
		Run: func(context.Context, []string, string) (acpagent.Result, error) {
			return acpagent.Result{}, fault.New(fault.Denied, "the program was only asked for its models")
		},
	}
	if c.Tools, err = tool.NewSet(); err != nil {
		return found, err
	}
	ask := func(programs tool.Starter) error {
		c.Programs = programs
		a, err := acpagent.New(c)
		if err == nil {
			found, err = a.Discover(ctx)
		}
		return err
	}
	t, err := b.newTrial(ctx)
	if errors.Is(err, errNoSandbox) {
		if c.Workspace, err = os.MkdirTemp("", "deft-trial-"); err != nil {
			return found, fault.Wrap(err, fault.Full, "make a directory for the agent program")
		}
		err = ask(HostPrograms(c.Workspace))
		return found, errors.Join(err, os.RemoveAll(c.Workspace))
	}
	if err != nil {
		return found, err
	}
	c.Workspace = t.spec.Workspace
	c.Network = func(hosts []string) []string {
		return notGranted(session.BuildRequest{Placement: session.Placement{Network: t.spec.Network}}, hosts)
	}
	err = t.use(ctx, ask)
	return found, errors.Join(err, t.remove(ctx))
}
