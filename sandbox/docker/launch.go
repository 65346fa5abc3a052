package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/fsnotify/fsnotify"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/sandbox/internal/repository"
)

// startTimeout bounds the time from the engine's start to the program's: some
// hundred milliseconds on a quiet machine.
const startTimeout = time.Minute

// Directories of a sandbox's directory: runDir is mounted at [inside.Run] and is there for the
// start only, relayDir is mounted read-only at [inside.Relay].
const (
	runDir   = "run"
	relayDir = "relay"
	emptyDir = "empty" // is shown in place of hidden paths
)

// launch creates and starts the container, and waits for its program.
func (p *Provider) launch(ctx context.Context, s sandbox.Spec) (*instance, error) {
	if err := p.prepare(s); err != nil {
		return nil, err
	}
	options, err := p.createOptions(ctx, s)
	if err != nil {
		return nil, err
	}
	planned := make(chan error, 1)
	p.wg.Go(func() { planned <- p.writePlan(s) }) // meanwhile: it asks git
	made, err := p.create(ctx, s, options)
	if perr := <-planned; err == nil && perr != nil {
		err = errors.Join(perr, p.delete(context.WithoutCancel(ctx), made))
	}
	if err != nil {
		return nil, err
	}
	in, err := p.begin(ctx, s, made)
	if err != nil {
		return nil, errors.Join(err, p.delete(context.WithoutCancel(ctx), made))
	}
	return in, nil
}

// prepare makes the files that the first stage opens. The directory is one that the
// container's user may write; its parent keeps other users of the machine out.
func (p *Provider) prepare(s sandbox.Spec) error {
	dir, run := p.dir(s.ID), filepath.Join(p.dir(s.ID), runDir)
	if err := os.RemoveAll(run); err != nil {
		return fmt.Errorf("clear the directory for the start: %w", err)
	}
	if err := os.Mkdir(run, 0o700); err != nil {
		return fmt.Errorf("make the directory for the start: %w", err)
	}
	if err := os.Mkdir(filepath.Join(dir, emptyDir), 0o555); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the empty directory: %w", err)
	}
	if err := os.Mkdir(filepath.Join(dir, relayDir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the directory for the proxy's socket: %w", err)
	}
	if err := os.Chmod(run, 0o777); err != nil {
		return fmt.Errorf("open the directory for the start: %w", err)
	}
	if err := p.writeHosts(s); err != nil {
		return fmt.Errorf("write the names of hosts: %w", err)
	}
	for _, name := range []string{inside.JournalName, inside.LogName} {
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			err = errors.Join(f.Chmod(0o666), f.Close(), os.Link(path, filepath.Join(run, name)))
		}
		if err != nil {
			return fmt.Errorf("make the sandbox's %s: %w", name, err)
		}
	}
	return nil
}

// writePlan writes the plan of the first stage.
func (p *Provider) writePlan(s sandbox.Spec) error {
	argv := s.Argv
	if argv[0] == p.program(s) {
		argv = append([]string{inside.Self}, argv[1:]...)
	}
	plan := inside.Plan{Image: sandbox.ImageVariables, Argv: argv, Env: s.Env, Workspace: s.Workspace, Proxy: !s.Network.None()}
	if p.opt.GitIdentity {
		plan.GitConfig = repository.Identity(p.opt.Home, s.Workspace)
		plan.Shown = append(slices.Concat(s.Readable, s.Writable), s.Workspace)
		for _, m := range s.Container.Mounts {
			plan.Shown = append(plan.Shown, m.Target)
		}
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	path := filepath.Join(p.dir(s.ID), runDir, inside.PlanName)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("write the start's plan: %w", err)
	}
	return os.Chmod(path, 0o644)
}

