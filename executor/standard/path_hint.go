package standard

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
)

// Messages of programs about a file that is not there or not theirs.
const (
	noGitDir  = "not a git repository: /" // a .git file names another directory
	noFile    = "no such file or directory"
	notThere  = "does not exist"
	borrowed  = "unable to normalize alternate object path" // of a clone that borrows objects
	noAccess  = "permission denied"
	noWriting = "read-only file system"
)

// pathHint says, after the output of a command that failed, that a path which the
// output names may be closed in the sandbox, and which flag opens it.
type pathHint struct {
	workspace, home string
	// hidden says that paths without a grant look as if they did not exist. Otherwise
	// access to them is denied.
	hidden bool
	// system reports whether a path is the system's, see process.IsSystemPath, and private
	// whether it is in a directory of the sandbox's own, see process.IsPrivatePath.
	system, private func(path string) bool
}

// quotedPath and barePath find absolute paths, paths below ~, and paths out of the working
// directory, in a line.
var (
	quotedPath = lazyregexp.New("['\"‘`]((?:~?|\\.\\.)/[^'\"’`]+)['\"’`]")
	barePath   = lazyregexp.New(`(?:^|[\s(=\[])((?:~?|\.\.)/[^/\s'"‘’():;,\]][^\s'"‘’():;,\]]*)`)
)

// anyName finds what may be the path of a file in the working directory.
var anyName = lazyregexp.New(`[^\s'"‘’\x60():;,\[\]]+`)

// explain returns the hints for the end of an output, at most maxNamed, or "". Relative paths are
// of dir.
func (h pathHint) explain(output, dir string) string {
	var hints []string
	output = output[max(0, len(output)-hintRange):]
	for line := range strings.Lines(output) {
		lower := strings.ToLower(line)
		for _, reason := range []string{noGitDir, noFile, notThere, borrowed, noAccess, noWriting} {
			if !strings.Contains(lower, reason) {
				continue
			}
			link := reason == noGitDir || reason == borrowed || strings.Contains(lower, "object directory")
			if reason == notThere || link {
				reason = noFile
			}
			for _, path := range []*regexp.Regexp{quotedPath(), barePath()} {
				named := false
				for _, found := range path.FindAllStringSubmatch(line, -1) {
					hint := h.of(reason, found[1], dir, link)
					if named = named || hint != ""; hint != "" && !slices.Contains(hints, hint) {
						hints = append(hints, hint)
					}
				}
				if named {
					break
				}
			}
			for _, name := range anyName().FindAllString(line, -1) {
				if path := h.ledOut(name, dir); path != "" {
					if hint := h.of(reason, path, dir, true); hint != "" && !slices.Contains(hints, hint) {
						hints = append(hints, hint)
					}
				}
			}
		}
	}
	return strings.Join(hints[:min(len(hints), maxNamed)], " ")
}

// ledOut returns where a path in the workspace leads by its links, and "" where it stays there.
func (h pathHint) ledOut(path, wd string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(wd, path)
	}
	if !workspacedir.Within(path, h.workspace) {
		return ""
	}
	to := realpath.Resolve(path)
	if workspacedir.Within(to, h.workspace) {
		return ""
	}
	return to
}

// of returns the hint for one path; link says that a repository names it. It follows from the path
// and from the sandbox's view alone: it does not tell whether a hidden path exists.
func (h pathHint) of(reason, path, wd string, link bool) string {
	outside := link
	if rest, ok := strings.CutPrefix(path, "~"); ok && h.home != "" {
		path = h.home + rest
	} else if strings.HasPrefix(path, "..") && wd != "" {
		path, outside = filepath.Join(wd, path), true
	}
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || workspacedir.Within(path, h.workspace) {
		return ""
	}
	above := existing(path)
	granted := reason == noWriting && h.hidden && h.private(path) // the sandbox's own directories there can be written
	if h.system(path) && !workspacedir.Within(path, h.home) && !h.nextTo(above, outside) && !granted {
		return ""
	}
	dir := directoryOf(above)
	if reason == noFile {
		if dir = h.notShown(path, above); dir == "" {
			return ""
		}
	}
	if _, err := (workspacedir.Rules{Home: h.home}).Check(dir); err != nil {
		state := map[string]string{noWriting: "read-only", noAccess: "closed"}[reason]
		if state == "" || !workspacedir.Within(h.workspace, dir) || reason == noAccess && dir != filepath.Dir(path) {
			return "" // no flag opens it
		}
		return dir + " is " + state + " in this sandbox, and too much for a flag. The user can let commands change a directory below it with deft's flag --write DIR."
	}
	switch reason {
	case noFile:
		if dir == path && !link { // flags take directories
			return "This sandbox does not show " + dir + ". If it is a directory, the user can show it with deft's flag --read " + dir +
				", or let commands change it with --write; a file can be copied into the workspace."
		}
		return "This sandbox does not show " + dir + ". If it exists, the user can show it with deft's flag --read " + dir +
			", or let commands change it with --write."
	case noAccess:
		return "This sandbox may not give access to " + dir + ". The user can allow it with deft's flag --read " + dir +
			", or --write to let commands change it."
	}
	return dir + " is read-only in this sandbox. The user can let commands change it with deft's flag --write " + dir + "."
}

// nextTo reports whether the place of a path in a directory of the sandbox's own is this machine's
// all the same: the workspace is below it. outside says that the path is known to lead out of the
// workspace; others in the directory itself are mostly a command's own files, which it has not made.
func (h pathHint) nextTo(above string, outside bool) bool {
	return h.hidden && h.private(above) && workspacedir.Within(h.workspace, above) && (outside || h.private(filepath.Dir(above)))
}

// notShown returns the directory that would have to be shown for a path that is not
// there, and "" if the sandbox shows the place where it would be. above is the
// existing part of the path.
func (h pathHint) notShown(path, above string) string {
	top := filepath.Dir(above) == "/" // all directories of the root are shown, mostly empty
	if !h.hidden || above == path || above == "/" || !top && !workspacedir.Within(h.home, above) && !workspacedir.Within(h.workspace, above) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(above, ".git")); err == nil {
		return "" // the workspace's repository is shown
	}
	next, _, deeper := strings.Cut(strings.TrimPrefix(path[len(above):], "/"), "/")
	if !deeper && strings.HasPrefix(next, ".") {
		return "" // a file of settings, which most programs can do without
	}
	if ext := filepath.Ext(path); filepath.Base(path) == "objects" || ext == ".git" {
		return path // of a repository, which borrows objects from there, or is there itself
	}
	return filepath.Join(above, next)
}

// existing returns the longest part of an absolute path that exists.
func existing(path string) string {
	for path != "/" {
		if _, err := os.Lstat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// directoryOf returns path, or the directory that it is in.
func directoryOf(path string) string {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return path
	}
	return filepath.Dir(path)
}
