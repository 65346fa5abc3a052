package docker

import (
	"context"
	"time"

	"github.com/deft-dev/deft/fault"
)

// FindImage returns when an image was made and its size in bytes. NotFound if the engine
// does not have it: it is not fetched.
func (p *Provider) FindImage(ctx context.Context, name string) (created time.Time, bytes int64, err error) {
	if p.unusable != nil {
		return time.Time{}, 0, p.unusable
	}
	found, err := p.engine.ImageInspect(ctx, name)
	if err != nil {
		return time.Time{}, 0, engineError(err, "find image "+name)
	}
	if found.Created != "" { // some builders leave it out
		if created, err = time.Parse(time.RFC3339Nano, found.Created); err != nil {
			return time.Time{}, 0, fault.Wrap(err, fault.Internal, "read the age of image "+name)
		}
	}
	return created, found.Size, nil
}
