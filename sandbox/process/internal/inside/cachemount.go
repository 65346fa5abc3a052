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
	shared := map[string]treeResult{} // by Layer
	for _, c := range all {
		if _, ok := shared[c.Layer]; ok || !Exists(c.Lower) {
			continue
		}
		if shared[c.Layer] = (treeResult{-1, unix.EINVAL}); !c.Apart {
			shared[c.Layer] = sharedOverlay(c, c.Lower)
		}
	}
	opened := make([]treeResult, len(all))
	var absent []int
	var wg sync.WaitGroup
	for i, c := range all {
		o, ok := shared[c.Layer]
		apart := ok && errors.Is(o.err, unix.EINVAL) && c.Path != c.Lower
		if apart && !Exists(c.Path) {
			absent = append(absent, i)
			continue
		}
		wg.Go(func() {
			switch {
			case apart:
				opened[i].fd, opened[i].err = overlayPart(c)
			case ok:
				opened[i].fd, opened[i].err = openCache(c, o)
			default:
				opened[i].fd, opened[i].err = openPlain(c)
			}
		})
	}
	wg.Wait()
	openAbsent(all, absent, opened)
	return opened
}

// sharedOverlay makes the overlay that serves caches with the same Layer, and mounts it
// in the old root, where its parts can be cloned.
func sharedOverlay(c *CacheLayer, lower string) (o treeResult) {
	if o.fd, o.err = newOverlay(lower, filepath.Join(c.Layer, LayerFiles), filepath.Join(c.Layer, LayerWork)); o.err == nil {
		o.err = unix.MoveMount(o.fd, "", unix.AT_FDCWD, filepath.Join(c.Layer, LayerMount), unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	return o
}

// openCache returns the mounts of a cache with its layer, which are a part of the shared overlay.
func openCache(c *CacheLayer, o treeResult) (int, error) {
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

// overlayPart makes the file system of one cache, with the same files over it as the shared
// overlay. The kernel refuses to lay anything over a directory beneath which something else is
// mounted, such as a container's files or another machine's in the home.
func overlayPart(c *CacheLayer) (int, error) {
	rel := strings.TrimPrefix(c.Path, c.Lower)
	upper, work := filepath.Join(c.Layer, LayerFiles, rel), filepath.Join(c.Layer, layerParts, rel, LayerWork)
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return -1, err
		}
	}
	return newOverlay(c.Path, upper, work)
}

// openAbsent makes the mounts of caches that the user does not have, and whose Lower cannot be
// covered: parts of one overlay, over nothing, as each overlay makes a dozen files. It comes
// after the overlays of single caches, whose files are beneath its own: the kernel objects to
// a layer beneath one that is in use.
func openAbsent(all []*CacheLayer, absent []int, opened []treeResult) {
	shared := map[string]treeResult{} // by Layer
	for _, i := range absent {
		c := all[i]
		// Made through the overlay it would be marked to hide a cache that the user has later.
		err := os.MkdirAll(filepath.Join(c.Layer, LayerFiles, strings.TrimPrefix(c.Path, c.Lower)), 0o700)
		if err != nil {
			opened[i] = treeResult{-1, err}
			continue
		}
		if _, ok := shared[c.Layer]; !ok {
			nothing := filepath.Join(c.Layer, layerNothing)
			if err := os.MkdirAll(nothing, 0o700); err != nil {
				opened[i] = treeResult{-1, err}
				continue
			}
			shared[c.Layer] = sharedOverlay(c, nothing)
		}
		opened[i].fd, opened[i].err = openCache(c, shared[c.Layer])
	}
}

func newOverlay(lower, upper, work string) (int, error) {
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`)
	return newFS("overlay", map[string]string{
		"lowerdir": escape.Replace(lower), "upperdir": upper, "workdir": work, "userxattr": "",
		"index": "off", // it would keep the files over another directory than the first one from being used
	}, plainAttr)
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
