package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// Trial tries the sandboxes of a provider of any class. A provider that implements
// [sandbox.Prober] or [sandbox.AccessProber] says more; of others a sandbox is started.
type Trial struct {
	Provider sandbox.Provider
	// Grants has the directories that are granted, in Readable and Writable.
	Grants sandbox.Spec
	// Container is the sandbox's container. Its image must be there.
	Container sandbox.Container
}

// Doctor implements [Sandbox].
func (t Trial) Doctor(ctx context.Context) (rep sandbox.Report, _ []sandbox.Attempt, err error) {
	if p, ok := t.Provider.(sandbox.Prober); ok {
		return p.Doctor(ctx)
	}
	self, err := os.Executable()
	if err != nil {
		return rep, nil, fmt.Errorf("find the deft binary: %w", err)
	}
	dir, err := os.MkdirTemp("", "deft-doctor-")
	if err != nil {
		return rep, nil, fault.Wrap(err, fault.Full, "make a directory to try")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	id := "doctor-" + rand.Text()[:12]
	defer func() {
		if rerr := t.Provider.Remove(context.WithoutCancel(ctx), id); err == nil { // else it is the same trouble
			err = rerr
		}
	}()
	box, err := t.Provider.Start(ctx, sandbox.Spec{
		ID: id, Workspace: dir, Argv: []string{self, "action-server", "--workspace", dir, "--grace", "1m"}, Container: t.Container,
	})
	if err != nil {
		return rep, nil, err
	}
	return box.Report(), nil, nil
}

// Access implements [Sandbox]. It says nothing of sandboxes with programs of their own.
func (t Trial) Access(ctx context.Context, paths []string) ([]sandbox.Access, error) {
	if p, ok := t.Provider.(sandbox.AccessProber); ok {
		return p.Access(ctx, t.Grants, paths)
	}
	return nil, nil
}
