package docker

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
)

const checkEngine = "is it running? `docker info` tells; DOCKER_HOST names another one"

// errStuck is the error of an engine that takes connections and does not answer.
var errStuck = fault.New(fault.Unavailable, "the Docker engine does not answer").
	Hint("`docker info` tells whether it is stuck; restart it, or name another one with DOCKER_HOST")

// answering bounds a question to the engine that it answers at once, unless it is stuck.
func (p *Provider) answering(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.opt.AnswerTimeout, errStuck)
}

// engineError gives an error of the engine its kind; nil for nil.
func engineError(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errStuck):
		return errStuck
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Canceled, doing)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EACCES),
		client.IsErrConnectionFailed(err) && strings.Contains(err.Error(), "permission denied while trying"): // the client's words, which wrap nothing
		return fault.New(fault.Denied, "use the Docker engine").Hint("add your user to the group of the engine's socket, or use the built-in sandbox").Because(err)
	case client.IsErrConnectionFailed(err):
		return fault.New(fault.Unavailable, "reach the Docker engine").Hint(checkEngine).Because(err)
	case strings.Contains(err.Error(), "no space left on device"):
		return fault.New(fault.Unavailable, doing).Hint("the engine's disk is full: `docker system df`").Because(err)
	case errdefs.IsNotFound(err), strings.Contains(err.Error(), "no such container"): // Podman's words for one that goes meanwhile
		return fault.Wrap(err, fault.NotFound, doing)
	case errdefs.IsConflict(err), errdefs.IsAlreadyExists(err):
		return fault.Wrap(err, fault.Conflict, doing)
	case errdefs.IsInvalidArgument(err):
		return fault.Wrap(err, fault.Invalid, doing)
	case errdefs.IsPermissionDenied(err), errdefs.IsUnauthorized(err):
		return fault.Wrap(err, fault.Denied, doing)
	case errdefs.IsUnavailable(err):
		return fault.New(fault.Unavailable, doing).Hint(checkEngine).Because(err)
	}
	return fault.New(fault.Internal, doing).Hint("the engine's log may say more").Because(err)
}
