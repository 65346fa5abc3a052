package build

import (
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/realpath"
)

// maxGitFile bounds the small files of Git that are read here, in bytes.
const maxGitFile = 4 << 10

// checkoutOf names the repository whose files are in a directory of this machine, and the branch; "" for none. The
// directory may be in a repository, which may be a worktree or a submodule. It may be hostile: a file that is not
// the repository's own is not shown, and nothing blocks.
func checkoutOf(dir string) (name, branch string) {
	for dir = realpath.Resolve(dir); ; dir = filepath.Dir(dir) {
		if git, name := gitDirOf(dir); git != "" {
			branch, ok := branchIn(git)
			if ok {
				return name, branch
			}
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}

// gitDirOf returns the directory of Git that belongs to a directory of files, and the repository's name; "" for none.
func gitDirOf(top string) (git, name string) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return "", ""
	}
	if info.IsDir() {
		return dotGit, filepath.Base(top)
	}
	to, ok := strings.CutPrefix(gitFile(top, ".git"), "gitdir: ")
	if !ok {
		return "", ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(top, to)
	}
	git = realpath.Resolve(to)
	if main, _, inside := strings.Cut(git, "/.git/modules/"); inside && realpath.Inside(main, top) { // a submodule
		return git, filepath.Base(top)
	}
	common := filepath.Dir(filepath.Dir(git))
	if back := gitFile(git, "gitdir"); back == "" || filepath.Dir(git) != filepath.Join(common, "worktrees") || realpath.Resolve(back) != dotGit {
		return "", ""
	}
	if filepath.Base(common) == ".git" {
		common = filepath.Dir(common)
	}
	return git, strings.TrimSuffix(filepath.Base(common), ".git")
}

// branchIn returns the branch that is checked out, or says that there is none. It is not ok where there is no
// repository.
func branchIn(git string) (branch string, ok bool) {
	head := gitFile(git, "HEAD")
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return branch, true
	}
	if _, err := hex.DecodeString(head); err != nil || len(head) < 40 {
		return "", false
	}
	return "none: the commit " + head[:12] + " is checked out", true
}

// gitFile reads a small file in a directory, "" if it cannot be read.
func gitFile(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
