package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

// cachesDir is the directory in Options.Dir with the caches of all workspaces. It is
// no sandbox's id.
const cachesDir = ".caches"

// Its entries beside a directory per workspace: a file that is as old as the last
// trim, and directories that are being removed.
const (
	trimmedName   = "trimmed"
	removedPrefix = "removed-"
)

// Caches of workspaces that are gone, or have not been used for so long, are removed;
// then the least recently used ones until all together have maxCacheBytes.
const (
	maxCacheBytes = 20 << 30
	maxCacheAge   = 90 * 24 * time.Hour
	trimInterval  = time.Hour
)

// WorkspaceCaches describes the files that the sandboxes of a workspace have
// written to caches of tools.
type WorkspaceCaches struct {
	Workspace string
	Dir       string
	Bytes     int64 // on the disk
	Used      time.Time
	Running   bool // a sandbox uses it
}

// workspaceCaches is the directory of the files that sandboxes of a workspace
// write to caches.
func (p *Provider) workspaceCaches(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(p.opt.Dir, cachesDir, hex.EncodeToString(sum[:8]))
}

// claimCaches returns the directory for a sandbox's writes to caches: its workspace's
// or, while another sandbox uses that, a further one. Nobody else can claim or remove
// one of the workspace until release.
func (p *Provider) claimCaches(s sandbox.Spec) (dir string, release func(), err error) {
	base := p.workspaceCaches(s.Workspace)
	release, err = lockCaches(base)
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
		if string(id) != s.ID {
			if err = os.MkdirAll(dir, 0o700); err == nil {
				err = os.WriteFile(owner, []byte(s.ID), 0o600)
			}
		}
		if err == nil {
			err = markUsed(base, s.Workspace)
		}
		if err != nil {
			release()
			return "", nil, fmt.Errorf("claim caches: %w", err)
		}
		return dir, release, nil
	}
}

// markUsed records the workspace of caches, and that they are used now.
func markUsed(base, workspace string) error {
	path := filepath.Join(base, "workspace")
	err := os.Chtimes(path, time.Time{}, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(path, []byte(workspace+"\n"), 0o600)
	}
	return err
}

// lockCaches makes a workspace's directory of caches and waits for its lock. One that
// was removed meanwhile is made again.
func lockCaches(base string) (unlock func(), err error) {
	for {
		if err := os.MkdirAll(base, 0o700); err != nil {
			return nil, fmt.Errorf("make directory of caches: %w", err)
		}
		if unlock, err = lock(base); !errors.Is(err, fs.ErrNotExist) {
			return unlock, err
		}
	}
}

func (p *Provider) usesCaches(id, dir string) bool {
	st, err := readState(p.dir(id))
	return err == nil && st.Caches == dir && st.alive()
}

// inUse reports whether a sandbox uses one of the directories of a workspace.
func (p *Provider) inUse(base string) bool {
	owners, _ := filepath.Glob(filepath.Join(base, "*", "sandbox")) // the pattern is well formed
	return slices.ContainsFunc(owners, func(owner string) bool {
		id, err := os.ReadFile(owner)
		return err == nil && p.usesCaches(string(id), filepath.Dir(owner))
	})
}

// removeCaches deletes the files that sandboxes of a workspace have written to caches,
// unless one uses it.
func (p *Provider) removeCaches(workspace string) error {
	return p.removeUnused(p.workspaceCaches(workspace))
}

// removeUnused deletes the directory of a workspace's caches, unless a sandbox uses it.
func (p *Provider) removeUnused(base string) error {
	if !exists(base) {
		return nil
	}
	unlock, err := lockCaches(base)
	if err != nil {
		return err
	}
	defer unlock()
	if p.inUse(base) {
		return nil
	}
	// Who waits for the lock sees that the directory is gone.
	away := filepath.Join(filepath.Dir(base), removedPrefix+filepath.Base(base)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.Rename(base, away); err != nil {
		return fmt.Errorf("remove caches: %w", err)
	}
	return deleteTree(away)
}

// deleteTree deletes a tree in which directories may be read-only, as modules of Go are.
func deleteTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil // RemoveAll names the files it cannot delete
	})
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("open caches: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove caches: %w", err)
	}
	return nil
}

// Caches describes the files that the sandboxes of all workspaces have written to
// caches of tools, the least recently used first. It reads whole trees of directories.
func (p *Provider) Caches(ctx context.Context) ([]WorkspaceCaches, error) {
	entries, err := os.ReadDir(filepath.Join(p.opt.Dir, cachesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list caches: %w", err)
	}
	var all []WorkspaceCaches
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), removedPrefix) {
			continue
		}
		c := WorkspaceCaches{Dir: filepath.Join(p.opt.Dir, cachesDir, e.Name())}
		name := filepath.Join(c.Dir, "workspace")
		info, err := os.Stat(name)
		if err != nil {
			continue // just being made or removed
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		c.Workspace, c.Used, c.Running = strings.TrimSuffix(string(raw), "\n"), info.ModTime(), p.inUse(c.Dir)
		if c.Bytes, err = diskUsage(ctx, c.Dir); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b WorkspaceCaches) int { return a.Used.Compare(b.Used) })
	return all, nil
}

// CacheLayers implements [sandbox.CacheLister].
func (p *Provider) CacheLayers(ctx context.Context) (found []sandbox.CacheLayer, err error) {
	all, err := p.Caches(ctx)
	for _, c := range all {
		found = append(found, sandbox.CacheLayer{Workspace: c.Workspace, Dir: c.Dir, Bytes: c.Bytes})
	}
	return found, err
}

// diskUsage sums up the disk space of a tree's files. Unreadable files count as
// nothing.
func diskUsage(ctx context.Context, dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum, err
}

// trimCaches removes caches of workspaces in the background, once in a while.
func (p *Provider) trimCaches() {
	dir := filepath.Join(p.opt.Dir, cachesDir)
	mark := filepath.Join(dir, trimmedName)
	info, err := os.Stat(mark)
	if err == nil && time.Since(info.ModTime()) < trimInterval || !exists(dir) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.trimming {
		return
	}
	p.trimming = true
	p.wg.Go(func() {
		if p.trim(p.closing, time.Now(), maxCacheBytes) == nil { // else a later start tries again
			_ = os.WriteFile(mark, nil, 0o600)
			_ = os.Chtimes(mark, time.Time{}, time.Now())
		}
		p.mu.Lock()
		p.trimming = false
		p.mu.Unlock()
	})
}

// trim removes caches that are too old or, together, have more than limit bytes.
func (p *Provider) trim(ctx context.Context, now time.Time, limit int64) error {
	all, err := p.Caches(ctx)
	if err != nil {
		return err
	}
	left := int64(0)
	for _, c := range all {
		left += c.Bytes
	}
	for _, c := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		gone := false
		if _, err := os.Stat(c.Workspace); errors.Is(err, fs.ErrNotExist) {
			gone = true
		}
		if c.Running || !gone && now.Sub(c.Used) < maxCacheAge && left <= limit {
			continue
		}
		if err := p.removeUnused(c.Dir); err != nil {
			return err
		}
		left -= c.Bytes
	}
	leftovers, _ := filepath.Glob(filepath.Join(p.opt.Dir, cachesDir, removedPrefix+"*")) // the pattern is well formed
	for _, dir := range leftovers {
		if err := deleteTree(dir); err != nil {
			return err
		}
	}
	return nil
}
