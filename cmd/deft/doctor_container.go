package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/deft-dev/deft/cli/doctor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
)

// triedContainer is a provider of containers as the doctor tries it.
type triedContainer struct {
	*docker.Provider
	image string
}

// Engine implements [doctor.Engine].
func (t triedContainer) Engine(ctx context.Context) ([]doctor.Item, error) {
	e, err := t.Provider.Engine(ctx)
	if err != nil {
		return nil, err
	}
	rootless := "no: its user has root's rights on this machine"
	if e.Rootless {
		rootless = "yes"
	}
	return []doctor.Item{
		{Name: "version", Value: e.Version}, {Name: "address", Value: e.Address}, {Name: "rootless", Value: rootless},
		{Name: "runtimes", Value: strings.Join(e.Runtimes, ", ")}, {Name: "security", Value: cmp.Or(strings.Join(e.Security, ", "), "none")},
		{Name: "images", Value: cmp.Or(strings.Join(e.Images, ", "), "none")},
	}, nil
}

// Doctor implements [doctor.Sandbox]: it starts a container of an image that is
// there. What is forbidden is tried by the tests of sandbox/docker, not here.
func (t triedContainer) Doctor(ctx context.Context) (rep sandbox.Report, _ []doctor.Attempt, err error) {
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
		if rerr := t.Remove(context.WithoutCancel(ctx), id); err == nil { // else it is the same trouble
			err = rerr
		}
	}()
	box, err := t.Start(ctx, sandbox.Spec{
		ID: id, Workspace: dir, Argv: []string{self, "action-server", "--workspace", dir, "--grace", "1m"},
		Container: sandbox.Container{Image: t.image, Pull: sandbox.PullNever},
	})
	if err != nil {
		return rep, nil, err
	}
	return box.Report(), nil, nil
}

// Access implements [doctor.Sandbox]: a container has the tools of its image.
func (t triedContainer) Access(context.Context, []string) ([]doctor.Access, error) { return nil, nil }