// create makes the container, and fetches its image if need be.
func (p *Provider) create(ctx context.Context, s sandbox.Spec, o client.ContainerCreateOptions) (id string, err error) {
	if s.Container.Pull == sandbox.PullAlways {
		if err := p.pull(ctx, s.Container.Image); err != nil {
			return "", err
		}
	}
	made, err := p.createContainer(ctx, o)
	if err != nil && nameTaken(err) { // by one that is being removed: the sandbox is locked
		if err = p.delete(ctx, o.Name); err == nil {
			made, err = p.createContainer(ctx, o)
		}
	}
	err = engineError(err, "create container")
	if fault.Is(err, fault.NotFound) && s.Container.Pull != sandbox.PullAlways {
		if s.Container.Pull == sandbox.PullNever {
			hint := "`docker pull " + s.Container.Image + "` fetches it, or choose one of `docker images`"
			if strings.HasPrefix(s.Container.Image, image.Repository+":") {
				hint = "it was built, and has been removed since: name its Dockerfile, or its dependencies, again"
			}
			return "", fault.New(fault.Invalid, "there is no image "+s.Container.Image).Hint(hint).Because(err)
		}
		if err := p.pull(ctx, s.Container.Image); err != nil {
			return "", err
		}
		made, err = p.createContainer(ctx, o)
		err = engineError(err, "create container")
	}
	if err != nil {
		return "", explain(err, s)
	}
	return made, nil
}

// createContainer makes a container. The engine goes on to make one whose client gives up,
// which is removed then.
func (p *Provider) createContainer(ctx context.Context, o client.ContainerCreateOptions) (id string, err error) {
	type result struct {
		id  string
		err error
	}
	done := make(chan result)
	p.wg.Go(func() {
		create, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		made, err := p.engine.ContainerCreate(create, o)
		select {
		case done <- result{made.ID, err}:
		case <-ctx.Done():
			if err == nil {
				_ = p.delete(create, made.ID) // the directory stays, and is removed with the container later
			}
		}
	})
	select {
	case r := <-done:
		return r.id, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// nameTaken reports whether there is a container of the name of one that was to be made.
func nameTaken(err error) bool {
	return errdefs.IsConflict(err) || strings.Contains(err.Error(), "is already in use") // Podman's words
}

// pull fetches an image.
func (p *Provider) pull(ctx context.Context, image string) error {
	r, err := p.engine.ImagePull(ctx, image, client.ImagePullOptions{})
	if err == nil {
		err = r.Wait(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return engineError(err, "fetch image")
	}
	kind := fault.Invalid
	if fault.Is(engineError(err, ""), fault.Unavailable) {
		kind = fault.Unavailable
	}
	return fault.New(kind, "fetch image "+image).Hint("is the name right, and the registry reachable? `docker pull " + image + "` shows more").Because(err)
}

// begin starts the container and waits until its program listens.
func (p *Provider) begin(ctx context.Context, s sandbox.Spec, name string) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	run := filepath.Join(p.dir(s.ID), runDir)
	changed, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the start: %w", err)
	}
	defer changed.Close()
	if err := changed.Add(run); err != nil {
		return nil, fmt.Errorf("watch the start: %w", err)
	}
	proxy, err := p.listenForProxy(s)
	if err != nil {
		return nil, err
	}
	defer proxy.close()
	if _, err := p.engine.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
		return nil, explain(engineError(err, "start container"), s)
	}
	found, err := p.inspect(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	in, err := p.watch(s.ID, found)
	if err != nil {
		return nil, err
	}
	proxy.start(found.State.Pid)
	listening := filepath.Join(run, inside.SocketName)
	for {
		if _, err := os.Lstat(listening); err == nil {
			break
		}
		select {
		case <-changed.Events:
		case err := <-changed.Errors:
			return nil, fmt.Errorf("watch the start: %w", err)
		case err := <-proxy.failed:
			return nil, err
		case <-in.ended:
			return nil, p.endedAtOnce(ctx, s, name)
		case <-ctx.Done():
			hint := "`docker logs " + p.name(s.ID) + "` may say more"
			if s.Container.Runtime != "" {
				hint += "; the runtime " + s.Container.Runtime + " must let UNIX sockets through, as gVisor does with --host-uds=all"
			}
			return nil, fault.New(fault.Timeout, "wait for the container's program").Hint(hint).Because(context.Cause(ctx))
		}
	}
	// Commands have no path to the server: they have not begun yet.
	if err := os.Rename(listening, filepath.Join(p.dir(s.ID), inside.SocketName)); err != nil {
		return nil, fmt.Errorf("take the sandbox's socket: %w", err)
	}
	// Nothing can be made in a directory that is removed, not even by root in the container:
	// it is on the disk of this machine, where the container's limits do not count.
	if err := os.RemoveAll(run); err != nil {
		return nil, fmt.Errorf("close the directory of the start: %w", err)
	}
	return in, nil
}

// explain adds the user's next step to the engine's error about a container that it
// cannot make or start.
func explain(err error, s sandbox.Spec) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "unable to find user"):
		return fault.Wrap(err, fault.Invalid, "the image "+s.Container.Image+" has no user "+s.Container.User)
	case strings.Contains(text, "unknown or invalid runtime"), strings.Contains(text, "Unknown runtime"),
		s.Container.Runtime != "" && strings.Contains(text, "OCI runtime") && strings.Contains(text, "not found"):
		return fault.New(fault.Unsupported, "the engine has no runtime "+s.Container.Runtime).Hint("`docker info` lists those it has").Because(err)
	case s.Container.DiskBytes > 0 && strings.Contains(text, "storage-opt"):
		return fault.New(fault.Unsupported, "the engine's storage cannot limit the bytes that a container writes").
			Hint("Docker's can on XFS that is mounted with pquota, on btrfs and on ZFS; leave --disk out").Because(err)
	case s.Container.DiskBytes > 0 && strings.Contains(text, "quota exceeded"): // btrfs
		return fault.New(fault.Invalid, "--disk is less than the image takes, which the engine's storage counts as well").
			Hint("give --disk the size of the image and what the container may write; `docker image ls` has the size").Because(err)
	case strings.Contains(text, "could not select device driver"):
		return fault.New(fault.Unsupported, "the engine has no GPUs").Hint("install the GPU vendor's container toolkit, or leave --gpus out").Because(err)
	case strings.Contains(text, "invalid reference format"):
		return fault.New(fault.Invalid, "not the name of an image: "+s.Container.Image).Hint("for example debian:12, in lower case").Because(err)
	case strings.Contains(text, "Minimum memory limit"):
		return fault.New(fault.Invalid, "a container needs more memory than its limit").Hint("give --memory 64M or more").Because(err)
	case strings.Contains(text, "grpc: the client connection is closing"):
		return fault.New(fault.Unavailable, "the engine is stopping").Hint("try again when it runs; `docker info` tells").Because(err)
	}
	return err
}

