package worktree

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/spawn"
)

// run runs git and returns its output, without white space around it.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx, dir, args, safeSettings(ctx, dir)...)
}

// fetch fetches a reference from the origin.
func fetch(ctx context.Context, dir, ref string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack", "--end-of-options", "origin", ref}
	_, err := call(ctx, dir, args, append(safeSettings(ctx, dir), userHelpers(ctx)...)...)
	return err
}

// userHelpers returns the settings of the user's own credential helpers.
func userHelpers(ctx context.Context) (settings []string) {
	helpers, err := call(ctx, string(os.PathSeparator), []string{"config", "--global", "--get-all", "credential.helper"})
	if err != nil {
		return nil // none
	}
	for helper := range strings.Lines(helpers) {
		settings = append(settings, "credential.helper", strings.TrimSpace(helper))
	}
	return settings
}

// noPrograms are settings that keep git from running programs that a repository's
// configuration names. For filters, see [safeSettings].
var noPrograms = []string{
	"core.hooksPath", "/dev/null", "core.fsmonitor", "false", "core.alternateRefsCommand", "true",
	"submodule.recurse", "false", "credential.helper", "",
}

// safeSettings returns settings that keep git from running programs that the
// repository's configuration names. They go through the environment, because a
// name may contain the "=" that would end it in an option.
func safeSettings(ctx context.Context, dir string) []string {
	off := slices.Clone(noPrograms)
	names, err := call(ctx, dir, []string{"config", "--name-only", "--get-regexp", `^filter\.`}, off...)
	if err != nil {
		return off // none, or no repository: the call itself says so
	}
	for line := range strings.Lines(names) {
		name := strings.TrimSpace(line)
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			filter := name[:i]
			off = append(off, filter+".smudge", "", filter+".clean", "", filter+".process", "", filter+".required", "false")
		}
	}
	return off
}

// call runs git with settings: names and values in turn.
func call(ctx context.Context, dir string, args []string, settings ...string) (string, error) {
	var out bytes.Buffer
	if err := callTo(ctx, &out, dir, args, settings...); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// Bounds of a worktree.
const (
	maxFiles = 1_000_000 // and directories
	maxBytes = 64 << 30
)

// checkSize refuses a commit that does not fit into a worktree.
func checkSize(ctx context.Context, dir, commit string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	size := gitlimit.Checkout{MaxFiles: maxFiles, MaxBytes: maxBytes}
	err := callTo(ctx, &size, dir, gitlimit.ListTree(commit), noPrograms...)
	if size.Err() != nil {
		return fault.Wrap(size.Err(), fault.Invalid, "the commit "+commit+" is too large for a worktree")
	}
	return err
}

// callTo is call with the output to a writer.
func callTo(ctx context.Context, out io.Writer, dir string, args []string, settings ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=true", "GIT_SSH_COMMAND=ssh -oBatchMode=yes", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_PROXY_COMMAND=", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
	}
	cmd.Env = append(cmd.Env, gitlimit.Environ(settings...)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	cmd.WaitDelay = time.Second
	bounds := spawn.Bounds{Memory: gitlimit.Memory}
	if args[0] == "fetch" {
		bounds.Memory = gitlimit.FetchMemory
	}
	if err := bounds.Run(cmd); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return fmt.Errorf("%s: %w", text, err)
		}
		return err
	}
	return nil
}
