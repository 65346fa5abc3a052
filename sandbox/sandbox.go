// Package sandbox defines sandboxes: a Provider starts, finds, pauses and stops
// them. sandbox/process is the built-in one, sandbox/docker uses containers.
//
// One Action Execution Server (runtime/actionserver) runs in each sandbox. The
// provider gives it a listening socket as file descriptor 3 and its result
// journal, open for reading and writing, as descriptor 4, so that neither has a
// path inside.
//
// # Concurrency and failure
//
// Providers and sandboxes are safe for concurrent use. A sandbox outlives the
// process that started it; Start with the same ID finds it again. Errors:
// fault.Unsupported if the host cannot isolate as requested (isolation is never
// weakened silently) or the provider has no such field of a Spec, fault.Denied if
// it may not, fault.Invalid for a bad Spec, fault.Unavailable if a service that
// the provider needs does not answer.
package sandbox

import (
	"cmp"
	"context"
	"io"
	"net"
	"path"
	"slices"
	"time"
)

// Spec describes a sandbox to start. A provider that cannot fulfil a field refuses the
// Spec with fault.Unsupported, which names the field. It names no ports: any port of a
// sandbox is reached over the link to its server (internal/portforward).
type Spec struct {
	// ID names the sandbox; the conversation's id.
	ID string
	// Argv is the program to run inside. Deft's own binary, by its absolute path
	// outside, is brought into every image; other programs come from the image.
	Argv []string
	// Env is its whole environment, to which the provider of an image adds the
	// image's own variables; nothing is inherited.
	Env []string
	// EnvMark changes with the variables that a sandbox that is found running must
	// have: with another mark it is a Conflict. Empty for any.
	EnvMark string
	// Workspace is the one directory, absolute, that is writable at its own
	// path and is the working directory.
	Workspace string
	// Alias is a second path of the workspace inside, for programs that expect it there;
	// "" for none. Where a sandbox cannot have it, its Report says that
	// [FeatureAlias] is missing.
	Alias string
	// Hidden are further paths that must not be readable inside.
	Hidden []string
	// AlsoHidden are further ones of a sandbox that is started now. One that runs is
	// the same without them: the paths to hide change with time.
	AlsoHidden []string
	// Readable and Writable are further directories that the user grants,
	// absolute and without links. They appear at their own paths.
	Readable, Writable []string
	// Network has the hosts that commands may reach beside their own loopback
	// interface; default: nothing. Programs find the way in HTTP_PROXY and its like,
	// which the provider adds to Env.
	Network Network
	Limits  Limits
	// Container has the fields of containers alone; its zero value is for all.
	Container Container
}

// ImageVariables are right in an image, and wrong outside it: providers of images leave
// them out of Env.
var ImageVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "HOSTNAME", "LD_LIBRARY_PATH"}

// Container is the part of a Spec for providers that start from an image.
type Container struct {
	// Image to start from; default: the provider's.
	Image string `json:"image,omitempty"`
	// Pull is PullMissing, PullAlways or PullNever; default PullMissing.
	Pull string `json:"pull,omitempty"`
	// User that programs run as: a name of the image, or "UID" or "UID:GID";
	// default: the owner of the workspace.
	User string `json:"user,omitempty"`
	// Mounts are further directories, files and volumes.
	Mounts []Mount `json:"mounts,omitempty"`
	// ExtraHosts are names with their addresses.
	ExtraHosts []ExtraHost `json:"extra_hosts,omitempty"`
	// GPUs are "all", a number, the ids of devices, or NoGPUs; default none.
	GPUs string `json:"gpus,omitempty"`
	// ReadOnly makes the image's own files read-only; /tmp, /run and the home are
	// then in memory.
	ReadOnly bool `json:"read_only,omitempty"`
	// DiskBytes is how much may be written beside the workspace and mounts; 0 or less for
	// no limit. Few engines can limit it.
	DiskBytes int64 `json:"disk_bytes,omitempty"`
	// Runtime is the OCI runtime, for example "runsc" for gVisor; default: the
	// engine's.
	Runtime string `json:"runtime,omitempty"`
}

// NoGPUs are no GPUs, also where [Container.Or] would take a stored container's.
const NoGPUs = "none"

// Or returns the container with the fields of more where c has none. Mounts and names of
// hosts are the union of both; c decides where both have a target, or a name.
func (c Container) Or(more Container) Container {
	if c.Image == "" {
		c.Image, c.Pull = more.Image, cmp.Or(c.Pull, more.Pull)
	}
	c.User, c.GPUs, c.Runtime = cmp.Or(c.User, more.User), cmp.Or(c.GPUs, more.GPUs), cmp.Or(c.Runtime, more.Runtime)
	c.ReadOnly, c.DiskBytes = c.ReadOnly || more.ReadOnly, cmp.Or(c.DiskBytes, more.DiskBytes)
	mounts, hosts := c.Mounts, c.ExtraHosts
	for _, m := range more.Mounts {
		if !slices.ContainsFunc(mounts, func(own Mount) bool { return path.Clean(own.Target) == path.Clean(m.Target) }) {
			c.Mounts = append(slices.Clip(c.Mounts), m)
		}
	}
	for _, h := range more.ExtraHosts {
		if !slices.ContainsFunc(hosts, func(own ExtraHost) bool { return own.Name == h.Name }) {
			c.ExtraHosts = append(slices.Clip(c.ExtraHosts), h)
		}
	}
	return c
}

// When an image is fetched.
const (
	PullMissing = "missing"
	PullAlways  = "always"
	PullNever   = "never"
)

