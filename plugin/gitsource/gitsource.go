// Package gitsource brings the source that a user names to this machine: a directory of a Git
// repository (a URL, or github:owner/repo[/path]), or a directory that is here already.
//
// # Usage
//
//	dir, commit, err := gitsource.Keep(ctx, gitsource.Source{Source: "github:owner/repo"}, cache)
//
// # Trust
//
// Fetched files are hostile. Links that lead out of them are not kept, sizes are bounded, and
// Git gets its arguments as a list and runs without hooks, filters or the user's
// configuration (package gitfetch), only to addresses that users may name (package outbound).
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Errors are [ErrFetch], or fault.Invalid for a source that
// is too large or leads out of itself.
package gitsource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/optional"
)

// Source is where a thing comes from.
type Source struct {
	Source   string  `json:"source"`    // a directory, a Git URL, or github:owner/repo[/path]
	Ref      *string `json:"ref"`       // branch, tag or commit; nil for the default branch
	RepoPath *string `json:"repo_path"` // directory inside; nil for the root
}

// Local reports whether a source names a directory of this machine, by its path or as the
// URL of a file.
func (s Source) Local() bool {
	source := strings.TrimSpace(s.Source)
	return strings.HasPrefix(strings.ToLower(source), "file:") || !gitfetch.IsURL(source) && !strings.HasPrefix(source, "github:")
}

// CheckPath describes the mistake in a RepoPath.
func CheckPath(dir string) error {
	if path.IsAbs(dir) || slices.Contains(strings.Split(dir, "/"), "..") {
		return errors.New("repo_path must be a path within the repository")
	}
	return nil
}

// gitTime is how long a fetch may take.
const gitTime = 120 * time.Second

// Fetched is a source on this machine.
type Fetched struct {
	Dir    string
	Commit *string // of a repository
	root   string  // of the repository; empty for a directory of this machine
	sub    string  // of Dir, below root
}

// ErrFetch is in the chain of an error about a source that cannot be read.
var ErrFetch = errors.New("the source cannot be fetched")

// ErrSource and ErrPath are [ErrFetch] errors about the request: the form of the
// source, or the directory in it.
var (
	ErrSource = errors.New("the source is neither a directory nor a repository")
	ErrPath   = errors.New("there is no such directory in the source")
)

// Cloned reports whether the source is a repository that is cloned, at its ref, and not a directory of this machine, which
// is taken as it is.
func (s Source) Cloned() bool {
	source := strings.TrimSpace(s.Source)
	return strings.HasPrefix(source, "github:") || gitfetch.IsURL(source)
}

// failed returns an [ErrFetch] error.
func failed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFetch, fmt.Errorf(format, args...))
}

// Fetch fetches a source, with clones in temp. rootName is the directory name of a
// clone, or "" for the repository's name.
func Fetch(ctx context.Context, from Source, temp, rootName string) (Fetched, error) {
	source := strings.TrimSpace(from.Source)
	sub := optional.Value(from.RepoPath)
	if strings.ContainsRune(source+sub+optional.Value(from.Ref), 0) {
		return Fetched{}, failed("a NUL byte")
	}
	if rest, ok := strings.CutPrefix(source, "github:"); ok {
		part := strings.SplitN(rest, "/", 3)
		if len(part) < 2 || part[0] == "" || part[1] == "" {
			return Fetched{}, failed("%w: github:owner/repo is expected, not %q", ErrSource, source)
		}
		if len(part) == 3 && strings.Trim(part[2], "/") != "" {
			if sub != "" {
				return Fetched{}, failed("the source names a directory already; leave out repo_path")
			}
			sub = strings.Trim(part[2], "/")
		}
		source = "https://github.com/" + part[0] + "/" + part[1] + ".git"
	}
	if !gitfetch.IsURL(source) {
		dir, err := local(source, sub)
		return Fetched{Dir: dir}, err
	}
	if rootName == "" {
		rootName = gitfetch.RepositoryName(source)
	}
	clone := filepath.Join(temp, rootName)
	commit, err := Clone(ctx, source, optional.Value(from.Ref), clone)
	if err != nil {
		return Fetched{}, err
	}
	dir, err := within(clone, sub)
	return Fetched{Dir: dir, Commit: &commit, root: clone, sub: sub}, err
}

// Keep fetches a source into a cache and returns its directory. Each commit is kept
// once, without .git. A directory of this machine is returned itself, with a nil
// commit. A directory of a repository with a link that leads out of the repository is refused, and
// such links elsewhere in it are not kept.
func Keep(ctx context.Context, from Source, cache string) (dir string, commit *string, err error) {
	dir, commit, outward, err := KeepSome(ctx, from, cache)
	if err == nil {
		err = Refuse(outward)
	}
	return dir, commit, err
}

