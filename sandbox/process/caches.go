package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

// cachesDir is the directory in Options.Dir with the caches of all workspaces. It is
// no sandbox's id.
const cachesDir = ".caches"

// featureCaches says in a report that caches of tools are layers over the user's.
const featureCaches = "cache-overlay"

// homeCache is a directory of a home in which a tool keeps what it has fetched and built.
type homeCache struct {
	name     string // relative to the home
	variable string // names it, or what is in it, to the tool
}

var homeCaches = []homeCache{
	{name: ".bun/install/cache", variable: "BUN_INSTALL_CACHE_DIR"},
	{name: ".cache/deno", variable: "DENO_DIR"},
	{name: ".cache/go-build", variable: "GOCACHE"},
	{name: ".cache/pip", variable: "PIP_CACHE_DIR"},
	{name: ".cache/uv", variable: "UV_CACHE_DIR"},
	{name: ".cargo", variable: "CARGO_HOME"},
	{name: ".gradle", variable: "GRADLE_USER_HOME"},
	{name: ".m2", variable: "MAVEN_ARGS"},
	{name: ".npm/_cacache", variable: "npm_config_cache"},
	{name: "go/pkg", variable: "GOMODCACHE"},
}

// cacheLayer is a cache of the user over which a sandbox writes to a directory of its
// workspace's own.
type cacheLayer struct {
	Path     string // of the user's cache, and inside
	Variable string `json:",omitempty"` // names it to the tool
	Exists   bool   // there is something at Path
	Upper    string // what is written
	Work     string // for overlayfs
}

// claimCaches returns the directory for what a sandbox writes to caches: that of its
// workspace or, while another sandbox uses that, a further one. Nobody else can claim
// one of the workspace until release.
func (p *Provider) claimCaches(s sandbox.Spec) (dir string, release func(), err error) {
	base := p.workspaceCaches(s.Workspace)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, fmt.Errorf("make directory of caches: %w", err)
	}
	release, err = lock(base)
	if err != nil {
		return "", nil, err
	}
	for n := 0; ; n++ {
		dir = filepath.Join(base, strconv.Itoa(n))
		owner := filepath.Join(dir, "sandbox")
		id, err := os.ReadFile(owner)
		if err == nil && string(id) != s.ID && p.usesCaches(string(id), dir) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			release()
			return "", nil, fmt.Errorf("make directory of caches: %w", err)
		}
		if string(id) != s.ID {
			err = os.WriteFile(owner, []byte(s.ID), 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(base, "workspace"), []byte(s.Workspace+"\n"), 0o600)
		}
		if err != nil {
			release()
			return "", nil, fmt.Errorf("claim caches: %w", err)
		}
		return dir, release, nil
	}
}

func (p *Provider) usesCaches(id, dir string) bool {
	st, err := readState(p.dir(id))
	return err == nil && st.Caches == dir && st.alive()
}

// workspaceCaches is where what sandboxes of a workspace write to caches lies.
func (p *Provider) workspaceCaches(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(p.opt.Dir, cachesDir, hex.EncodeToString(sum[:8]))
}

// removeCaches deletes what sandboxes of a workspace have written to caches.
func (p *Provider) removeCaches(workspace string) error {
	dir := p.workspaceCaches(workspace)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() { // modules of Go are read-only
			return os.Chmod(path, 0o700)
		}
		return nil // RemoveAll says what it cannot delete
	})
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("open caches: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove caches: %w", err)
	}
	return nil
}

// cacheLayers returns the caches of the user that a sandbox writes over, sorted, and
// makes their directories in dir.
func (p *Provider) cacheLayers(s sandbox.Spec, dir string) ([]cacheLayer, error) {
	if p.opt.Home == "" || dir == "" {
		return nil, nil
	}
	var all []cacheLayer
	for _, c := range homeCaches {
		path := resolve(p.cachePath(c.name, c.variable))
		inWorkspace := within(path, s.Workspace) || within(s.Workspace, path)
		granted := slices.ContainsFunc(s.Writable, func(g string) bool { return within(path, g) || within(g, path) })
		if inWorkspace || granted || within(p.opt.Home, path) {
			continue
		}
		name := strings.ReplaceAll(strings.TrimPrefix(c.name, "."), "/", "-")
		l := cacheLayer{Path: path, Variable: c.variable, Upper: filepath.Join(dir, name, "files"), Work: filepath.Join(dir, name, "work")}
		if fi, err := os.Stat(path); err == nil {
			l.Exists = fi.IsDir()
		}
		for _, d := range []string{l.Upper, l.Work} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return nil, fmt.Errorf("make directory of a cache: %w", err)
			}
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b cacheLayer) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// inCache reports whether a path is in a cache of the user.
func (p *Provider) inCache(path string) bool {
	path = resolve(path)
	return p.opt.Home != "" && slices.ContainsFunc(homeCaches, func(c homeCache) bool {
		return within(path, resolve(p.cachePath(c.name, c.variable)))
	})
}

