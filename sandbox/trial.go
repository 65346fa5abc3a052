package sandbox

import "context"

// What a provider can do for `deft doctor`, beside what all can. Each is optional.
type (
	// Prober tries in a sandbox what must be forbidden.
	Prober interface {
		Doctor(ctx context.Context) (Report, []Attempt, error)
	}
	// AccessProber tries what commands can do with paths of this machine, under the grants
	// of a Spec (its Readable and Writable).
	AccessProber interface {
		Access(ctx context.Context, grants Spec, paths []string) ([]Access, error)
	}
	// CacheLister lists what sandboxes have written to caches of toolchains.
	CacheLister interface {
		CacheLayers(ctx context.Context) ([]CacheLayer, error)
	}
	// Describer describes what runs the sandboxes: its address, its version, what it
	// isolates with.
	Describer interface {
		Describe(ctx context.Context) ([]Fact, error)
	}
)

// Attempt is something forbidden that was really tried in a sandbox.
type Attempt struct {
	// Name is short and stable, for example "write-outside".
	Name string `json:"name"`
	// Detail says what was tried and what happened.
	Detail string `json:"detail"`
	// OK reports that it was refused, as it must be.
	OK bool `json:"ok"`
}

// Access is what commands in a sandbox can do with a file or a directory of the host.
type Access struct {
	Path     string `json:"path"`
	Readable bool   `json:"readable"` // it is the host's own that can be read, not an empty stand-in
	Writable bool   `json:"writable"`
	// Layered: a cache that can be read, and written to in a layer of the workspace's own.
	Layered bool `json:"layered"`
}

// CacheLayer is what the sandboxes of a workspace have written to caches of toolchains.
type CacheLayer struct {
	Workspace, Dir string
	Bytes          int64
}

// Fact is one thing to know about what runs the sandboxes.
type Fact struct{ Name, Value string }
