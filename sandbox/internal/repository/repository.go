// Package repository finds the parts of a git repository around its workspace that a
// sandbox needs, and refuses repositories that would have git outside run programs
// that commands inside choose. Its functions are safe for concurrent use, and only
// read, except for files and directories that Grants makes in .git so that commands
// cannot.
package repository

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
)

// maxGitFile bounds the small files of a repository that are read here.
const maxGitFile = 64 << 10

// Grant is a directory or file outside the workspace that appears inside at its own
// path.
type Grant struct {
	Path     string
	Writable bool
}

// Grants returns the paths that git needs outside the workspace: for a worktree, for a submodule
// and for a separate git directory the repository's directory, for a directory in a repository the rest of it, read-only,
// since git would take files that it does not see for deleted. The configuration and
// the hooks of the repository stay read-only.
//
// The workspace is hostile, so its .git file counts only if the repository says
// the same about the workspace: commands could write the one, but not the other.
//
// A directory of git that does not name its working tree, as that of git init
// --separate-git-dir, counts if the user has granted it.
func Grants(workspace, home string, granted []string) []Grant {
	top := topLevel(workspace)
	if top == "" {
		return nil
	}
	var all []Grant
	dotGit := filepath.Join(top, ".git")
	if top != workspace {
		if _, err := (workspacedir.Rules{Home: home}).Check(top); err != nil || !owned(top, workspace) {
			return nil // a home, for example: not all in it is one project
		}
		all = append(all, Grant{Path: top})
	}
	fi, err := os.Lstat(dotGit)
	switch {
	case err != nil:
		return nil
	case fi.IsDir() && top == workspace:
		return nil // it is in the workspace
	case fi.IsDir() && owned(dotGit, workspace):
		return append(all, mainGitDir(dotGit, false)...)
	case fi.Mode().IsRegular():
		if wt := worktreeGitDir(dotGit, workspace, home); wt != nil {
			return append(all, wt...)
		}
		if sep := separateGitDir(dotGit, workspace, home, granted); sep != nil {
			return append(all, sep...)
		}
	}
	return nil
}