// cachePath returns where the user's environment says that a cache lies.
func (p *Provider) cachePath(name, variable string) string {
	value := func(name string) string {
		for _, kv := range p.opt.Env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok && filepath.IsAbs(v) {
				return v
			}
		}
		return ""
	}
	switch variable {
	case "GOCACHE", "CARGO_HOME":
		if v := value(variable); v != "" {
			return v
		}
	case "GOMODCACHE":
		if v, ok := strings.CutSuffix(value(variable), "/pkg/mod"); ok {
			return v + "/pkg"
		}
	}
	if below, ok := strings.CutPrefix(name, "go/"); ok {
		if v, _, _ := strings.Cut(value("GOPATH"), ":"); v != "" {
			return filepath.Join(v, below)
		}
	}
	return filepath.Join(p.opt.Home, name)
}

// cachePrograms are programs of toolchains in the caches, which stay read-only.
var cachePrograms = []string{".cargo/bin", ".gradle/jdks"}

// isCache reports whether a toolchain that is shown read-only is part of a cache.
func (pl *plan) isCache(g grant) bool {
	return !g.Writable && slices.ContainsFunc(pl.Caches, func(c cacheLayer) bool {
		return within(g.Path, c.Path) && !slices.ContainsFunc(cachePrograms, func(name string) bool {
			return g.Path == filepath.Join(c.Path, filepath.Base(name))
		})
	})
}

// openCaches mounts what is written to the caches over them. Where the kernel has no
// overlayfs for that, the private directory is shown elsewhere, and the tools' variables
// name it.
func openCaches(pl *plan) (layers []layer, missing []sandbox.Missing) {
	all := pl.Caches
	pl.Caches = nil
	for i := range all {
		c := &all[i]
		var tree int
		var err error
		if c.Exists {
			tree, err = overlay(c)
		} else {
			tree, err = cloneTree(unix.AT_FDCWD, c.Upper, plainAttr)
		}
		if err != nil {
			if len(missing) == 0 {
				missing = []sandbox.Missing{{Feature: featureCaches, Reason: "caches of tools start empty for each workspace: " + err.Error()}}
			}
			path := filepath.Join(pl.Home, ".cache/deft", filepath.Base(filepath.Dir(c.Upper)))
			if tree, err = cloneTree(unix.AT_FDCWD, c.Upper, plainAttr); err != nil {
				continue // as read-only as it was
			}
			pl.nameCache(c, path) // while Path is the user's
			c.Path = path
		}
		layers = append(layers, layer{path: c.Path, tree: tree})
		pl.Caches = append(pl.Caches, *c)
	}
	return layers, missing
}

// overlay makes the file system of a cache, with what is written over the user's.
func overlay(c *cacheLayer) (int, error) {
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`)
	return newFS("overlay", map[string]string{
		"lowerdir": escape.Replace(c.Path), "upperdir": c.Upper, "workdir": c.Work, "userxattr": "",
	}, plainAttr)
}

// nameCache has the tool's variable, unless Env sets it, name a directory in place of
// the user's cache. Go still finds there what the user has fetched.
func (pl *plan) nameCache(c *cacheLayer, path string) {
	switch {
	case isSet(pl.Env, c.Variable):
		return
	case c.Variable == "MAVEN_ARGS":
		path = "-Dmaven.repo.local=" + filepath.Join(path, "repository")
	case c.Variable == "GOMODCACHE":
		path = filepath.Join(path, "mod")
		if c.Exists && !isSet(pl.Env, "GOPROXY") {
			pl.Env = append(pl.Env, "GOPROXY=file://"+filepath.Join(c.Path, "mod/cache/download")+",https://proxy.golang.org,direct")
		}
	}
	pl.Env = append(pl.Env, c.Variable+"="+path)
}
