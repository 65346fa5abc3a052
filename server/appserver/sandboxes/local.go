package sandboxes

import (
	"context"
	"errors"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/store"
)

// ThisMachine is the specification of sandboxes whose workspace is a directory of their
// owner on this machine. The server never makes, archives or deletes the directory. No image
// can have the name.
const ThisMachine = "this machine"

// Local reports whether the workspace of a sandbox is a directory of its owner.
func Local(b store.Sandbox) bool { return b.Spec == ThisMachine }

// AddLocal makes a sandbox with an id around a directory of its owner, which exists and was
// checked, unless there is one with the id already.
func (s *Service) AddLocal(ctx context.Context, owner identity.Tenant, id, dir string) (store.Sandbox, error) {
	b := s.fresh(owner, id, ThisMachine, dir)
	err := s.o.Store.AddSandbox(ctx, b, s.o.Most)
	if fault.Is(err, fault.Conflict) {
		return s.Get(ctx, owner, id)
	}
	return b, err
}

// gone reports whether a directory is not there.
func gone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, os.ErrNotExist)
}
