package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

// plan says what the init stage sets up. It is sent through a pipe, never in
// arguments or the environment: Env holds secrets.
type plan struct {
	Level     string
	Argv, Env []string
	Workspace string
	Home      string            // "" without one, or if the workspace contains it
	Shown     []string          // relative to Home
	Covered   []string          // directories that are replaced by empty ones
	Hidden    []string          // sorted: a directory before what is in it
	Granted   []grant           // sorted likewise
	Sockets   []string          // of the host, to hide; namespaces only
	Caches    []cacheLayer      // sorted by path; not at LevelNone
	Cleaned   map[string]string // content to show instead of that of files
	Network   sandbox.Network
	ProxyPort int    // of the proxy on loopback; set by the init stage
	Token     string // for the proxy
	TmpBytes  int64
	Tmp       string    // landlock level: the private writable directory
	KeepCaps  []uintptr // capabilities that stay
	Processes int       // what a resource limit is to allow, where there is no control group; 0 for none
}

// Capabilities root keeps over the workspace of another user, so that it works
// there as root does; they reach only files whose owner is mapped.
var foreignOwnerCaps = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}

// The init stage's descriptors after the three that the program keeps.
const (
	fdListener = 3
	fdJournal  = 4
	fdPlan     = 5
	fdOutcome  = 6
	fdProxy    = 7 // takes the proxy's listeners; only with a network
	firstFree  = 8
)

func (p *Provider) plan(s sandbox.Spec, level, caches string) (pl plan, err error) {
	pl = plan{
		Level: level, Argv: s.Argv, Env: s.Env, Workspace: s.Workspace, Home: p.opt.Home,
		Network: s.Network, TmpBytes: p.opt.TmpBytes, Covered: coveredPaths(p.opt.Home),
		Hidden:  hiddenPaths(p.opt.Home, s.Workspace, slices.Concat([]string{p.opt.Dir}, p.opt.Hidden, s.Hidden, s.AlsoHidden)),
		Cleaned: cleanedFiles(p.opt.Home, s.Workspace, s.Readable),
	}
	pl.Granted = p.grants(s, pl.Covered)
	// It may be one of the directories in which others are hidden.
	pl.Hidden = slices.DeleteFunc(pl.Hidden, func(h string) bool { return h == s.Workspace })
	if pl.Home != "" {
		pl.Shown, _ = splitHome(pl.Home)
	}
	if level == LevelNamespaces && within(pl.Home, pl.Workspace) {
		pl.Home = "" // shown as the workspace; its secrets are in Hidden
	}
	switch level {
	case LevelNamespaces:
		pl.Sockets = hostSockets(&pl)
	case LevelLandlock:
		pl.hideCleaned(p.opt.Home)
	}
	if level == LevelLandlock || pl.Home != "" {
		if pl.Caches, err = p.cacheLayers(s, caches); err != nil {
			return pl, err
		}
	}
	if level == LevelNamespaces {
		pl.Granted = slices.DeleteFunc(pl.Granted, pl.isCache)
	}
	pl.Token = proxyToken(&pl)
	return pl, nil
}

// hideCleaned hides the files whose content would have to be replaced, which
// rules cannot do, and writes what git is to read instead into the private
// directory (see the init stage).
func (pl *plan) hideCleaned(home string) {
	for path := range pl.Cleaned {
		pl.Hidden = append(pl.Hidden, path)
	}
	slices.Sort(pl.Hidden)
	global := resolve(home + "/.gitconfig")
	pl.Cleaned = map[string]string{global: pl.Cleaned[global]}
}

// owners returns the ids that exist inside, as user_namespaces(7) has them: the own
// one and, for root, the owner of the workspace.
func owners(own int, owner uint32) string {
	m := fmt.Sprintf("%d %d 1\n", own, own)
	if os.Geteuid() == 0 && int(owner) != own {
		m += fmt.Sprintf("%d %d 1\n", owner, owner)
	}
	return m
}

// ownerOf returns the owner of a path, or our own ids if it is unknown.
func ownerOf(path string) (uid, gid uint32) {
	fi, err := os.Stat(path)
	if err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			return st.Uid, st.Gid
		}
	}
	return uint32(os.Geteuid()), uint32(os.Getegid())
}

// allowedChildren returns the fewest paths that together contain everything
// beneath root except the hidden paths, by walking only along those.
func allowedChildren(root string, hidden []string) []string {
	if !slices.ContainsFunc(hidden, func(h string) bool { return within(h, root) }) {
		return []string{root}
	}
	if slices.Contains(hidden, root) {
		return nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // what the user cannot list stays out
	}
	var all []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			continue // rules follow the target, which is reached by itself
		}
		all = append(all, allowedChildren(filepath.Join(root, e.Name()), hidden)...)
	}
	return all
}
