package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/pidfd"
)

// Options configure a Provider.
type Options struct {
	// Dir holds sockets, journals and logs, one directory per sandbox. It is made
	// with mode 0700. Required.
	Dir string
	// Image for sandboxes that name none; default DefaultImage.
	Image string
	// Host is the engine's address, as in DOCKER_HOST; default: DOCKER_HOST, or the
	// engine's usual socket. Only engines of this machine will do.
	Host string
	// Self is the binary whose main calls stage.MaybeInit; default: this one.
	Self string
	// Programs are further such binaries: a sandbox whose Argv begins with one has it instead.
	Programs []string
	// Install writes Self if it is not there; nil if it is there. It is called before each
	// start of a container, also by several at once.
	Install func() error
	// Home is the user's home directory, which is never taken for a repository around
	// a workspace. Default: this process's.
	Home string
	// Hidden are paths hidden in every sandbox, where a mount would show them.
	Hidden []string
	// GitIdentity has commits in containers carry the name and the address that Git gives
	// them outside, by the configuration in Home, unless the image or the repository says
	// otherwise.
	GitIdentity bool
	// AnswerTimeout bounds requests that the engine answers at once unless it is stuck, such
	// as the inspection of a container; default half a minute. Requests that do something
	// have longer.
	AnswerTimeout time.Duration
}

// DefaultImage is a small image with bash, git and Python.
const DefaultImage = "python:3.13-bookworm"

// Provider starts and finds containers. It implements sandbox.Provider.
type Provider struct {
	opt    Options
	engine *client.Client
	// unusable is why there is no engine; nil if there is one.
	unusable error
	owner    string // label of the containers of Options.Dir

	runtimesMu sync.Mutex
	runtimes   map[string]system.Runtime // of the engine by name, "" for its default; nil until it was asked

	mu     sync.Mutex
	live   map[string]*instance // sandboxes that are watched, by ID
	closed bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// proxies collects the proxies of containers that this process has started.
	proxies pidfd.Collector
}

var _ sandbox.Provider = (*Provider)(nil)

var validID = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// New returns a Provider. It neither connects to the engine nor makes a file. It
// fails with fault.Invalid for bad options. An invalid address of the engine is an
// error of each call that needs the engine: not of removing a sandbox that never
// existed.
func New(o Options) (*Provider, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fault.New(fault.Invalid, "the sandbox directory must be an absolute path")
	}
	o.Dir = realpath.Resolve(o.Dir)
	var err error
	if o.Self == "" {
		if o.Self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the binary: %w", err)
		}
	}
	if o.Install == nil {
		o.Install = func() error { return nil }
	}
	o.Home = realpath.Resolve(cmp.Or(o.Home, os.Getenv("HOME"), "/"))
	options := []client.Opt{client.FromEnv}
	if o.Host != "" {
		options = append(options, client.WithHost(o.Host))
	}
	var unusable error
	engine, err := client.New(options...)
	if err != nil {
		unusable = fault.New(fault.Invalid, "use the Docker engine").Hint("see DOCKER_HOST").Because(err)
	}
	sum := sha256.Sum256([]byte(o.Dir))
	p := &Provider{opt: o, engine: engine, unusable: unusable, owner: hex.EncodeToString(sum[:8]), live: map[string]*instance{}}
	p.opt.Image = cmp.Or(o.Image, DefaultImage)
	p.opt.AnswerTimeout = cmp.Or(o.AnswerTimeout, 30*time.Second)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Labels of our containers.
const (
	labelOwner = "dev.deft.provider"
	labelID    = "dev.deft.sandbox"
	labelKey   = "dev.deft.spec"      // changes with the parameters that a running one must match
	labelWork  = "dev.deft.workspace" // the Spec's
	labelImage = "dev.deft.image"
	labelNet   = "dev.deft.network"
)

// name is the container's name: the engine allows one of each, so two processes
// never start two.
func (p *Provider) name(id string) string { return "deft-" + p.owner + "-" + id }

func (p *Provider) dir(id string) string { return filepath.Join(p.opt.Dir, id) }

// lock serializes calls for one sandbox, also between processes.
func (p *Provider) lock(ctx context.Context, id string) (unlock func(), err error) {
	return filelock.Lock(ctx, filepath.Join(p.dir(id), "lock"))
}

