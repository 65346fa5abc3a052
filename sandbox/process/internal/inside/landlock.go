package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/internal/landlock"
)

// restrictFiles restricts this thread to the files of the plan. In namespaces that
// repeats the work of the mounts; without them it protects the host, and it is an
// error if the kernel does not have it.
func restrictFiles(pl *Plan, exe int, o *Outcome) error {
	abi, err := landlock.ABI()
	if err != nil {
		if pl.Level == LevelLandlock {
			return err
		}
		o.Missing = append(o.Missing, Missing{Feature: "landlock", Reason: err.Error()})
		return nil
	}
	limited := limitedBy(abi, pl)
	rules, err := landlock.New(limited)
	if err != nil {
		return fmt.Errorf("create ruleset: %w", err)
	}
	defer rules.Close()
	if err := fillRules(rules, pl, exe); err != nil {
		return err
	}
	if limited.Network != 0 && pl.ProxyPort != 0 {
		if err := rules.AllowConnect(pl.ProxyPort); err != nil {
			return fmt.Errorf("port of the proxy: %w", err)
		}
	}
	if err := rules.RestrictThread(); err != nil {
		return fmt.Errorf("restrict: %w", err)
	}
	o.Features = append(o.Features, "landlock-"+strconv.Itoa(abi))
	if abi < landlock.ScopeABI {
		o.Missing = append(o.Missing, Missing{Feature: "signal-scope", Reason: "Landlock ABI 6 is needed to protect the action server and, without a PID namespace, the user's other processes from signals"})
	}
	if pl.Level == LevelLandlock {
		o.Missing = append(o.Missing, landlockGaps(abi, pl)...)
	}
	return nil
}

// limitedBy returns the rights that a version limits in a sandbox.
func limitedBy(abi int, pl *Plan) landlock.Limits {
	attr := landlock.Limits{Files: landlock.Rights(abi)}
	if abi >= landlock.NetworkABI && pl.Level == LevelLandlock {
		attr.Network = landlock.BindTCP | landlock.ConnectTCP
	}
	if abi >= landlock.ScopeABI {
		attr.Scoped = landlock.AbstractSockets | landlock.Signals
	}
	return attr
}

// landlockGaps lists protections of namespaces that Landlock does not provide.
func landlockGaps(abi int, pl *Plan) []Missing {
	listed := "processes of the host are listed inside, with their command lines"
	if os.Geteuid() == 0 {
		listed += " and, for root, the kernel's own tables (slabinfo, vmallocinfo, keys)"
	}
	gaps := []Missing{
		{Feature: "pid-namespace", Reason: listed + "; if the sandbox's first process is killed from outside, commands may survive until the next start"},
		{Feature: "private-tmp", Reason: "/tmp is closed; TMPDIR names a private directory instead"},
		{Feature: "file-modes", Reason: "Landlock cannot keep the user's own files outside from having their mode, owner or times changed"},
		{Feature: "unix-sockets", Reason: "refused by seccomp, since Landlock cannot keep them from the host's services"},
	}
	if len(pl.Caches) > 0 {
		gaps = append(gaps, Missing{Feature: FeatureCaches, Reason: "without mounts, caches of tools start empty for each workspace, where the tools' variables name them"})
	}
	if pl.Alias != "" {
		gaps = append(gaps, Missing{Feature: FeatureAlias, Reason: "without mounts the workspace is not at " + pl.Alias + " too"})
	}
	if !pl.Network {
		gaps = append(gaps, Missing{Feature: "loopback", Reason: "without a network namespace all Internet sockets are refused"})
	} else {
		gaps = append(gaps,
			Missing{Feature: "loopback", Reason: "without a network namespace nothing but the proxy can be reached, and nothing can listen"},
			Missing{Feature: "one-port", Reason: "Landlock judges by port: servers elsewhere that listen at the proxy's port, which is chosen at random, can be reached without the proxy"})
	}
	if slices.ContainsFunc(pl.Hidden, func(h string) bool { return Within(h, pl.Workspace) }) {
		gaps = append(gaps, Missing{Feature: "hidden-in-workspace", Reason: "since a part of the workspace is hidden, no files can be made beside that part"})
	}
	if writableGit(pl) {
		gaps = append(gaps, Missing{Feature: "git-configuration", Reason: "in the repository's directory outside the workspace, what names configuration and hooks is writable too"})
	}
	if abi < 3 {
		gaps = append(gaps, Missing{Feature: "truncate", Reason: "Landlock ABI 3 is needed to protect writable files outside from being emptied"})
	}
	return gaps
}

