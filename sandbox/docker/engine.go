package docker

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/sandbox"
)

// Engine describes the engine of a Provider.
type Engine struct {
	Address, Version string
	// Rootless says that the engine runs without root's rights: root in a container is
	// then an ordinary user.
	Rootless bool
	// Runtimes are the OCI runtimes that containers can have, the default one first.
	Runtimes []string
	// Security are the mechanisms that the engine uses, for example "seccomp".
	Security []string
	// Images are the names of the images that are there.
	Images []string
}

// Engine asks the engine for its kind and version. Without an engine it has the
// errors of Start.
func (p *Provider) Engine(ctx context.Context) (e Engine, err error) {
	if p.unusable != nil {
		return e, p.unusable
	}
	ctx, cancel := p.answering(ctx)
	defer cancel()
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
	podman, err := p.podman(ctx)
	if err != nil {
		return e, err
	}
	for name := range got.Info.Runtimes {
		if name != got.Info.DefaultRuntime && !podman { // which has no choice, see forPodman
			e.Runtimes = append(e.Runtimes, name)
		}
	}
	slices.Sort(e.Runtimes)
	e.Runtimes = append([]string{got.Info.DefaultRuntime}, e.Runtimes...)
	for _, i := range images.Items {
		for _, name := range i.RepoTags {
			if name != "<none>:<none>" {
				e.Images = append(e.Images, shortName(name))
			}
		}
	}
	slices.Sort(e.Images)
	return e, nil
}

// Describe implements [sandbox.Describer].
func (p *Provider) Describe(ctx context.Context) ([]sandbox.Fact, error) {
	e, err := p.Engine(ctx)
	if err != nil {
		return nil, err
	}
	rootless := "no: its user has root's rights on this machine"
	if e.Rootless {
		rootless = "yes"
	}
	return []sandbox.Fact{
		{Name: "version", Value: e.Version}, {Name: "address", Value: e.Address}, {Name: "rootless", Value: rootless},
		{Name: "runtimes", Value: strings.Join(e.Runtimes, ", ")}, {Name: "security", Value: cmp.Or(strings.Join(e.Security, ", "), "none")},
		{Name: "images", Value: cmp.Or(strings.Join(e.Images, ", "), "none")},
	}, nil
}

// shortName is the name of an image as users give it: Podman shows where it is from.
func shortName(image string) string {
	return strings.TrimPrefix(strings.TrimPrefix(image, "localhost/"), "docker.io/library/")
}