// Limits bound the resources of a sandbox. A zero field stands for the provider's
// default, a negative one for no limit. They hold where the host allows (see
// Report).
type Limits struct {
	MemoryBytes int64   `json:"memory_bytes,omitempty"`
	CPUs        float64 `json:"cpus,omitempty"`
	PIDs        int     `json:"pids,omitempty"`
}

// Or returns the limits, and the limits of more where they are zero.
func (l Limits) Or(more Limits) Limits {
	return Limits{cmp.Or(l.MemoryBytes, more.MemoryBytes), cmp.Or(l.CPUs, more.CPUs), cmp.Or(l.PIDs, more.PIDs)}
}

// Sandbox is a sandbox that was started or found.
type Sandbox interface {
	// ID is its Spec's.
	ID() string
	// Dial connects to its Action Execution Server. The error is of kind
	// fault.Unavailable if nothing answers.
	Dial(ctx context.Context) (net.Conn, error)
	// Report says which isolation is in force.
	Report() Report
	// Reused reports whether Start found it running.
	Reused() bool
	// Status says how it is now. One that has ended says why, as far as that is known.
	Status(ctx context.Context) (Status, error)
	// Pause suspends every process in it, Resume lets them go on. Both do nothing if
	// that is so already. A paused sandbox keeps its memory and its connections.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Stats measures its use of resources. NotFound if it has ended.
	Stats(ctx context.Context) (Stats, error)
	// Logs returns its program's standard output and error: the last max bytes of it,
	// and later output until the sandbox ends or ctx does if follow is set.
	Logs(ctx context.Context, max int64, follow bool) (io.ReadCloser, error)
	// Stop ends everything in it and waits until it has ended, paused or not. Its
	// journal stays, so that Start goes on with it.
	Stop(ctx context.Context) error
	// Done is closed when it has ended, for whatever reason.
	Done() <-chan struct{}
}

// Provider starts and finds sandboxes. Commands that prepare a sandbox run over
// the link to its server, as all commands do (tool.Starter).
type Provider interface {
	// Start starts the sandbox, or returns the one that runs under the ID; a paused
	// one is resumed. Conflict if that one was started with another Spec.
	Start(ctx context.Context, s Spec) (Sandbox, error)
	// Get returns a running or paused sandbox. NotFound if there is none.
	Get(ctx context.Context, id string) (Sandbox, error)
	// List returns the sandboxes that run or are paused, by ID.
	List(ctx context.Context) ([]Status, error)
	// Remove stops a sandbox, if it runs, and deletes its kept files: journal, log,
	// and the container's own files. Nothing happens if there is none.
	Remove(ctx context.Context, id string) error
}

// Vanished returns the sandboxes with one of the ids that have run and are gone with
// the workspaces inside them, because somebody removed them: by id, when they were started.
// A provider for which that can be says it by a method of this name. The answer may be some
// seconds old.
func Vanished(ctx context.Context, p Provider, ids []string) (map[string]time.Time, error) {
	if v, ok := p.(interface {
		Vanished(ctx context.Context, ids []string) (map[string]time.Time, error)
	}); ok {
		return v.Vanished(ctx, ids)
	}
	return nil, nil
}

// State is the state of a sandbox.
type State string

// States. A sandbox that is neither is not known to its provider.
const (
	Running State = "running"
	Paused  State = "paused"
	Ended   State = "ended"
)

// Status says how a sandbox is.
type Status struct {
	ID      string    `json:"id"`
	State   State     `json:"state"`
	Started time.Time `json:"started"`
	// Workspace and Image are its Spec's.
	Workspace string `json:"workspace"`
	Image     string `json:"image,omitempty"`
	// Reason says why it has ended.
	Reason Reason `json:"reason,omitzero"`
}

// Reason says why a sandbox has ended.
type Reason struct {
	// Cause is one of the Cause constants.
	Cause Cause `json:"cause,omitempty"`
	// ExitCode of its program, for CauseExited.
	ExitCode int `json:"exit_code,omitempty"`
	// Message is for the user.
	Message string `json:"message,omitempty"`
}

// Cause is the reason for the end of a sandbox.
type Cause string

// Causes.
const (
	CauseUnknown     Cause = "unknown"       // it ended while nobody watched
	CauseExited      Cause = "exited"        // its program ended by itself
	CauseKilled      Cause = "killed"        // by Stop, or by another process
	CauseOutOfMemory Cause = "out_of_memory" // its limit
	CauseRemoved     Cause = "removed"       // by somebody else, for example "docker rm"
)

// Stats measures the resources of a sandbox.
type Stats struct {
	MemoryBytes int64         `json:"memory_bytes"`
	CPU         time.Duration `json:"cpu"` // since it started
	Processes   int           `json:"processes"`
}

// Report describes the isolation of a sandbox.
type Report struct {
	// Level is "namespaces", "landlock", "container", "remote" or "none".
	Level string `json:"level"`
	// Features are the mechanisms in force, for example "user-namespace",
	// "pid-namespace", "seccomp", "landlock-7", "cgroup-memory".
	Features []string `json:"features"`
	// Missing says, for each mechanism that is not in force, why.
	Missing []Missing `json:"missing,omitempty"`
	// Bounds says of each resource how much of it the sandbox may use.
	Bounds []Bound `json:"bounds,omitempty"`
}

// Bound is how much of a resource a sandbox may use.
type Bound struct {
	Resource string `json:"resource"`
	// Value is for the user: "18.0 GiB", or "not bounded" and why.
	Value string `json:"value"`
}

// Missing is a mechanism that is not in force.
type Missing struct {
	Feature string `json:"feature"`
	Reason  string `json:"reason"`
}
