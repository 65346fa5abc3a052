package build

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
)

// hostPTYs are the terminals of a conversation without a sandbox.
func hostPTYs(workspace string, env []string) *pty.Host {
	return pty.New(pty.Options{Dir: workspace, Env: env})
}

// Terminals returns the pseudo terminals of a conversation's sandbox, also while
// another process works on the conversation, and a function that disconnects from
// them. If the sandbox does not run it is started, for which lock must give this
// process the conversation: another one might start it too. A conversation without a
// sandbox has its terminals in this process; they end with release.
func (b *Builder) Terminals(ctx context.Context, r session.BuildRequest, lock func() (unlock func(), err error)) (_ tool.PTYs, release func() error, err error) {
	r.Placement = b.placement(r.Placement)
	if err := b.o.Classes.check(r.Placement); err != nil {
		return nil, nil, err
	}
	env, mark := b.environment(ctx, r)
	if r.RuntimeClass == LocalRuntime {
		if err := r.CheckWorkspace(); err != nil {
			return nil, nil, err
		}
		h := hostPTYs(r.Workspace, env)
		return h, h.Close, nil
	}
	provider, err := b.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return nil, nil, err
	}
	box, err := provider.Get(ctx, r.ID.Hex())
	if fault.Is(err, fault.NotFound) {
		box, err = b.startSandbox(ctx, provider, r, env, mark, lock)
	}
	if err != nil {
		return nil, nil, err
	}
	rt, err := linkTo(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	return rt, rt.Close, nil
}

// linkTo connects to the action server of a sandbox, which goes on if it is paused.
func linkTo(ctx context.Context, box sandbox.Sandbox) (*remote.Runtime, error) {
	if err := box.Resume(ctx); err != nil {
		return nil, err
	}
	return remote.New(remote.Options{Dial: box.Dial})
}

// Link connects to the action server of a conversation's sandbox, also while another
// process works on the conversation. The caller closes it. NotFound if the sandbox does
// not run, Unsupported for a conversation without one.
func (b *Builder) Link(ctx context.Context, r session.BuildRequest) (*remote.Runtime, error) {
	r.Placement = b.placement(r.Placement)
	if err := b.o.Classes.check(r.Placement); err != nil {
		return nil, err
	}
	if r.RuntimeClass == LocalRuntime {
		return nil, fault.New(fault.Unsupported, "the conversation has no sandbox: its programs run on this machine")
	}
	provider, err := b.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return nil, err
	}
	box, err := provider.Get(ctx, r.ID.Hex())
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the sandbox of the conversation does not run")
	}
	if err != nil {
		return nil, err
	}
	return linkTo(ctx, box)
}

func (b *Builder) startSandbox(ctx context.Context, provider sandbox.Provider, r session.BuildRequest, env []string, mark string, lock func() (func(), error)) (_ sandbox.Sandbox, err error) {
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	spec, err := b.sandboxSpec(ctx, r, env, mark)
	if err != nil {
		return nil, err
	}
	box, err := replacing{provider, r.CheckWorkspace}.Start(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return box, nil
}