// topLevel returns the nearest directory from dir upwards that has a .git.
func topLevel(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// protectedGit are entries of a repository's directory that can name programs
// which run outside later, or belong to other worktrees.
var protectedGit = []string{"commondir", "config", "config.worktree", "hooks", "info", "modules", "worktrees"}

// Check refuses a workspace below a repository whose .git directory says
// that its configuration is elsewhere. Git writes that only into the directories of
// linked worktrees, and reads it everywhere.
func Check(workspace string) error {
	top := topLevel(workspace)
	if top == "" || top == workspace {
		return nil
	}
	dir := filepath.Join(top, ".git")
	if fi, err := os.Lstat(dir); err == nil && fi.IsDir() && !ownCommonDir(dir) {
		path := filepath.Join(dir, "commondir")
		return fault.New(fault.Invalid, path+" makes git read the configuration of another repository").Hint("look at it, and delete it")
	}
	return nil
}

// ownCommonDir reports whether a .git directory has its own configuration.
func ownCommonDir(dir string) bool {
	path := filepath.Join(dir, "commondir")
	_, err := os.Lstat(path)
	return os.IsNotExist(err) || from(dir, gitFile(path)) == dir
}

// workTree finds core.worktree in a configuration.
var workTree = lazyregexp.New(`(?mi)^\s*(\[core\]\s*)?worktree\s*=`)

// keepCommonDir makes the file commondir in a .git directory, naming the directory
// itself: else commands could make one that names another directory. It reports
// whether there is one then. With such a file git ignores core.worktree, so a
// repository that sets it gets none, unless git has found it from the working tree.
func keepCommonDir(dir string, found bool) bool {
	path := filepath.Join(dir, "commondir")
	if exists(path) || !found && workTree().MatchString(readGitFile(filepath.Join(dir, "config"))) {
		return exists(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false
	}
	_, err = f.WriteString(".\n")
	if cerr := f.Close(); err != nil || cerr != nil {
		_ = os.Remove(path) // an empty one would break the repository
		return false
	}
	return true
}

// ownConfig makes the configuration of one working tree, where git reads one: else
// commands could make it.
func ownConfig(common, dir string) {
	if !strings.Contains(strings.ToLower(readGitFile(filepath.Join(common, "config"))), "worktreeconfig") {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, "config.worktree"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil { // else it exists, or nobody but its owner can make it
		_ = f.Close() // nothing was written
	}
}

// mainGitDir returns the .git directory of a repository that has the workspace
// inside. It is writable unless commands could say there that the configuration is
// elsewhere. found says that git finds the directory from the working tree.
func mainGitDir(dir string, found bool) []Grant {
	all := []Grant{{Path: dir, Writable: keepCommonDir(dir, found)}}
	ownConfig(dir, dir)
	for _, name := range protectedGit {
		path := filepath.Join(dir, name)
		if name == "hooks" {
			_ = os.Mkdir(path, 0o755) // else commands could make it; mostly it exists
		}
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSymlink == 0 {
			all = append(all, Grant{Path: path})
		}
	}
	return all
}

// worktreeGitDir returns the paths of its repository that a linked worktree needs,
// or nil if the repository does not know the worktree.
func worktreeGitDir(dotGit, workspace, home string) []Grant {
	to, ok := strings.CutPrefix(gitFile(dotGit), "gitdir: ")
	if !ok {
		return nil
	}
	dir := from(filepath.Dir(dotGit), to)
	common := filepath.Dir(filepath.Dir(dir))
	if filepath.Dir(dir) != filepath.Join(common, "worktrees") || within(common, workspace) ||
		from(dir, gitFile(filepath.Join(dir, "gitdir"))) != dotGit || from(dir, gitFile(filepath.Join(dir, "commondir"))) != common {
		return nil
	}
	if _, err := (workspacedir.Rules{Home: home}).Check(common); err != nil || !owned(common, workspace) || !owned(dir, workspace) {
		return nil
	}
	if fi, err := os.Lstat(filepath.Join(common, "HEAD")); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	all := []Grant{{Path: common}, {Path: dir, Writable: true}}
	for _, name := range []string{"objects", "refs", "logs"} {
		path := filepath.Join(common, name)
		if name == "logs" {
			_ = os.Mkdir(path, 0o755) // git makes it with the first entry; mostly it exists
		}
		if fi, err := os.Lstat(path); err != nil || !fi.IsDir() { // a link would grant another directory
			return nil
		}
		all = append(all, Grant{path, true})
	}
	ownConfig(common, dir)
	for _, name := range []string{"commondir", "config.worktree"} { // git writes gitdir itself
		if path := filepath.Join(dir, name); exists(path) {
			all = append(all, Grant{Path: path})
		}
	}
	return all
}

// separateGitDir returns the paths that a working tree needs whose .git file names a directory
// elsewhere, as a submodule's does. The directory's configuration must name the working tree,
// or the user must have granted the directory; else it is nil.
func separateGitDir(dotGit, workspace, home string, granted []string) []Grant {
	to, ok := strings.CutPrefix(gitFile(dotGit), "gitdir: ")
	if !ok {
		return nil
	}
	top := filepath.Dir(dotGit)
	dir := from(top, to)
	if within(dir, workspace) || workTreeOf(dir) != realpath.Resolve(top) && !slices.Contains(granted, dir) {
		return nil
	}
	if _, err := (workspacedir.Rules{Home: home}).Check(dir); err != nil || !owned(dir, workspace) {
		return nil
	}
	if fi, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	return mainGitDir(dir, true)
}

// workTreeOf returns the working tree that the configuration of a git directory names, "" for
// none.
func workTreeOf(dir string) string {
	core := false
	tree := ""
	for line := range strings.Lines(readGitFile(filepath.Join(dir, "config"))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section, rest, _ := strings.Cut(line, "]")
			core, line = strings.EqualFold(strings.TrimSpace(section[1:]), "core"), strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if core && ok && strings.EqualFold(strings.TrimSpace(key), "worktree") {
			value = strings.TrimSpace(value)
			if plain, err := strconv.Unquote(value); err == nil {
				value = plain
			}
			tree = from(dir, value)
		}
	}
	return tree
}

// from resolves a path that a file of git in dir holds.
func from(dir, path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return realpath.Resolve(path)
}

// gitFile reads a file of one line; it returns "" if it is something else.
func gitFile(path string) string {
	line := strings.TrimRight(readGitFile(path), "\r\n")
	if strings.ContainsAny(line, "\x00\n") {
		return ""
	}
	return line
}

// readGitFile reads a regular file, "" if it is something else.
func readGitFile(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	return string(b)
}

// owned reports whether a path is the user's own, as git demands it too; for root
// also whether it is the workspace's owner's.
func owned(path, workspace string) bool {
	uid, worker := ownerOf(path), ownerOf(workspace)
	return int(uid) == os.Geteuid() || os.Geteuid() == 0 && uid == worker
}

// ownerOf returns the user who owns a path; this process's if it has gone.
func ownerOf(path string) uint32 {
	if fi, err := os.Stat(path); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			return st.Uid
		}
	}
	return uint32(os.Geteuid())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// within reports whether a path is dir, or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
