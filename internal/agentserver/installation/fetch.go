package installation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/spawn"
)

// gitTime is how long a fetch may take.
const gitTime = 120 * time.Second

// fetched is a thing that was fetched and is not installed yet.
type fetched struct {
	dir    string
	root   string  // of the repository; empty for a directory of this machine
	sub    string  // of dir, below root
	commit *string // of a repository
}

// ErrSource and ErrPath are [ErrFetch] errors about the request: the form of the
// source, or the directory in it.
var (
	ErrSource = errors.New("the source is neither a directory nor a repository")
	ErrPath   = errors.New("there is no such directory in the source")
)

// failed returns an [ErrFetch] error.
func failed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFetch, fmt.Errorf(format, args...))
}

// fetch fetches a source, with clones in temp. rootName is the directory name of a
// clone, or "" for the repository's name.
func fetch(ctx context.Context, from Source, temp, rootName string) (fetched, error) {
	source := strings.TrimSpace(from.Source)
	sub := deref(from.RepoPath)
	if strings.ContainsRune(source+sub+deref(from.Ref), 0) {
		return fetched{}, failed("a NUL byte")
	}
	if rest, ok := strings.CutPrefix(source, "github:"); ok {
		part := strings.SplitN(rest, "/", 3)
		if len(part) < 2 || part[0] == "" || part[1] == "" {
			return fetched{}, failed("%w: github:owner/repo is expected, not %q", ErrSource, source)
		}
		if len(part) == 3 && strings.Trim(part[2], "/") != "" {
			if sub != "" {
				return fetched{}, failed("the source names a directory already; leave out repo_path")
			}
			sub = strings.Trim(part[2], "/")
		}
		source = "https://github.com/" + part[0] + "/" + part[1] + ".git"
	}
	if !IsGitURL(source) {
		dir, err := local(source, sub)
		return fetched{dir: dir}, err
	}
	if rootName == "" {
		rootName = repositoryName(source)
	}
	clone := filepath.Join(temp, rootName)
	commit, err := Clone(ctx, source, deref(from.Ref), clone)
	if err != nil {
		return fetched{}, err
	}
	dir, err := within(clone, sub)
	return fetched{dir: dir, root: clone, sub: sub, commit: &commit}, err
}

// Keep fetches a source into a cache and returns its directory. Each commit is kept
// once, without .git. A directory of this machine is returned itself, with a nil
// commit.
func Keep(ctx context.Context, from Source, cache string) (dir string, commit *string, err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", nil, fmt.Errorf("make the cache: %w", err)
	}
	temp, err := os.MkdirTemp(cache, ".new-*")
	if err != nil {
		return "", nil, fmt.Errorf("fetch: %w", err)
	}
	defer os.RemoveAll(temp)
	got, err := fetch(ctx, from, temp, "")
	if err != nil || got.commit == nil {
		return got.dir, nil, err
	}
	hash := sha256.Sum256([]byte(from.Source))
	kept := filepath.Join(cache, fmt.Sprintf("%s-%x-%s", filepath.Base(got.root), hash[:8], *got.commit))
	if !isDir(kept) {
		ready := filepath.Join(temp, ".ready")
		if err := copyTree(got.root, ready); err != nil {
			return "", nil, err
		}
		if err := os.Rename(ready, kept); err != nil && !isDir(kept) {
			return "", nil, fmt.Errorf("keep what was fetched: %w", err)
		}
	}
	dir, err = within(kept, got.sub)
	return dir, got.commit, err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var (
	scheme = lazyregexp.New(`^(https?|ssh|git|file)://[^-]`)
	scp    = lazyregexp.New(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^-:]`)
	// aRef is what may name a branch, tag or commit: never an option.
	aRef = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./@+-]*$`)
)

// maxRef bounds the length of a reference.
const maxRef = 255

// IsGitURL reports whether a source is fetched with Git. Transports that run
// programs (ext::) are refused.
func IsGitURL(source string) bool { return scheme().MatchString(source) || scp().MatchString(source) }

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

func repositoryName(url string) string {
	name := strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	if i := strings.LastIndexAny(name, "/:"); i >= 0 {
		name = name[i+1:]
	}
	name = path.Base("/" + name)
	if name == "/" || name == "." || strings.HasPrefix(name, ".") {
		return "repository"
	}
	return name
}

// Clone fetches one commit of a repository into a directory that it makes, and
// returns the commit. ref "" is the default branch. Errors are [ErrFetch] and
// show no credentials.
func Clone(ctx context.Context, url, ref, dir string) (commit string, err error) {
	if !IsGitURL(url) || len(ref) > maxRef || ref != "" && !aRef().MatchString(ref) {
		return "", failed("not the URL and ref of a repository")
	}
	if ref == "" {
		ref = "HEAD"
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("clone: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, ref},
		{"checkout", "--quiet", "--detach", "FETCH_HEAD"},
	} {
		if _, err := git(ctx, dir, args...); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

// git runs Git without anything that a repository, or a configuration that the
// agent could write, may bring to it.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "protocol.ext.allow=never", "-c", "credential.helper=", "-c", "http.followRedirects=initial",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false",
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes", "GIT_LFS_SKIP_SMUDGE=1",
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{w: &out}, &limited{w: &said}
	cmd.Env = append(cmd.Env, gitlimit.Environ()...)
	err := spawn.Bounds{Memory: gitlimit.FetchMemory}.Run(cmd)
	switch {
	case ctx.Err() != nil:
		return "", failed("git %s: %w", args[0], ctx.Err())
	case err != nil: // what it said may hold the URL with its credentials
		return "", failed("git %s: %s", args[0], withoutCredentials(strings.TrimSpace(said.String())))
	}
	return strings.TrimSpace(out.String()), nil
}

var credentials = lazyregexp.New(`://[^/\s@]*@`)

func withoutCredentials(s string) string { return credentials().ReplaceAllString(s, "://****@") }

// limited drops what goes beyond some kilobytes.
type limited struct{ w *bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	const limit = 64 << 10
	if space := limit - l.w.Len(); space > 0 {
		l.w.Write(b[:min(space, len(b))])
	}
	return len(b), nil
}