// Start implements sandbox.Provider.
func (p *Provider) Start(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	s, err := p.check(s)
	if err != nil {
		return nil, err
	}
	if p.unusable != nil {
		return nil, p.unusable
	}
	if host := p.engine.DaemonHost(); !strings.HasPrefix(host, "unix://") {
		return nil, fault.New(fault.Unsupported, "the Docker engine at "+host+" may be on another machine, where the workspace is not").
			Hint("use an engine of this machine")
	}
	if err := os.MkdirAll(p.dir(s.ID), 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make sandbox directory")
	}
	unlock, err := p.lock(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := p.inspect(ctx, s.ID)
	switch {
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return nil, err
	case !found.State.Running:
		if err := p.delete(ctx, found.ID); err != nil {
			return nil, err
		}
	case found.Config.Labels[labelKey] != p.key(s):
		return nil, fault.New(fault.Conflict, "sandbox "+s.ID+" runs with another workspace, image or isolation").
			Hint("stop it first")
	default:
		return p.reuse(ctx, s.ID, found)
	}
	if err := p.opt.Install(); err != nil {
		return nil, err
	}
	in, err := p.launch(ctx, s)
	if err != nil {
		return nil, err
	}
	return handle{in, false}, nil
}

// reuse returns a running container, which is resumed if it is paused.
func (p *Provider) reuse(ctx context.Context, id string, found *container.InspectResponse) (sandbox.Sandbox, error) {
	if found.State.Paused {
		if _, err := p.engine.ContainerUnpause(ctx, found.ID, client.ContainerUnpauseOptions{}); err != nil {
			return nil, engineError(err, "resume container")
		}
	}
	in, err := p.watch(id, found)
	if err != nil {
		return nil, err
	}
	return handle{in, true}, nil
}

// Get implements sandbox.Provider.
func (p *Provider) Get(ctx context.Context, id string) (sandbox.Sandbox, error) {
	if !validID().MatchString(id) {
		return nil, fault.New(fault.Invalid, "not a sandbox id: "+id)
	}
	found, err := p.inspect(ctx, id)
	if err == nil && !found.State.Running {
		err = fault.New(fault.NotFound, "sandbox "+id+" has ended")
	}
	if err != nil {
		return nil, err
	}
	in, err := p.watch(id, found)
	if err != nil {
		return nil, err
	}
	return handle{in, true}, nil
}

// List implements sandbox.Provider.
func (p *Provider) List(ctx context.Context) ([]sandbox.Status, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	ctx, cancel := p.answering(ctx)
	defer cancel()
	found, err := p.engine.ContainerList(ctx, client.ContainerListOptions{
		All: true, // without it Podman leaves paused ones out
		Filters: make(client.Filters).Add("label", labelOwner+"="+p.owner).
			Add("status", string(container.StateRunning), string(container.StatePaused)),
	})
	if err != nil {
		return nil, engineError(err, "list containers")
	}
	list := []sandbox.Status{}
	for _, c := range found.Items {
		s := sandbox.Status{
			ID: c.Labels[labelID], State: sandbox.Running, Started: time.Unix(c.Created, 0),
			Workspace: c.Labels[labelWork], Image: c.Labels[labelImage],
		}
		if c.State == container.StatePaused {
			s.State = sandbox.Paused
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b sandbox.Status) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Remove implements sandbox.Provider.
func (p *Provider) Remove(ctx context.Context, id string) error {
	if !validID().MatchString(id) {
		return fault.New(fault.Invalid, "not a sandbox id: "+id)
	}
	if _, err := os.Lstat(p.dir(id)); os.IsNotExist(err) {
		return nil
	}
	unlock, err := p.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	image := p.opt.Image
	found, err := p.inspect(ctx, id)
	switch {
	case err == nil:
		image = found.Config.Image
	case errors.Is(err, errStuck):
		return p.notRemoved(id, err)
	}
	if err := p.delete(ctx, p.name(id)); err != nil {
		return p.notRemoved(id, err)
	}
	return p.removeDir(ctx, id, image)
}

func (p *Provider) notRemoved(id string, err error) error {
	return fault.New(fault.KindOf(err), "remove the container").Because(err).
		Hint("when the engine runs, `docker rm -f " + p.name(id) + "` removes it")
}

// delete removes a container, whatever its state, if there is one.
func (p *Provider) delete(ctx context.Context, name string) error {
	if p.unusable != nil {
		return p.unusable
	}
	// gVisor takes 10 seconds to end a paused container. An error says that it is not.
	_, _ = p.engine.ContainerUnpause(ctx, name, client.ContainerUnpauseOptions{})
	_, err := p.engine.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	err = engineError(err, "remove container")
	if fault.Is(err, fault.Conflict) { // somebody else removes it
		err = p.removed(ctx, name, err)
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// removed waits until a container is removed that could not be removed because of an
// error.
func (p *Provider) removed(ctx context.Context, name string, failed error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, failed)
	defer cancel()
	wait := p.engine.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return engineError(err, "wait until the container is removed")
	}
}

// inspect returns the container of a sandbox. NotFound if there is none.
func (p *Provider) inspect(ctx context.Context, id string) (*container.InspectResponse, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	ctx, cancel := p.answering(ctx)
	defer cancel()
	found, err := p.engine.ContainerInspect(ctx, p.name(id), client.ContainerInspectOptions{})
	if err != nil {
		return nil, engineError(err, "look for container")
	}
	return &found.Container, nil
}

// Close ends the Provider's own goroutines and waits for them. Containers run on;
// their Done channels no longer close. The Provider cannot be used after.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
	p.proxies.Close()
	if p.engine == nil {
		return nil
	}
	return p.engine.Close()
}
