package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// homeCache is a directory of a home in which a tool keeps fetched and built
// files.
type homeCache struct {
	name     string // relative to the home
	variable string // names it, or a part of it, to the tool
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

// cacheLayers returns the caches of the user that a sandbox writes over, sorted, and
// makes the directories of their layers in dir.
func (p *Provider) cacheLayers(s sandbox.Spec, dir string) ([]inside.CacheLayer, error) {
	if p.opt.Home == "" || dir == "" {
		return nil, nil
	}
	var all []inside.CacheLayer
	apart := mountedBeneath(p.opt.Home)
	for _, c := range homeCaches {
		path := resolve(p.cachePath(c.name, c.variable))
		inWorkspace := within(path, s.Workspace) || within(s.Workspace, path)
		granted := slices.ContainsFunc(s.Writable, func(g string) bool { return within(path, g) || within(g, path) })
		if inWorkspace || granted || within(p.opt.Home, path) {
			continue
		}
		l := inside.CacheLayer{Path: path, Variable: c.variable, Lower: p.opt.Home, Layer: filepath.Join(dir, "home"), Apart: apart}
		if !sameMount(path, p.opt.Home) {
			l.Lower, l.Apart = path, false
			l.Layer = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(c.name, "."), "/", "-"))
		}
		if len(all) == 0 || all[len(all)-1].Layer != l.Layer {
			for _, part := range []string{inside.LayerFiles, inside.LayerWork, inside.LayerMount} {
				if err := os.MkdirAll(filepath.Join(l.Layer, part), 0o700); err != nil {
					return nil, fmt.Errorf("make directory of a cache: %w", err)
				}
			}
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b inside.CacheLayer) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// sameMount reports whether a path, as far as it exists, lies beneath dir without a
// mount between them: overlayfs shows only files of one mount.
func sameMount(path, dir string) bool {
	if !within(path, dir) {
		return false
	}
	for !exists(path) {
		path = filepath.Dir(path)
	}
	var a, b unix.Statx_t
	err := errors.Join(
		unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &a), unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &b))
	return err == nil && a.Mask&b.Mask&unix.STATX_MNT_ID != 0 && a.Mnt_id == b.Mnt_id
}

// mountedBeneath reports whether something is mounted in a directory. Where that cannot be
// read, the init stage finds it out by an attempt, which takes longer.
func mountedBeneath(dir string) bool {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	prefix := resolve(dir) + "/"
	octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) // as in proc_pid_mountinfo(5)
	for line := range strings.Lines(string(raw)) {
		if f := strings.SplitN(line, " ", 6); len(f) == 6 && strings.HasPrefix(octal.Replace(f[4]), prefix) {
			return true
		}
	}
	return false
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
func isCache(pl *plan, g grant) bool {
	return !g.Writable && slices.ContainsFunc(pl.Caches, func(c inside.CacheLayer) bool {
		return within(g.Path, c.Path) && !slices.ContainsFunc(cachePrograms, func(name string) bool {
			return g.Path == filepath.Join(c.Path, filepath.Base(name))
		})
	})
}
