package plugin

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/plugin/gitsource"
)

// CopiesDir returns where copies of a user's plugins are kept: in the cache directory,
// which sandboxes may show; "" for a user without a home. NamedDir has those that stay with
// conversations.
func CopiesDir(home string, env func(string) string) string {
	cache := env("XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		if home == "" {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "deft", "plugins")
}

// NamedDir returns where the plugins are that were named for a conversation, below copies.
func NamedDir(copies string) string {
	if copies == "" {
		return ""
	}
	return filepath.Join(copies, named)
}

const named = "named"

// keptCopies is how long a copy that nobody asks for is kept: conversations may use it.
const keptCopies = 30 * 24 * time.Hour

// shown returns the copy of a plugin's directory in copies, and makes it if there is none of
// its present content. A conversation keeps the copy that it began with when the plugin is
// updated. A link that leads out of the directory is an error.
func shown(dir, copies string) (string, error) {
	at, outward, err := shownSome(dir, copies)
	if err == nil {
		err = gitsource.Refuse(outward)
	}
	return at, err
}

// shownSome is shown for a directory of several things: it names the links that lead out of the directory
// and are not in the copy.
func shownSome(dir, copies string) (at string, outward []string, err error) {
	if outward, err = gitsource.Outward(dir); err == nil {
		at, err = copyOf(dir, copies)
	}
	return at, outward, err
}

func copyOf(dir, copies string) (string, error) {
	name := filepath.Base(dir)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	mark, err := markOf(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(copies, 0o755); err != nil {
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	if copies, err = filepath.EvalSymlinks(copies); err != nil { // sandboxes show no links
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	kept, now := filepath.Join(copies, mark), time.Now()
	if os.Chtimes(kept, now, now) == nil {
		return filepath.Join(kept, name), nil
	}
	temp, err := os.MkdirTemp(copies, ".new-*")
	if err != nil {
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	defer os.RemoveAll(temp)
	ready := filepath.Join(temp, mark)
	if err := os.Mkdir(ready, 0o755); err != nil {
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	if err := gitsource.CopyInward(dir, filepath.Join(ready, name)); err != nil {
		return "", err
	}
	if err := os.Rename(ready, kept); err != nil {
		if _, lost := os.Stat(kept); lost != nil { // else another process was faster
			return "", fmt.Errorf("copy the plugin: %w", err)
		}
	}
	return filepath.Join(kept, name), nil
}

// markOf changes with the files of a directory.
func markOf(dir string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", dir)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), err
}

// forget removes copies that nobody has asked for for a long time.
func forget(copies string) {
	since := time.Now().Add(-keptCopies)
	entries, err := os.ReadDir(copies)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != named && info.ModTime().Before(since) {
			_ = os.RemoveAll(filepath.Join(copies, e.Name())) // tried again with the next copy
		}
	}
}
