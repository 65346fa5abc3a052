package docker

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
)

// forPodman changes the options of a container if the engine is Podman and they need it,
// and refuses options that Podman's API accepts and ignores.
func (p *Provider) forPodman(ctx context.Context, host *container.HostConfig) error {
	isOverlay := func(m mount.Mount) bool { return m.Type == mount.TypeVolume && m.VolumeOptions != nil }
	rootless := p.ofUser()
	if !rootless && host.Runtime == "" && len(host.DeviceRequests) == 0 && !slices.ContainsFunc(host.Mounts, isOverlay) {
		return nil
	}
	switch podman, err := p.podman(ctx); {
	case err != nil || !podman:
		return err
	case host.Runtime != "":
		return fault.New(fault.Unsupported, "Podman chooses no OCI runtime for one container").Hint("name it in its containers.conf, and leave --oci-runtime out")
	case len(host.DeviceRequests) > 0:
		return fault.New(fault.Unsupported, "Podman's Docker API gives containers no GPUs").Hint("use a Docker engine")
	}
	if rootless { // the owner of the workspace has the same number inside
		host.UsernsMode = "keep-id"
	}
	// It would make an empty volume of an overlay's options, and has overlays of its own.
	var others []mount.Mount
	for _, m := range host.Mounts {
		if !isOverlay(m) {
			others = append(others, m)
			continue
		}
		if strings.ContainsAny(m.Target, ":,") { // they separate the parts of a bind
			return fault.New(fault.Unsupported, "Podman makes no overlay at "+m.Target)
		}
		lower, above, _ := strings.Cut(strings.TrimPrefix(m.VolumeOptions.DriverConfig.Options["o"], "lowerdir="), ",")
		host.Binds = append(host.Binds, lower+":"+m.Target+":O,"+above)
	}
	host.Mounts = others
	return nil
}

// podman reports whether the engine is Podman.
func (p *Provider) podman(ctx context.Context) (bool, error) {
	got, err := p.engine.ServerVersion(ctx, client.ServerVersionOptions{})
	return slices.ContainsFunc(got.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" }), engineError(err, "ask the engine for its version")
}

// ofUser reports whether the engine is one of this user's own, without root's rights.
func (p *Provider) ofUser() bool {
	path, _ := strings.CutPrefix(p.engine.DaemonHost(), "unix://")
	fi, err := os.Stat(path)
	if err != nil {
		return false // the engine will name the mistake
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Uid != 0 && int(st.Uid) == os.Geteuid()
}
