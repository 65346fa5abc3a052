package standard

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

// ownHome has the directories that a sandbox has of its own although the user has them too: the
// home, in memory or in a container's files, and the directories around the workspace. What is
// written there ends with the sandbox, and the user never gets it. Programs keep their settings in
// the home, so it can be written to; that a file of it is no result is said instead.
type ownHome struct {
	workspace, home string
	places          []string
	mu              sync.Mutex
	told            map[string]bool // the entries that were there, or were named
	looked          unix.Timespec   // when files were last looked at, by the clock of their changes
	read            map[string]reading
	dots            []string // the names in the home that begin with a dot
}

// reading is when a directory was last changed before it was read, and whether that was long
// enough before for any change since to have another time.
type reading struct {
	changed unix.Timespec
	settled bool
}

// newOwnHome returns nil where the sandbox has no such directory. system reports whether a path is
// the system's.
func newOwnHome(workspace, home string, system func(string) bool) *ownHome {
	h := &ownHome{workspace: workspace, home: home, told: map[string]bool{}, looked: fileTime(), read: map[string]reading{}}
	if home != "" && !workspacedir.Within(home, workspace) && ends(home) {
		h.places = append(h.places, home)
	}
	for dir := filepath.Dir(workspace); dir != "/" && dir != "." && (belowTmp(dir) || !system(dir)); dir = filepath.Dir(dir) {
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

// belowTmp reports whether a directory is below the sandbox's own directory of temporary files:
// the user has another one of that path.
func belowTmp(dir string) bool {
	return strings.HasPrefix(dir, "/tmp/") || strings.HasPrefix(dir, "/var/tmp/")
}

// ends reports whether a directory is in memory, or in the files of a container.
func ends(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.OVERLAYFS_SUPER_MAGIC)
}

// fileTime is the clock by which file systems note changes.
func fileTime() (now unix.Timespec) {
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) // Linux has it
	return now
}

// historyFile finds the names of files that programs write by themselves.
var historyFile = lazyregexp.New(`(?i)hist$|history$|hsts$|^\.(viminfo|lesshst|rnd|xauthority|ds_store)$|lock$|^\..*(cache|_state)`)

// homePath finds the paths of dot files in a command: below ~, $HOME or the home.
var homePath = lazyregexp.New(`(?:^|[\s"'=:<>(;|&,])(~|\$HOME|\$\{HOME\}|/[^\s"'=:<>();|&,]*?)/(\.[^\s"'<>();|&*?$\x60]+)`)

// settings returns the dot files of the home that have changed since they were last looked at, as
// far as a person means them: those right in the home that no program writes by itself, and the
// ones that the command names.
func (h *ownHome) settings(command string) (paths []string) {
	since := h.looked
	h.looked = fileTime()
	if h.home == "" || !slices.Contains(h.places, h.home) {
		return nil
	}
	add := func(path string, directory bool) {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || !directory && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return
		}
		if in := filepath.Dir(path); in != h.home && !sameDevice(in, h.home) { // a grant, or the layer of a cache, which stays
			return
		}
		if st.Ctim.Nano() >= since.Nano() && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, name := range h.dots {
		if !historyFile().MatchString(name) {
			add(filepath.Join(h.home, name), false)
		}
	}
	for _, found := range homePath().FindAllStringSubmatch(command, -1) {
		if base := found[1]; !strings.HasPrefix(base, "/") || base == h.home {
			add(filepath.Join(h.home, found[2]), true)
		}
	}
	return paths
}

// sameDevice reports whether two directories are of one file system.
func sameDevice(a, b string) bool {
	var one, other unix.Stat_t
	return unix.Stat(a, &one) == nil && unix.Stat(b, &other) == nil && one.Dev == other.Dev
}

// entries are the entries of the directories that have changed since the last call, without
// files of programs, whose names begin with a dot. It runs after each command, and to read the
// directories takes a good part of the time of a short one.
func (h *ownHome) entries() (paths []string) {
	for _, dir := range h.places {
		if !h.changed(dir) {
			continue
		}
		all, err := os.ReadDir(dir)
		if err != nil {
			delete(h.read, dir)
			continue
		}
		if dir == h.home {
			h.dots = nil
		}
		for _, e := range all {
			switch dot := strings.HasPrefix(e.Name(), "."); {
			case !dot:
				paths = append(paths, filepath.Join(dir, e.Name()))
			case dir == h.home:
				h.dots = append(h.dots, e.Name())
			}
		}
	}
	return paths
}

// settleTime is longer than the steps of the clock of changes, and than its distance from the
// clock of a file system elsewhere.
const settleTime = time.Second

// changed reports whether a directory may have other entries than at the last call.
func (h *ownHome) changed(dir string) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		delete(h.read, dir)
		return true
	}
	now, last := fileTime(), h.read[dir]
	h.read[dir] = reading{st.Ctim, time.Duration(now.Nano()-st.Ctim.Nano()) > settleTime}
	return !last.settled || last.changed != st.Ctim
}

// maxNamed is how many new entries are named at once.
const maxNamed = 3

// written names files that a command has left in the home; "" for nothing new.
func (h *ownHome) written(command string) string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []string
	paths := h.entries()
	for _, path := range append(paths, h.settings(command)...) {
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

// guard refuses the change of a file that would be lost.
func (h *ownHome) guard(path string) error {
	if !h.loses(path) {
		return nil
	}
	return files.Refuse("%s would be lost, so nothing was written.\n[The directory is the sandbox's own and ends with it, and the user's does not change. %s]", path, h.instead())
}

// explained is an executor of actions on files: errors about paths that the sandbox does not
// give say which flag does, and files that are made where they end with the sandbox are named.
type explained struct {
	tool.Executor
	paths pathHint
}

// Unwrap returns the executor whose results are explained.
func (x explained) Unwrap() tool.Executor { return x.Executor }

// Execute implements [tool.Executor].
func (x explained) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	obs, err := x.Executor.Execute(ctx, c)
	if err != nil || obs == nil {
		return obs, err
	}
	r, hint := obs.Result(), ""
	if r.IsError {
		hint = x.paths.explain(event.JoinText(r.Content), x.paths.workspace)
	} else {
		hint = x.paths.temporary(created(c.Action))
	}
	if hint != "" {
		r.Content = append(r.Content, event.Texts("\n["+hint+"]")...)
	}
	return obs, nil
}

// created returns the path of the file that an action makes, "" for none. Where another tool changes
// a file, it was there and has been named.
func created(a event.Action) string {
	switch a := a.(type) {
	case *event.FileEditorAction:
		if a.Command == event.EditCreate {
			return a.Path
		}
	case *event.WriteFileAction:
		return a.FilePath
	case *event.EditAction:
		if a.OldString == "" {
			return a.FilePath
		}
	}
	return ""
}

// temporary says that a file is the sandbox's alone, "" if it is not.
func (h pathHint) temporary(path string) string {
	if !h.hidden || !filepath.IsAbs(path) {
		return ""
	}
	path = realpath.Resolve(path)
	if !h.private(path) || workspacedir.Within(path, h.workspace) || !ends(filepath.Dir(path)) {
		return ""
	}
	return path + " ends with the sandbox, whose own this directory is: the user does not get it. Write results to the workspace " +
		h.workspace + "; the user can let commands change another directory with deft's flag --write DIR."
}
