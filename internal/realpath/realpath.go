// Package realpath compares paths after their links were followed.
//
// # Usage
//
//	if !realpath.Inside(workspace, path) {
//		return errOutside
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. The answer holds for the moment of the
// call: a program that changes links meanwhile is only held by [os.Root].
package realpath

import (
	"os"
	"path/filepath"
	"strings"
)

// Inside reports whether path is dir or below it, once all links are followed.
func Inside(dir, path string) bool {
	if strings.ContainsRune(path, 0) {
		return false
	}
	rel, err := filepath.Rel(Resolve(dir), Resolve(path))
	return err == nil && filepath.IsLocal(rel)
}

// Resolve makes a path absolute and follows its links as far as it exists.
func Resolve(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return resolve(path, 0)
}

// Follow follows the links of an absolute path as far as it exists, as the kernel
// does: ".." after a link is the parent of the link's target.
func Follow(path string) string {
	at, links := "/", 0
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil || links == maxLinks {
			at = next
			continue
		}
		links++
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = to + "/" + rest
	}
	return at
}

// maxLinks bounds links that lead to links, as the kernel does.
const maxLinks = 40

func resolve(path string, links int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path {
		return path
	}
	parent := resolve(dir, links)
	// A link to a path that does not exist (yet) leads out all the same.
	if to, err := os.Readlink(filepath.Join(parent, name)); err == nil && links < maxLinks {
		if !filepath.IsAbs(to) {
			to = filepath.Join(parent, to)
		}
		return resolve(filepath.Clean(to), links+1)
	}
	return filepath.Join(parent, name)
}
