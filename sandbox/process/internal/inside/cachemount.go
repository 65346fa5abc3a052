package inside

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openCaches mounts the writable layers of the caches over them. Where the kernel has no
// overlayfs for that, the private directory is shown elsewhere, and the tools' variables
// name it.
func openCaches(pl *Plan) (layers []layer, missing []Missing) {
	var all []*CacheLayer
	around := ""
	for i := range pl.Caches {
		c := &pl.Caches[i]
		if around != "" && Within(c.Path, around) {
			continue // part of that layer; commands may have made its path there
		}
		around = c.Path
		all = append(all, c)
	}
	pl.Caches = nil
	opened := openTrees(all)
	for i, c := range all {
		tree, err := opened[i].fd, opened[i].err
		if err != nil {
			if len(missing) == 0 {
				missing = []Missing{{Feature: FeatureCaches, Reason: "caches of tools start empty for each workspace: " + err.Error()}}
			}
			path := filepath.Join(pl.Home, ".cache/deft", filepath.Base(c.Layer), strings.TrimPrefix(c.Path, c.Lower))
			if tree, err = openPlain(c); err != nil {
				continue // as read-only as it was
			}
			pl.nameCache(c, path) // while Path is the user's
			c.Path = path
		} else { // it is not shown without its layer first
			pl.Shown = slices.DeleteFunc(pl.Shown, func(rel string) bool { return filepath.Join(pl.Home, rel) == c.Path })
		}
		layers = append(layers, layer{path: c.Path, tree: tree})
		pl.Caches = append(pl.Caches, *c)
	}
	return layers, missing
}

// treeResult are mounts, or why they could not be made.
type treeResult struct {
	fd  int
	err error
}

// openTrees returns the mounts of the caches, which are made side by side: each overlay of
// its own costs half a millisecond.
func openTrees(all []*CacheLayer) []treeResult {
	overlays := map[string]treeResult{}
	for _, c := range all {
		if _, ok := overlays[c.Layer]; !ok && Exists(c.Lower) {
			overlays[c.Layer] = sharedOverlay(c)
		}
	}
	opened := make([]treeResult, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			o := &opened[i]
			if shared, ok := overlays[c.Layer]; ok {
				o.fd, o.err = openCache(c, shared)
			} else {
				o.fd, o.err = openPlain(c)
			}
		})
	}
	wg.Wait()
	return opened
}

// sharedOverlay makes the overlay that serves all caches with the same Lower, and mounts it
// in the old root, where its parts can be cloned.
func sharedOverlay(c *CacheLayer) (o treeResult) {
	if o.fd, o.err = overlay(c); o.err == nil {
		o.err = unix.MoveMount(o.fd, "", unix.AT_FDCWD, filepath.Join(c.Layer, LayerMount), unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	return o
}

// openCache returns the mounts of a cache with its layer: a part of the shared overlay, or
// one of its own.
func openCache(c *CacheLayer, o treeResult) (int, error) {
	if errors.Is(o.err, unix.EINVAL) && c.Path != c.Lower {
		return overlayPart(c)
	}
	if o.err != nil {
		return -1, o.err
	}
	rel := strings.TrimPrefix(c.Path, c.Lower)
	if err := os.MkdirAll(filepath.Join(c.Layer, LayerMount, rel), 0o700); err != nil {
		return -1, err
	}
	dir, err := unix.Openat2(o.fd, relative(rel), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return unix.OpenTree(dir, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}

// overlay makes the file system of caches, with writes over the user's files.
func overlay(c *CacheLayer) (int, error) {
	return newOverlay(c.Lower, filepath.Join(c.Layer, LayerFiles), filepath.Join(c.Layer, LayerWork))
}

// overlayPart makes the file system of one cache, with the same files over it as overlay.
// The kernel refuses to lay anything over a directory beneath which something else is
// mounted, such as a container's files or another machine's in the home.
func overlayPart(c *CacheLayer) (int, error) {
	rel := strings.TrimPrefix(c.Path, c.Lower)
	upper, part := filepath.Join(c.Layer, LayerFiles, rel), filepath.Join(c.Layer, layerParts, rel)
	lower, work := filepath.Join(part, "none"), filepath.Join(part, "work")
	for _, dir := range []string{upper, lower, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return -1, err
		}
	}
	if Exists(c.Path) {
		lower = c.Path
	}
	return newOverlay(lower, upper, work)
}

func newOverlay(lower, upper, work string) (int, error) {
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`)
	return newFS("overlay", map[string]string{"lowerdir": escape.Replace(lower), "upperdir": upper, "workdir": work, "userxattr": ""}, plainAttr)
}

// openPlain returns the mounts of the writes to a cache without an overlay.
func openPlain(c *CacheLayer) (int, error) {
	if err := os.MkdirAll(c.plain(), 0o700); err != nil {
		return -1, err
	}
	return cloneTree(unix.AT_FDCWD, c.plain(), plainAttr)
}

// nameCache has the tool's variable, unless Env sets it, name a directory in place of
// the user's cache. Go still finds there the modules that the user has fetched.
func (pl *Plan) nameCache(c *CacheLayer, path string) {
	switch {
	case isSet(pl.Env, c.Variable):
		return
	case c.Variable == "MAVEN_ARGS":
		path = "-Dmaven.repo.local=" + filepath.Join(path, "repository")
	case c.Variable == "GOMODCACHE":
		path = filepath.Join(path, "mod")
		if Exists(c.Path) && !isSet(pl.Env, "GOPROXY") {
			pl.Env = append(pl.Env, "GOPROXY=file://"+filepath.Join(c.Path, "mod/cache/download")+",https://proxy.golang.org,direct")
		}
	}
	pl.Env = append(pl.Env, c.Variable+"="+path)
}
