package build

import (
	"context"
	"errors"
	"os"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// Isolation returns the report of a conversation's sandbox, which runs or is paused.
// NotFound if none does.
func (b *Builder) Isolation(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Report, error) {
	if b.placement(p).RuntimeClass == LocalRuntime {
		return sandbox.Report{Level: sandbox.None.Name}, nil
	}
	s, err := b.Sandbox(ctx, p, id)
	if err != nil {
		return sandbox.Report{}, err
	}
	return s.Report(), nil
}

// TryIsolation reports the isolation of a new conversation: it starts a sandbox with an
// empty workspace and removes it. An image is not fetched for it. Unsupported for classes
// whose sandboxes take long to start or may cost money ([sandbox.Class.NoTrial]).
func (b *Builder) TryIsolation(ctx context.Context) (rep sandbox.Report, err error) {
	r := session.BuildRequest{ID: event.NewConversationID(), Placement: b.placement(session.Placement{})}
	class := b.class(r.Placement)
	switch {
	case r.RuntimeClass == LocalRuntime:
		return sandbox.Report{Level: sandbox.None.Name}, nil
	case class.NoTrial != "":
		return rep, fault.New(fault.Unsupported, class.NoTrial).Hint("a conversation that works says what is in force")
	}
	provider, err := b.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return rep, err
	}
	if r.Workspace, err = os.MkdirTemp("", "deft-isolation-"); err != nil {
		return rep, fault.Wrap(err, fault.Full, "make a directory to try a sandbox in")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.Workspace)) }()
	if class.Has(sandbox.FeatureImage) {
		r.Container.Pull = sandbox.PullNever
	}
	spec, err := b.sandboxSpec(ctx, r, b.o.Env, "")
	if err != nil {
		return rep, err
	}
	defer func() {
		if gone := provider.Remove(context.WithoutCancel(ctx), spec.ID); err == nil { // else it is the same trouble
			err = gone
		}
	}()
	box, err := provider.Start(ctx, spec)
	if err != nil {
		return rep, err
	}
	return box.Report(), nil
}
