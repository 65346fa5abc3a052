package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/runtimeapi"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
	"github.com/deft-dev/deft/server/runtimeapi/store"
	"github.com/deft-dev/deft/session/build"
)

// runtimeAPICmd serves the Runtime API of OpenHands.
type runtimeAPICmd struct {
	Host         string          `help:"Address to listen on, also for the ports of runtimes." default:"127.0.0.1" placeholder:"ADDRESS"`
	Port         int             `help:"Port to listen on; 0 takes a free one, which is printed." default:"3000"`
	APIKeyFile   string          `name:"api-key-file" help:"File with the keys of clients: on each line KEY, NAME KEY or NAME KEY QUOTA." placeholder:"FILE" type:"path"`
	APIKeyEnv    string          `name:"api-key-env" help:"Variable that holds the keys, in the same form (default: DEFT_RUNTIME_API_KEYS)." placeholder:"NAME"`
	Quota        int             `help:"How many runtimes each key may have; 0 for no limit." default:"100" placeholder:"N"`
	Sandbox      string          `help:"Class of runtimes: ${runtime_classes}." enum:"${runtime_names}" default:"process"`
	Pool         string          `help:"JSON file that says which sandboxes wait for requests; SIGHUP reads it again." placeholder:"FILE" type:"path"`
	RuntimeURL   string          `name:"runtime-url" help:"Where runtimes are reached: an address with {port}, each at a port of its own, or with {runtime_id} in the host's name or in the path, at the port of this server (default: http://HOST:{port})." placeholder:"URL"`
	Ignore       []string        `help:"Fields of start requests that are passed over where the sandbox cannot do as they say; otherwise the request is refused: image, image_pull_policy, run_as_user, run_as_group, fs_group, runtime_class, resource_factor." placeholder:"FIELD"`
	Net          sandbox.Network `help:"What runtimes may reach: every public host (--net), these hosts (--net=pypi.org,.example.com:443), the registries of go, npm, pypi, cargo, maven or debian (--net=go,npm) or none (default: none)." placeholder:"HOSTS"`
	Memory       sandbox.Size    `help:"How much memory a runtime with the resource factor 1 may use, for example 4G." placeholder:"SIZE"`
	CPUs         float64         `name:"cpus" help:"How many processors a runtime with the resource factor 1 may use." placeholder:"N"`
	Pids         int             `help:"How many processes and threads each runtime may have; -1 for no limit." placeholder:"N"`
	Idle         time.Duration   `help:"Pause runtimes that nobody has used for so long and that do not work; 0 for never." default:"1h"`
	Keep         time.Duration   `help:"Remove paused and ended runtimes, with their files, after this time; 0 for never." default:"168h"`
	ImagePrefix  string          `name:"registry-prefix" help:"What the names of images that clients build begin with, before the name of their key." default:"deft.local" placeholder:"NAME"`
	BuildNetwork bool            `name:"build-network" help:"Give the steps of builds the engine's default network; otherwise they have none."`
}

// Help is shown by --help.
func (c *runtimeAPICmd) Help() string {
	return `Takes the place of OpenHands' Runtime API: its RemoteRuntime, RemoteSandboxService and
APIRemoteWorkspace work with it unchanged. In each runtime runs Deft's agent server or
action server, whatever path of OpenHands the client names, or the program that it gives.

  DEFT_RUNTIME_API_KEYS=… deft runtime-api --sandbox docker
  DEFT_RUNTIME_API_KEYS=… deft runtime-api --ignore image,image_pull_policy,run_as_user,fs_group,runtime_class
                                     # sandboxes of this machine's own programs`
}

// defaultKeysVariable holds keys if nothing else is named.
const defaultKeysVariable = "DEFT_RUNTIME_API_KEYS"

