package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/spawn"
)

// The files of a new repository; the last one is made last. Attributes of the
// workspace would otherwise change the stored files.
var repositoryFiles = [...]struct{ name, text string }{
	{"info/attributes", "* -text -filter -ident -eol -working-tree-encoding\n"},
	{"config", "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n"},
	{"HEAD", "ref: refs/heads/none\n"},
}

// init makes the repository, and removes the leftovers of a process that was
// killed.
func (w *workspace) init() error {
	err := os.Remove(w.path("index.lock")) // nobody else has the lock
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	git := w.path("git")
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil {
		return nil
	}
	for _, dir := range []string{"info", "objects/info", "objects/pack", refs} {
		if err := os.MkdirAll(filepath.Join(git, dir), 0o700); err != nil {
			return err
		}
	}
	for _, f := range repositoryFiles {
		if err := writeFile(filepath.Join(git, f.name), []byte(f.text)); err != nil {
			return err
		}
	}
	return nil
}

// settings are the settings of every call, as names and values.
var settings = []string{
	"core.hooksPath", "/dev/null", "core.attributesFile", "/dev/null", "core.excludesFile", "/dev/null",
	"core.fsmonitor", "false", "core.untrackedCache", "false", "core.splitIndex", "false", "index.version", "2", "index.sparse", "false",
	"core.autocrlf", "false", "core.safecrlf", "false", "core.fileMode", "true", "core.symlinks", "true", "core.ignoreCase", "false",
	"core.protectNTFS", "false", "core.protectHFS", "false", "core.precomposeUnicode", "false", "core.sparseCheckout", "false",
	"core.fsync", "none", "core.compression", "1", "pack.window", "0",
	"gc.auto", "0", "gc.autoDetach", "false", "maintenance.auto", "false", "submodule.recurse", "false", "advice.graftFileDeprecated", "false",
}

// inPacks stores new files in one pack rather than in a file each.
var inPacks = []string{"core.bigFileThreshold", "1"}

// call is one run of git.
type call struct {
	in    io.Reader
	set   []string // further settings
	inGit bool     // it works on the repository alone
}

// waitDelay is how long git may take to end when it is stopped.
const waitDelay = time.Second

// git runs git and returns its output.
func (w *workspace) git(ctx context.Context, c call, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "--literal-pathspecs"}, args...)...)
	cmd.Dir = w.dir
	cmd.Stdin = c.in
	cmd.Env = append(w.environ(), gitlimit.Environ(append(settings, c.set...)...)...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.WaitDelay = waitDelay
	store, err := openDir(w.store)
	if err != nil {
		return "", fmt.Errorf("run git: %w", err)
	}
	defer store.Close()
	bounds := spawn.Bounds{Memory: gitlimit.Memory, Confined: true, Write: []*os.File{store, w.root}}
	if c.inGit {
		cmd.Dir, bounds.Write = w.store, bounds.Write[:1]
	}
	if err := bounds.Run(cmd); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("run git %s: %w", args[0], context.Cause(ctx))
		}
		text := strings.TrimSpace(stderr.String())
		if strings.Contains(text, "No space left") || strings.Contains(text, "Disk quota exceeded") {
			return "", fault.New(fault.Full, "no space is left for checkpoints").Because(err)
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	return out.String(), nil
}

// environ is the environment of git: nothing of the user's configuration.
func (w *workspace) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TMPDIR=" + w.store,
		"GIT_DIR=" + w.path("git"), "GIT_WORK_TREE=" + w.dir, "GIT_INDEX_FILE=" + w.path("index"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none",
	}
}

// writer replaces a file in one piece.
type writer func(path string, data []byte) error

// writeFile is a writer that waits until the file is on the disk.
func writeFile(path string, data []byte) error { return replaceFile(path, data, (*os.File).Sync) }

// placeFile is a writer that leaves the disk to a later [workspace.sync].
func placeFile(path string, data []byte) error {
	return replaceFile(path, data, func(*os.File) error { return nil })
}

func replaceFile(path string, data []byte, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}