// KeepSome is [Keep] for a directory of several things. It names the links in it that lead out of the
// repository and were not kept, for the caller to refuse the things that have them.
func KeepSome(ctx context.Context, from Source, cache string) (dir string, commit *string, outward []string, err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", nil, nil, fmt.Errorf("make the cache: %w", err)
	}
	temp, err := os.MkdirTemp(cache, ".new-*")
	if err != nil {
		return "", nil, nil, fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(temp)
	got, err := Fetch(ctx, from, temp, "")
	if err != nil || got.Commit == nil {
		return got.Dir, nil, nil, err
	}
	all, err := Outward(got.root)
	if err != nil {
		return "", nil, nil, err
	}
	hash := sha256.Sum256([]byte(from.Source))
	kept := filepath.Join(cache, fmt.Sprintf("%s-%x-%s", filepath.Base(got.root), hash[:8], *got.Commit))
	if !isDir(kept) {
		ready := filepath.Join(temp, ".ready")
		if err := CopyInward(got.root, ready); err != nil {
			return "", nil, nil, err
		}
		if err := os.Rename(ready, kept); err != nil && !isDir(kept) {
			return "", nil, nil, fmt.Errorf("keep what was fetched: %w", err)
		}
	}
	dir, err = within(kept, got.sub)
	if err != nil {
		return "", nil, nil, err
	}
	return dir, got.Commit, Below(all, got.sub), nil
}

// Below lists the paths that are in a directory, by their names in it.
func Below(paths []string, dir string) (names []string) {
	for _, one := range paths {
		if name, err := filepath.Rel(filepath.FromSlash(strings.Trim(dir, "/")), filepath.FromSlash(one)); err == nil && filepath.IsLocal(name) {
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

// local resolves a directory of this machine.
func local(source, sub string) (string, error) {
	if strings.Contains(source, "://") || !strings.ContainsAny(source, "/~.") {
		return "", failed("%w: %q", ErrSource, Shown(source))
	}
	if rest, ok := strings.CutPrefix(source, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", failed("%w", err)
		}
		source = home + rest
	}
	dir, err := filepath.Abs(source)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", failed("%w", err)
	}
	if !isDir(dir) {
		return "", failed("%s is not a directory", dir)
	}
	return within(dir, sub)
}

// within returns a directory below another, which it must not leave.
func within(dir, sub string) (string, error) {
	sub = strings.Trim(sub, "/")
	if sub == "" {
		return dir, nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", failed("%w", err)
	}
	at, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(sub)))
	if err != nil || !isDir(at) {
		return "", failed("%w: %q", ErrPath, sub)
	}
	if at != root && !strings.HasPrefix(at, root+string(filepath.Separator)) {
		return "", failed("%w: %q leads out of it", ErrPath, sub)
	}
	return at, nil
}

// Clone fetches one commit of a repository into a directory that it makes, and
// returns the commit. ref "" is the default branch. Errors are [ErrFetch] and
// show no credentials.
func Clone(ctx context.Context, url, ref, dir string) (commit string, err error) {
	if !gitfetch.IsURL(url) || ref != "" && !gitfetch.IsRef(ref) {
		return "", failed("not the URL and ref of a repository")
	}
	ref = cmp.Or(ref, "HEAD")
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("clone: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	env, err := gitfetch.Environ(ctx, url)
	if err != nil {
		return "", failed("%w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, ref},
	} {
		if err := gitfetch.Run(ctx, io.Discard, dir, env, args...); err != nil {
			return "", failed("%w", err)
		}
	}
	size := gitlimit.Checkout{MaxFiles: maxCheckoutFiles, MaxBytes: maxCheckoutBytes}
	if err := gitTo(ctx, &size, dir, gitlimit.ListTree("FETCH_HEAD")...); size.Err() != nil {
		return "", failed("%w", size.Err())
	} else if err != nil {
		return "", err
	}
	if _, err := git(ctx, dir, "checkout", "--quiet", "--detach", "FETCH_HEAD"); err != nil {
		return "", err
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

// Bounds of a repository: some hundred bytes can name any number of files.
const (
	maxCheckoutFiles = 200_000 // and directories
	maxCheckoutBytes = 2 << 30
)

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gitfetch.Output(ctx, dir, args...)
	if err != nil {
		err = failed("%w", err)
	}
	return out, err
}

func gitTo(ctx context.Context, out io.Writer, dir string, args ...string) error {
	if err := gitfetch.Run(ctx, out, dir, nil, args...); err != nil {
		return failed("%w", err)
	}
	return nil
}

func isDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

// Shown returns a source without the credentials of a URL.
func Shown(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		return source
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return scheme + "://****@" + authority[i+1:] + "/" + path
	}
	return source
}
