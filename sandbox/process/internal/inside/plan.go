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

// Plan is the work of the init stage. It is sent through a pipe, never in
// arguments or the environment: Env holds secrets.
type Plan struct {
	Level     string
	Argv, Env []string
	Workspace string
	Alias     string            // a second path of it; "" for none
	Home      string            // "" without one, or if the workspace contains it
	Shown     []string          // relative to Home
	Covered   []string          // directories that are replaced by empty ones
	Hidden    []string          // sorted: a directory before its content
	Granted   []Grant           // sorted likewise
	Sockets   []string          // of the host, to hide; namespaces only
	Caches    []CacheLayer      // sorted by path; not at LevelNone
	Cleaned   map[string]string // content to show instead of files
	Network   bool              // there is a proxy
	AnyHost   bool              // which is not limited to a list of hosts
	ProxyPort int               // of the proxy on loopback; set by the init stage
	Token     string            // for the proxy
	TmpBytes  int64
	Tmp       string    // landlock level: the private writable directory
	KeepCaps  []uintptr // capabilities that stay
	Processes int       // bounds of a resource limit, where there is no control group; 0 for none
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
	Lower    string // the covered directory: the home with the cache in it, or the cache
	Layer    string // the directories below; caches with the same Lower share it
	// Apart: something is mounted beneath Lower, which the kernel then does not cover.
	Apart bool `json:",omitempty"`
}

// The directories of a layer. Files that programs write directly, not through
// overlayfs, could look like its marks, so they are kept apart.
const (
	LayerFiles   = "files" // writes through overlayfs
	LayerWork    = "work"  // for overlayfs
	LayerMount   = "mount" // where it is mounted while the sandbox starts
	layerParts   = "parts" // for overlayfs, where each cache has a file system of its own
	layerNothing = "none"  // an empty directory, which it covers there for caches that the user does not have
	layerPlain   = "plain" // writes where there is no overlay
)

// FeatureCaches says in a report that caches of tools are layers over the user's.
const FeatureCaches = "cache-overlay"

// FeatureAlias says in a report that the workspace has its second path.
const FeatureAlias = "workspace-alias"

// plain is the directory of writes to the cache without an overlay.
func (c *CacheLayer) plain() string {
	return filepath.Join(c.Layer, layerPlain, strings.TrimPrefix(c.Path, c.Lower))
}

// Missing is a protection that is not there, and why.
type Missing struct {
	Feature string
	Reason  string
}

// Outcome is the init stage's report: the finished setup, then nothing more if the
// program started, or the step that failed.
type Outcome struct {
	Features []string      `json:",omitempty"`
	Missing  []Missing     `json:",omitempty"`
	Step     string        `json:",omitempty"`
	Err      string        `json:",omitempty"`
	Errno    syscall.Errno `json:",omitempty"`
}

// StepNetwork is the init stage's step that fails where a level cannot enforce the
// network's limits.
const StepNetwork = "limit the network"

// StartSignal is the init stage's input after it has reported, and before it
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
