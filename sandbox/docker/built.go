package docker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/image"
)

// labelBuilt is the label of images that BuildImage has made for this Options.Dir; its value
// is the name that BuildImage returns. An image that others build from one of them has the
// label too, but not the name.
func (p *Provider) labelBuilt() string { return "dev.deft.built." + p.owner }

// localPrefix is Podman's prefix of names without a registry.
const localPrefix = "localhost/"

// BuiltImages returns the present images that BuildImage has made for this
// Options.Dir, oldest first.
func (p *Provider) BuiltImages(ctx context.Context) ([]image.Built, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	ctx, cancel := p.answering(ctx)
	defer cancel()
	got, err := p.engine.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", p.labelBuilt())})
	if err != nil {
		return nil, engineError(err, "list images")
	}
	var all []image.Built
	for _, found := range got.Items {
		b := image.Built{Name: found.Labels[p.labelBuilt()], Created: time.Unix(found.Created, 0), Bytes: found.Size}
		for _, tag := range found.RepoTags {
			for _, prefix := range []string{localPrefix, "docker.io/library/"} {
				tag = strings.TrimPrefix(tag, prefix)
			}
			if strings.HasPrefix(tag, image.Repository+":") {
				b.Tags = append(b.Tags, tag)
			}
		}
		if slices.Contains(b.Tags, b.Name) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b image.Built) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// RemoveBuiltImage removes an image by the names that Deft has given it, the one of its Name
// last: under others it stays. Conflict if a container uses it, which leaves its Name.
func (p *Provider) RemoveBuiltImage(ctx context.Context, b image.Built) error {
	names := append(slices.DeleteFunc(slices.Clone(b.Tags), func(tag string) bool { return tag == b.Name }), b.Name)
	var errs []error
	for _, name := range names {
		_, err := p.engine.ImageRemove(ctx, name, client.ImageRemoveOptions{PruneChildren: true})
		switch {
		case err == nil || errdefs.IsNotFound(err):
		case errdefs.IsConflict(err):
			errs = append(errs, fault.New(fault.Conflict, "a container uses the image "+name).Because(err))
		default:
			errs = append(errs, engineError(err, "remove image "+name))
		}
	}
	return errors.Join(errs...)
}