// Run serves until it is told to stop. Runtimes run on.
func (c *runtimeAPICmd) Run(ctx context.Context, std *streams, g *globalFlags) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM) // SIGHUP reads the pool's file again
	defer stop()
	keys, err := c.keys(std)
	if err != nil {
		return err
	}
	if err := errors.Join(c.check(), c.Net.Check(), c.Memory.CheckLimit("--memory")); err != nil {
		return err
	}
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.data, "runtime-api")
	if err := os.MkdirAll(dir, 0o711); err != nil { // users of containers enter their workspaces below it
		return fault.Wrap(err, fault.Denied, "make the directory of runtimes")
	}
	unlock, err := lockRuntimes(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	pattern := c.RuntimeURL
	if pattern == "" {
		pattern = runtimeapi.DefaultPattern(c.Host)
	}
	addresses, err := runtimeapi.NewAddresses(pattern, c.Host, log)
	if err != nil {
		return err
	}
	ring, err := config.OpenRing(std.Env, p.data, std.tell)
	if err != nil {
		return err
	}
	kept, err := store.Open(ctx, filepath.Join(dir, "runtimes.db"), ring)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	o := registry.Options{
		Dir: filepath.Join(dir, "workspaces"), Network: c.Net, Ignore: c.Ignore, Store: kept, Addresses: addresses,
		Limits: sandbox.Limits{MemoryBytes: int64(c.Memory), CPUs: c.CPUs, PIDs: c.Pids}, Idle: c.Idle, Keep: c.Keep, Log: log,
	}
	closeProvider, err := c.open(dir, p, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	images, _ := o.Provider.(runtimeapi.Images) // where there are any
	queue, closeBuilds, err := c.openBuilds(ctx, o.Provider, kept, filepath.Join(dir, "builds"), log)
	if err != nil {
		return err
	}
	defer closeBuilds()
	address := net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
	listener, err := std.listen(ctx, "tcp", address, "--host and --port")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // it may be closed already
	runtimes, err := registry.Open(ctx, o)
	if err != nil {
		return err
	}
	defer runtimes.Close()
	server, err := runtimeapi.New(runtimeapi.Options{
		Keys: keys, Registry: runtimes, Addresses: addresses, Images: images, Builds: queue, RegistryPrefix: c.ImagePrefix, Log: log,
	})
	if err != nil {
		return err
	}
	if c.Pool != "" {
		if err := c.setPool(runtimes); err != nil {
			return err
		}
		defer c.reread(runtimes, log)()
	}
	fmt.Fprintf(std.Out, "runtime API on http://%s\n", listener.Addr())
	return server.Serve(ctx, listener)
}

// openBuilds opens the queue of builds; nil if the sandboxes have no images.
func (c *runtimeAPICmd) openBuilds(ctx context.Context, provider sandbox.Provider, kept builds.Store, dir string, log *slog.Logger) (_ *builds.Queue, closeAll func(), err error) {
	builder, ok := provider.(image.ContextBuilder)
	if !ok {
		return nil, func() {}, nil
	}
	queue, err := builds.Open(ctx, builds.Options{
		Builder: builder, Store: kept, Dir: dir, Network: c.BuildNetwork, MemoryBytes: int64(c.Memory), CPUs: c.CPUs, Log: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return queue, queue.Close, nil
}

func (c *runtimeAPICmd) check() error {
	chosen := sandbox.Choice{Name: c.Sandbox, Class: sandboxClasses().Get(c.Sandbox)}
	builds := sandbox.Asked{Feature: sandbox.FeatureBuild, Settings: []string{"--build-network"}, Given: c.BuildNetwork}
	if err := sandboxClasses().Refuse(chosen, builds); err != nil {
		return err
	}
	for _, name := range c.Ignore {
		if !slices.Contains(registry.Fields, name) {
			return fault.New(fault.Invalid, "--ignore: there is no field "+name).Hint("there are " + strings.Join(registry.Fields, ", "))
		}
	}
	if c.Quota < 0 || c.CPUs < 0 || c.Idle < 0 || c.Keep < 0 {
		return fault.New(fault.Invalid, "--quota, --cpus, --idle and --keep must not be negative")
	}
	return nil
}

// keys reads the keys of clients. They are never the value of a flag.
func (c *runtimeAPICmd) keys(std *streams) ([]runtimeapi.Key, error) {
	text, from := "", "--api-key-file"
	if c.APIKeyFile != "" {
		raw, err := textfile.Read(c.APIKeyFile)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "read the keys of --api-key-file")
		}
		text = string(raw)
	} else {
		from = cmp.Or(c.APIKeyEnv, defaultKeysVariable)
		text = std.Env(from)
	}
	keys, err := runtimeapi.ParseKeys(text, c.Quota)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil
}

// lockRuntimes keeps a second server from the same runtimes.
func lockRuntimes(ctx context.Context, dir string) (unlock func(), err error) {
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	unlock, err = filelock.Lock(wait, filepath.Join(dir, "lock"))
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return nil, fault.New(fault.Conflict, "another runtime API uses "+dir).Hint("stop it, or give this one a directory with --data")
	}
	return unlock, err
}

// open makes the provider of sandboxes, and sets its facts for the registry.
func (c *runtimeAPICmd) open(dir string, p paths, o *registry.Options) (closeIt func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the binary: %w", err)
	}
	small, install, err := sandboxProgram(filepath.Join(dir, "program"))
	if err == nil && small != "" {
		err = install() // before a client waits for it
	}
	if err != nil {
		return nil, err
	}
	o.Self, o.Small, o.Hidden = self, small, []string{p.data}
	class := sandboxClasses().Get(c.Sandbox)
	if o.Containers = class.Has(sandbox.FeatureImage); !o.Containers {
		o.Env = build.CommandEnv(os.Environ())
	}
	if o.Provider, err = class.New(sandbox.Config{
		Dir: filepath.Join(dir, "sandboxes"), Program: small, Programs: []string{self}, Install: install, Hidden: o.Hidden,
	}); err != nil {
		return nil, err
	}
	closer, ok := o.Provider.(io.Closer)
	if !ok {
		return func() error { return nil }, nil
	}
	return closer.Close, nil
}

// setPool reads the file of --pool.
func (c *runtimeAPICmd) setPool(r *registry.Registry) error {
	raw, err := textfile.Read(c.Pool)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "read the file of --pool")
	}
	warm, err := runtimeapi.ParsePool(raw)
	if err != nil {
		return err
	}
	return r.SetWarm(warm)
}

// reread reads the file again at each SIGHUP.
func (c *runtimeAPICmd) reread(r *registry.Registry, log *slog.Logger) (stop func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range told {
			if err := c.setPool(r); err != nil {
				log.Error("the pool stays as it is", "err", err, "hint", fault.HintOf(err))
			}
		}
	}()
	return func() {
		signal.Stop(told)
		close(told)
		<-done
	}
}
