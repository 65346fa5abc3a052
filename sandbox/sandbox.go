// Package sandbox defines sandboxes: a Provider starts, finds and stops them.
// sandbox/process is the built-in one.
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
// weakened silently), fault.Denied if it may not, fault.Invalid for a bad Spec.
package sandbox

import (
	"context"
	"net"
)

// Spec describes a sandbox to start.
type Spec struct {
	// ID names the sandbox; the conversation's id.
	ID string
	// Argv is the program to run inside, absolute, as seen from outside.
	Argv []string
	// Env is its whole environment; nothing is inherited.
	Env []string
	// EnvMark changes with the variables that must be those of a sandbox that is
	// found running: with another mark it is a Conflict. Empty for any.
	EnvMark string
	// Workspace is the one directory, absolute, that is writable at its own
	// path and is the working directory.
	Workspace string
	// Hidden are further paths that must not be readable inside.
	Hidden []string
	// AlsoHidden are further ones of a sandbox that is started now. One that runs is
	// the same without them: what there is to hide changes with time.
	AlsoHidden []string
	// Readable and Writable are further directories that the user grants,
	// absolute and without links. They appear at their own paths.
	Readable, Writable []string
	// Network says what commands may reach beside their own loopback interface;
	// default: nothing. Programs find the way in HTTP_PROXY and its like, which the
	// provider adds to Env.
	Network Network
	Limits  Limits
}

// Limits bound what a sandbox uses. A zero field stands for the provider's default,
// a negative one for no limit. They hold where the host allows (see Report).
type Limits struct {
	MemoryBytes int64
	CPUs        float64
	PIDs        int
}

// Sandbox is a running sandbox.
type Sandbox interface {
	// Dial connects to its Action Execution Server. The error is of kind
	// fault.Unavailable if nothing answers.
	Dial(ctx context.Context) (net.Conn, error)
	// Report says which isolation is in force.
	Report() Report
	// Reused reports whether Start found it running.
	Reused() bool
	// Stop ends everything in it and waits until it has ended.
	Stop(ctx context.Context) error
	// Done is closed when it has ended, for whatever reason.
	Done() <-chan struct{}
}

// Provider starts and finds sandboxes.
type Provider interface {
	// Start starts the sandbox, or returns the one that runs under the ID.
	Start(ctx context.Context, s Spec) (Sandbox, error)
	// Get returns a running sandbox. NotFound if there is none.
	Get(ctx context.Context, id string) (Sandbox, error)
	// List returns the ids of the running sandboxes.
	List(ctx context.Context) ([]string, error)
}

// Report says what isolates a sandbox.
type Report struct {
	// Level is "namespaces", "landlock" or "none".
	Level string `json:"level"`
	// Features are the mechanisms in force, for example "user-namespace",
	// "pid-namespace", "seccomp", "landlock-7", "cgroup-memory".
	Features []string `json:"features"`
	// Missing says, for each mechanism that is not in force, why.
	Missing []Missing `json:"missing,omitempty"`
}

// Missing is a mechanism that is not in force.
type Missing struct {
	Feature string `json:"feature"`
	Reason  string `json:"reason"`
}
