package standard

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/tool"
)

// ownHome has the directories that a sandbox has of its own although the user has them too: the
// home, in memory or in a container's files, and the directories around the workspace. What is
// written there ends with the sandbox, and the user never gets it. Programs keep their settings in
// the home, so it can be written to; that a file of it is no result is said instead.
type ownHome struct {
	workspace string
	places    []string
	mu        sync.Mutex
	told      map[string]bool // the entries that were there, or were named
}

// newOwnHome returns nil where the sandbox has no such directory. system reports whether a path is
// the system's.
func newOwnHome(workspace, home string, system func(string) bool) *ownHome {
	h := &ownHome{workspace: workspace, told: map[string]bool{}}
	if home != "" && !workspacedir.Within(home, workspace) && ends(home) {
		h.places = append(h.places, home)
	}
	for dir := filepath.Dir(workspace); dir != "/" && dir != "." && !system(dir); dir = filepath.Dir(dir) {
		if ends(dir) && !slices.Contains(h.places, dir) {
			h.places = append(h.places, dir)
		}
	}
	if len(h.places) == 0 {
		return nil
	}
	for _, path := range h.entries() {
		h.told[path] = true
	}
	return h
}

// ends reports whether a directory is in memory, or in the files of a container.
func ends(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.OVERLAYFS_SUPER_MAGIC)
}

// entries are the entries of the directories, without files of programs, whose names begin with
// a dot.
func (h *ownHome) entries() (paths []string) {
	for _, dir := range h.places {
		all, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range all {
			if !strings.HasPrefix(e.Name(), ".") {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
}

// maxNamed is how many new entries are named at once.
const maxNamed = 3

// written names a file that a command has left in the home; "" for nothing new.
func (h *ownHome) written() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []string
	for _, path := range h.entries() {
		if !h.told[path] {
			h.told[path] = true
			fresh = append(fresh, path)
		}
	}
	switch n := len(fresh); {
	case n == 0:
		return ""
	case n > maxNamed:
		fresh = append(fresh[:maxNamed], "others")
	}
	return strings.Join(fresh, ", ") + " will be lost: this directory is the sandbox's own and ends with it, and the user's does not change. " + h.instead()
}

func (h *ownHome) instead() string {
	return "Write to the workspace " + h.workspace + "; the user can let commands change another directory with deft's flag --write DIR."
}

// loses reports whether a file that is written to a path is lost with the sandbox.
func (h *ownHome) loses(path string) bool {
	if h == nil || !filepath.IsAbs(path) {
		return false
	}
	path = realpath.Resolve(path)
	within := func(dir string) bool { return workspacedir.Within(path, dir) }
	return !within(h.workspace) && slices.ContainsFunc(h.places, within) && ends(directoryOf(existing(path)))
}

// explained is an executor of actions on files: writes that would be lost fail, and errors
// about paths that the sandbox does not give say which flag does.
type explained struct {
	tool.Executor
	paths pathHint
	home  *ownHome
}

// Execute implements [tool.Executor].
func (x explained) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	edit, _ := c.Action.(*event.FileEditorAction)
	if edit != nil && edit.Command != event.EditView && x.home.loses(edit.Path) {
		obs := &event.FileEditorObservation{Command: edit.Command, Path: &edit.Path}
		obs.IsError = true
		obs.Content = event.Texts(edit.Path + " would be lost, so nothing was written.\n[The directory is the sandbox's own and ends with it, and the user's does not change. " + x.home.instead() + "]")
		return obs, nil
	}
	obs, err := x.Executor.Execute(ctx, c)
	if err != nil || obs == nil || !obs.Result().IsError {
		return obs, err
	}
	r := obs.Result()
	if hint := x.paths.explain(event.JoinText(r.Content), x.paths.workspace); hint != "" {
		r.Content = append(r.Content, event.Texts("\n["+hint+"]")...)
	}
	return obs, nil
}