// writableGit reports whether a writable grant has read-only ones in it, which
// rules cannot express.
func writableGit(pl *Plan) bool {
	return slices.ContainsFunc(pl.Granted, func(g Grant) bool {
		return g.Writable && slices.ContainsFunc(pl.Granted, func(in Grant) bool {
			return !in.Writable && in != g && Within(in.Path, g.Path)
		})
	})
}

// fillRules allows the paths that the plan shows.
func fillRules(rules *landlock.Rules, pl *Plan, exe int) error {
	rights := map[string]uint64{}
	if pl.Level == LevelNamespaces {
		rights["/"] = landlock.Read
		for _, dir := range []string{"/tmp", "/var/tmp", "/run", "/dev", pl.Home} {
			rights[dir] = landlock.All
		}
	} else {
		for _, path := range landlockReadable(pl) {
			rights[path] = landlock.Read
		}
		for _, name := range append(slices.Clone(deviceNodes), "ptmx", "pts") {
			rights["/dev/"+name] = landlock.Read | landlock.Write
		}
		rights[pl.Tmp] = landlock.All
	}
	for _, c := range pl.Caches {
		if pl.Level == LevelNamespaces {
			rights[c.Path] = landlock.All
		} else {
			rights[c.plain()] = landlock.All
		}
	}
	for _, g := range pl.Granted {
		paths := []string{g.Path}
		if pl.Level == LevelLandlock {
			paths = AllowedChildren(g.Path, slices.DeleteFunc(slices.Clone(pl.Hidden), func(h string) bool { return h == g.Path }))
		}
		for _, path := range paths {
			rights[path] |= landlock.Read
			if g.Writable {
				rights[path] = landlock.All
			}
		}
	}
	for path, access := range rights {
		if err := rules.AllowPath(path, access); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := rules.Allow(exe, landlock.Read); err != nil {
		return fmt.Errorf("%s: %w", pl.Argv[0], err)
	}
	writable := []string{pl.Workspace}
	if pl.Level == LevelLandlock {
		writable = AllowedChildren(pl.Workspace, pl.Hidden)
	}
	for _, path := range writable {
		if err := rules.AllowPath(path, landlock.All); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// landlockReadable lists the readable paths when there are no mounts to hide the
// rest: everything but hidden, private and covered paths.
func landlockReadable(pl *Plan) []string {
	hidden := slices.Concat(pl.Hidden, pl.Covered, PrivateDirs, []string{"/dev", pl.Workspace})
	if pl.Home != "" {
		hidden = append(hidden, pl.Home)
	}
	for i, h := range hidden {
		hidden[i] = Resolve(h)
	}
	readable := AllowedChildren("/", hidden)
	if pl.Home != "" && !Within(pl.Home, pl.Workspace) {
		for _, rel := range pl.Shown {
			path := Resolve(filepath.Join(pl.Home, rel))
			if !slices.ContainsFunc(pl.Hidden, func(h string) bool { return Within(path, h) }) {
				readable = append(readable, AllowedChildren(path, pl.Hidden)...)
			}
		}
	}
	for _, p := range Exposed {
		if Exists(p) {
			readable = append(readable, p)
		}
	}
	return readable
}
