package standard

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/tool"
)

// ownHome is the home that a sandbox has of its own, in memory: what is written there ends
// with the sandbox, and the user never gets it. Programs keep their settings there, so it
// can be written to; that a file of it is no result is said instead.
type ownHome struct {
	workspace, home string
	mu              sync.Mutex
	told            map[string]bool // the entries that were there, or were named
}

// newOwnHome returns nil where the home is not the sandbox's own.
func newOwnHome(workspace, home string) *ownHome {
	h := &ownHome{workspace: workspace, home: home, told: map[string]bool{}}
	if home == "" || workspacedir.Within(home, workspace) || !h.inMemory(home) {
		return nil
	}
	for _, name := range h.entries() {
		h.told[name] = true
	}
	return h
}

// inMemory reports whether a directory is in memory.
func (h *ownHome) inMemory(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Type == unix.TMPFS_MAGIC
}

// entries are the entries of the home, without those of programs, whose names begin with a
// dot.
func (h *ownHome) entries() (names []string) {
	all, err := os.ReadDir(h.home)
	if err != nil {
		return nil
	}
	for _, e := range all {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// maxNamed is how many new entries are named at once.
const maxNamed = 3

// written says what a command has left in the home; "" for nothing new.
func (h *ownHome) written() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []string
	for _, name := range h.entries() {
		if !h.told[name] {
			h.told[name] = true
			fresh = append(fresh, filepath.Join(h.home, name))
		}
	}
	switch n := len(fresh); {
	case n == 0:
		return ""
	case n > maxNamed:
		fresh = append(fresh[:maxNamed], "others")
	}
	return strings.Join(fresh, ", ") + " will be lost: this home is the sandbox's own and ends with it, and the user's home does not change. " + h.instead()
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
	return workspacedir.Within(path, h.home) && h.inMemory(directoryOf(existing(path)))
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
		obs.Content = event.Texts(edit.Path + " would be lost: this home is the sandbox's own and ends with it, and the user's home does not change. Nothing was written. " + x.home.instead())
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
