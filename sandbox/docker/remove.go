package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
)

// removeDir removes a sandbox's directory. The kernel and other users of the container have
// made files in its overlays which only root may remove: the engine, which is, does.
func (p *Provider) removeDir(ctx context.Context, id, image string) error {
	err := os.RemoveAll(p.dir(id))
	if errors.Is(err, fs.ErrPermission) {
		if rerr := p.removeAsRoot(ctx, id, image); rerr != nil {
			return errors.Join(fmt.Errorf("remove sandbox directory: %w", err), rerr)
		}
		err = os.RemoveAll(p.dir(id))
	}
	if err != nil {
		return fmt.Errorf("remove sandbox directory: %w", err)
	}
	return nil
}

// removeAsRoot empties a sandbox's directory in a container that has nothing else.
func (p *Provider) removeAsRoot(ctx context.Context, id, image string) (err error) {
	if err := p.opt.Install(); err != nil {
		return err
	}
	made, err := p.engine.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image: image, User: "0:0", Entrypoint: []string{inside.Self}, Cmd: []string{inside.RemoveArg},
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: "none", CapDrop: []string{"ALL"}, CapAdd: []string{"DAC_OVERRIDE", "FOWNER"}, SecurityOpt: []string{"no-new-privileges"},
			Mounts: []mount.Mount{bind(p.opt.Self, inside.Self, true), bind(p.dir(id), inside.Removed, false)},
		},
	})
	if err != nil {
		return engineError(err, "create container")
	}
	defer func() { err = errors.Join(err, p.delete(context.WithoutCancel(ctx), made.ID)) }()
	ended := p.engine.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := p.engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return engineError(err, "start container")
	}
	select {
	case err := <-ended.Error:
		return engineError(err, "wait for a container")
	case r := <-ended.Result:
		if r.StatusCode != 0 {
			return fault.New(fault.Denied, fmt.Sprintf("a container could not remove the sandbox's files: exit code %d", r.StatusCode))
		}
		return nil
	}
}
