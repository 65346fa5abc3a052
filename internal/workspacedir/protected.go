package workspacedir

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/internal/realpath"
)

// protected are the directories of the machine that [Rules.Check] compares with.
type protected struct {
	dirs, trees []directory // systemDirs and systemTrees
	homes       []home
}

// home is a home directory.
type home struct {
	above  []directory // itself and all above it
	secret []string    // the existing ones of credentialDirs, without links
	absent []string    // the others
}

// protectedFor is how long they are kept: to look at more than a hundred paths takes
// longer than the rest of a conversation's creation.
const protectedFor = time.Second

var kept struct {
	sync.Mutex
	until   time.Time
	home    string
	machine *protected
}

// protectedFrom returns the directories of the machine; own is the user's home.
func protectedFrom(own string) *protected {
	kept.Lock()
	defer kept.Unlock()
	if kept.machine != nil && kept.home == own && time.Now().Before(kept.until) {
		return kept.machine
	}
	m := &protected{dirs: atAll(systemDirs), trees: atAll(systemTrees)}
	for _, path := range Homes(own) {
		h := home{above: parents(path)}
		for _, name := range credentialDirs {
			secret := filepath.Join(path, name)
			if _, err := os.Stat(secret); err != nil {
				h.absent = append(h.absent, secret)
			} else {
				h.secret = append(h.secret, realpath.Resolve(secret))
			}
		}
		m.homes = append(m.homes, h)
	}
	kept.machine, kept.home, kept.until = m, own, time.Now().Add(protectedFor)
	return m
}

// holdsCredentials reports whether a directory lies in one of credentialDirs, or
// contains one.
func (h home) holdsCredentials(dir string) bool {
	return slices.ContainsFunc(h.secret, func(s string) bool { return Within(dir, s) || Within(s, dir) }) ||
		slices.ContainsFunc(h.absent, func(s string) bool { return Within(dir, s) }) // nothing to contain
}

func atAll(paths []string) []directory {
	all := make([]directory, len(paths))
	for i, path := range paths {
		all[i] = at(path)
	}
	return all
}
