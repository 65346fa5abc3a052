package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// plan is the init stage's plan.
type plan = inside.Plan

// Capabilities root keeps over the workspace of another user, so that it works
// there as root does; they reach only files whose owner is mapped.
var foreignOwnerCaps = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}

func (p *Provider) plan(s sandbox.Spec, level, caches string) (pl plan, err error) {
	pl = plan{
		Level: level, Argv: s.Argv, Env: s.Env, Workspace: s.Workspace, Home: p.opt.Home,
		Network: !s.Network.None(), AnyHost: s.Network.Open(), Covered: coveredPaths(p.opt.Home),
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
		hideCleaned(&pl, p.opt.Home)
	}
	if level == LevelLandlock || pl.Home != "" {
		if pl.Caches, err = p.cacheLayers(s, caches); err != nil {
			return pl, err
		}
	}
	if level == LevelNamespaces {
		pl.Granted = slices.DeleteFunc(pl.Granted, func(g grant) bool { return isCache(&pl, g) })
	}
	pl.Alias = s.Alias
	if pl.Alias != "" {
		pl.Hidden, pl.Sockets = aliased(&pl, pl.Hidden), aliased(&pl, pl.Sockets)
	}
	pl.Token = proxyToken(&pl)
	if uid, gid := ownerOf(s.Workspace); level == LevelNamespaces && os.Geteuid() == 0 && (uid != 0 || gid != 0) {
		pl.KeepCaps = foreignOwnerCaps
	}
	return pl, nil
}

// aliased adds the second path of each path in the workspace.
func aliased(pl *plan, paths []string) []string {
	for _, path := range slices.Clip(paths) {
		if rest, ok := strings.CutPrefix(path, pl.Workspace+"/"); ok {
			paths = append(paths, filepath.Join(pl.Alias, rest))
		}
	}
	return sorted(paths)
}

// hideCleaned hides the files whose content would have to be replaced, which rules
// cannot do, and writes git's configuration instead into the private directory
// (see the init stage).
func hideCleaned(pl *plan, home string) {
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
