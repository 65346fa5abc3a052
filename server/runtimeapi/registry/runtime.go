package registry

import (
	"context"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

// State is the state of a runtime.
type State string

// States.
const (
	Starting State = "starting"
	Running  State = "running"
	Paused   State = "paused"
	// Stopped runtimes have ended without being asked to; see Runtime.Reason. Starting the
	// session again starts them again, with their files.
	Stopped State = "stopped"
)

// Runtime is one sandbox and the server in it.
type Runtime struct {
	// ID is the sandbox's as well.
	ID string `json:"id"`
	// Owner is the name of the key that it was started with.
	Owner string `json:"owner"`
	// SessionID is the client's name for it, unique for its owner.
	SessionID string `json:"session_id"`
	// SessionKey is sent by clients of its server.
	SessionKey string `json:"session_key"`
	State      State  `json:"state"`
	// Reason says why it has stopped, or could not be started.
	Reason string `json:"reason,omitempty"`
	// Restarts counts the starts after it had stopped, Reasons says why it had.
	Restarts int      `json:"restarts,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Image    string   `json:"image"`
	// WorkingDir is where its server runs, inside.
	WorkingDir string `json:"working_dir"`
	// Digest changes with the request that it was started with, but for the environment.
	Digest string `json:"digest"`
	// Port is the port on which the client wants the server to listen, inside.
	Port int `json:"port"`
	// Given says that the server is the client's own program, which does not know the
	// session key: whoever passes requests on to it checks the key.
	Given bool `json:"given,omitempty"`
	// Address is where it is reached; the server's own matter.
	Address string    `json:"address,omitempty"`
	Warm    bool      `json:"warm,omitempty"` // it came from the pool
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"` // its state
}

// Store keeps runtimes between two processes.
type Store interface {
	// Load returns all.
	Load(ctx context.Context) ([]Runtime, error)
	// Save adds or replaces one. It is kept when it returns, also if the process is
	// killed.
	Save(ctx context.Context, r Runtime) error
	// Delete removes one, if there is one.
	Delete(ctx context.Context, id string) error
}

// Addresses gives runtimes addresses.
type Addresses interface {
	// Open makes a runtime reachable, at the address that it had, if any, and returns
	// the address. It does nothing if that is so already.
	Open(id, had string) (address string, err error)
	// Close ends that.
	Close(id string)
}

// Request asks for a runtime.
type Request struct {
	Owner string
	// Quota is how many runtimes the owner may have; 0 for no limit.
	Quota int
	// SessionID is made up if it is empty.
	SessionID   string
	Image       string
	Command     Command
	WorkingDir  string
	Environment map[string]string
	// Factor multiplies the limits of a sandbox; 0 stands for 1.
	Factor float64
	// User, Group and FSGroup own the container's programs and the files in the workspace;
	// nil for the provider's.
	User, Group, FSGroup *int
	// Pull is one of sandbox.PullMissing and so on, or "".
	Pull string
	// RuntimeClass is an OCI runtime, or "".
	RuntimeClass string
}

// class is all that sandboxes of requests which can stand in for each other have in
// common.
type class struct {
	Image        string  `json:"image,omitempty"`
	Factor       float64 `json:"factor,omitempty"`
	User         *int    `json:"user,omitempty"`
	Group        *int    `json:"group,omitempty"`
	FSGroup      *int    `json:"fs_group,omitempty"`
	Pull         string  `json:"pull,omitempty"`
	RuntimeClass string  `json:"runtime_class,omitempty"`
}

// container returns the class's container for a provider of containers.
func (c class) container() sandbox.Container {
	out := sandbox.Container{Image: c.Image, Pull: c.Pull, Runtime: c.RuntimeClass}
	if c.User != nil {
		out.User = userOf(*c.User, c.Group, c.FSGroup)
	}
	return out
}
