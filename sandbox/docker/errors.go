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

// engineError gives an error of the engine its kind; nil for nil.
func engineError(err error, doing string) error {
	const check = "is it running? `docker info` tells; DOCKER_HOST names another one"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Canceled, doing)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EACCES),
		client.IsErrConnectionFailed(err) && strings.Contains(err.Error(), "permission denied while trying"): // the client's words, which wrap nothing
		return fault.New(fault.Denied, "use the Docker engine").Hint("add your user to the group of the engine's socket, or use the built-in sandbox").Because(err)
	case client.IsErrConnectionFailed(err):
		return fault.New(fault.Unavailable, "reach the Docker engine").Hint(check).Because(err)
	case errdefs.IsNotFound(err), strings.Contains(err.Error(), "no such container"): // Podman's words for one that goes meanwhile
		return fault.Wrap(err, fault.NotFound, doing)
	case errdefs.IsConflict(err), errdefs.IsAlreadyExists(err):
		return fault.Wrap(err, fault.Conflict, doing)
	case errdefs.IsInvalidArgument(err):
		return fault.Wrap(err, fault.Invalid, doing)
	case errdefs.IsPermissionDenied(err), errdefs.IsUnauthorized(err):
		return fault.Wrap(err, fault.Denied, doing)
	case errdefs.IsUnavailable(err):
		return fault.New(fault.Unavailable, doing).Hint(check).Because(err)
	}
	return fault.New(fault.Internal, doing).Hint("the engine's log may say more").Because(err)
}