// endedAtOnce says why a program did not listen: the first stage leaves its error,
// and if even that did not run the engine's log has the reason.
func (p *Provider) endedAtOnce(ctx context.Context, s sandbox.Spec, name string) error {
	raw, err := os.ReadFile(filepath.Join(p.dir(s.ID), runDir, inside.ErrorName))
	if text, ok := strings.CutPrefix(string(raw), inside.NoProxy); ok {
		return fault.New(fault.Unsupported, "this container cannot be given a network").Because(errors.New(text)).
			Hint("start without --net, or with another OCI runtime; gVisor needs the argument --host-uds=all")
	}
	if err == nil && len(raw) > 0 {
		return fault.New(fault.Invalid, "cannot run "+s.Argv[0]+" in the image "+s.Container.Image).Because(errors.New(string(raw)))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ended := fault.New(fault.Unavailable, "the sandbox's program ended at once").Hint("see " + filepath.Join(p.dir(s.ID), inside.LogName))
	r, err := p.engine.ContainerLogs(ctx, name, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return ended.Because(engineError(err, "read the container's log"))
	}
	defer r.Close()
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, io.LimitReader(r, 1<<16)); err != nil {
		return ended.Because(err)
	}
	if strings.Contains(text.String(), "exec "+inside.Self+": no such file") {
		return fault.New(fault.Unsupported, "this binary of Deft needs a C library that the image "+s.Container.Image+" has not").
			Hint("use a release, or build it with CGO_ENABLED=0")
	}
	if text.Len() > 0 {
		ended = ended.Because(errors.New(strings.TrimSpace(text.String())))
	}
	return ended
}
