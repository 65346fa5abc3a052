package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// Engine describes the engine of a Provider.
type Engine struct {
	Address, Version string
	// Rootless says that the engine runs without root's rights: root in a container is
	// then an ordinary user.
	Rootless bool
	// Runtimes are the OCI runtimes, the default one first.
	Runtimes []string
	// Security are the mechanisms that the engine uses, for example "seccomp".
	Security []string
	// Images are the names of those that are there.
	Images []string
}

// Engine asks the engine what it is. The errors are those that Start returns where
// there is no engine.
func (p *Provider) Engine(ctx context.Context) (e Engine, err error) {
	if p.unusable != nil {
		return e, p.unusable
	}
	e.Address = p.engine.DaemonHost()
	got, err := p.engine.Info(ctx, client.InfoOptions{})
	if err != nil {
		return e, engineError(err, "ask the Docker engine")
	}
	images, err := p.engine.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return e, engineError(err, "list images")
	}
	e.Version = got.Info.ServerVersion
	for _, option := range got.Info.SecurityOptions { // "name=seccomp,profile=default"
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "name="), ",")
		if name == "rootless" {
			e.Rootless = true
		} else {
			e.Security = append(e.Security, name)
		}
	}
	for name := range got.Info.Runtimes {
		if name != got.Info.DefaultRuntime {
			e.Runtimes = append(e.Runtimes, name)
		}
	}
	slices.Sort(e.Runtimes)
	e.Runtimes = append([]string{got.Info.DefaultRuntime}, e.Runtimes...)
	for _, i := range images.Items {
		for _, name := range i.RepoTags {
			if name != "<none>:<none>" {
				e.Images = append(e.Images, name)
			}
		}
	}
	slices.Sort(e.Images)
	return e, nil
}
