package inside

import (
	"path/filepath"
	"strings"
	"syscall"
)

// The levels of isolation.
const (
	LevelNamespaces = "namespaces"
	LevelLandlock   = "landlock"
	LevelNone       = "none"
)

// Plan says what the init stage sets up. It is sent through a pipe, never in
// arguments or the environment: Env holds secrets.
type Plan struct {
	Level     string
	Argv, Env []string
	Workspace string
	Home      string            // "" without one, or if the workspace contains it
	Shown     []string          // relative to Home
	Covered   []string          // directories that are replaced by empty ones
	Hidden    []string          // sorted: a directory before what is in it
	Granted   []Grant           // sorted likewise
	Sockets   []string          // of the host, to hide; namespaces only
	Caches    []CacheLayer      // sorted by path; not at LevelNone
	Cleaned   map[string]string // content to show instead of that of files
	Network   bool              // there is a proxy
	AnyHost   bool              // which is not limited to a list of hosts
	ProxyPort int               // of the proxy on loopback; set by the init stage
	Token     string            // for the proxy
	TmpBytes  int64
	Tmp       string    // landlock level: the private writable directory
	KeepCaps  []uintptr // capabilities that stay
	Processes int       // what a resource limit is to allow, where there is no control group; 0 for none
}

// Grant is a directory or file outside the workspace that appears inside at its
// own path.
type Grant struct {
	Path     string
	Writable bool `json:",omitempty"`
}

// CacheLayer is a cache of the user over which a sandbox writes to a directory of its
// workspace's own.
type CacheLayer struct {
	Path     string // of the user's cache, and inside
	Variable string `json:",omitempty"` // names it to the tool
	Lower    string // what is written over: the home with the cache in it, or the cache
	Layer    string // the directories below; caches with the same Lower share it
}

// The directories of a layer. What programs write to directly, not through overlayfs,
// could look like its marks, so that is kept apart.
const (
	LayerFiles = "files" // what is written through overlayfs
	LayerWork  = "work"  // for overlayfs
	LayerMount = "mount" // where it is mounted while the sandbox starts
	layerParts = "parts" // for overlayfs, where each cache has a file system of its own
	layerPlain = "plain" // what is written where there is no overlay
)

// FeatureCaches says in a report that caches of tools are layers over the user's.
const FeatureCaches = "cache-overlay"

// plain is where what is written to the cache without an overlay lies.
func (c *CacheLayer) plain() string {
	return filepath.Join(c.Layer, layerPlain, strings.TrimPrefix(c.Path, c.Lower))
}

// Missing is a protection that is not there, and why.
type Missing struct {
	Feature string
	Reason  string
}

// Outcome is what the init stage reports: what it set up, then nothing more if
// the program started, or the step that failed.
type Outcome struct {
	Features []string      `json:",omitempty"`
	Missing  []Missing     `json:",omitempty"`
	Step     string        `json:",omitempty"`
	Err      string        `json:",omitempty"`
	Errno    syscall.Errno `json:",omitempty"`
}

// StepNetwork is the init stage's step that fails where a level cannot enforce
// what the network is limited to.
const StepNetwork = "limit the network"

// StartSignal is what the init stage reads after it has reported, and before it
// becomes the program.
const StartSignal = "go"

// The init stage's descriptors after the three that the program keeps, which keeps the
// first two of these as well.
const (
	FDListener = 3
	fdJournal  = 4
	FDPlan     = 5 // the Plan, then StartSignal
	FDOutcome  = 6
	fdProxy    = 7 // takes the proxy's listeners; only with a network
	FirstFree  = 8 // after all that there may be
)
