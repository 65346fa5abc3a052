package gitview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/spawn"
)

// CommandError is a command that git refuses. Its text is the reference's, without
// git's output. Its kind is fault.Invalid, or fault.Timeout.
type CommandError struct {
	Command string // the command as the reference runs it, quoted for a shell
	Stderr  string
	// Unresolved says that a revision names no commit.
	Unresolved bool
	// TimedOut says that it took too long.
	TimedOut bool
}

// Error implements error.
func (e *CommandError) Error() string {
	if e.TimedOut {
		return "Git command timed out: " + e.Command
	}
	return "Git command failed: " + e.Command
}

// Unwrap gives it its kind.
func (e *CommandError) Unwrap() error {
	if e.TimedOut {
		return fault.New(fault.Timeout, e.Error())
	}
	return fault.New(fault.Invalid, e.Error())
}

// limit is how long one git process may take.
const limit = 30 * time.Second

// maxOutput bounds the output of one git process: enough for some 400,000 paths.
const maxOutput = 32 << 20

// ErrMemory is returned for a repository that takes git more memory than is allowed.
var ErrMemory = errors.New("git needs too much memory for this repository")

// ErrOutput is returned for a command that prints too much.
var ErrOutput = errors.New("git printed too much")

// bounded keeps up to max bytes.
type bounded struct {
	bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		return 0, ErrOutput
	}
	return b.Buffer.Write(p)
}

// head keeps the first max bytes and drops the rest.
type head struct {
	bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), h.max-h.Len())])
	return len(p), nil
}

// sink remembers why its writer failed: git itself reports a broken pipe only.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// call is one run of git.
type call struct {
	env   []string // beside the fixed ones
	in    string
	out   io.Writer // nil to return the output
	limit time.Duration
	dir   string // empty for the directory of the view
}

// git runs git in the view.
func (v *View) git(ctx context.Context, c call, args ...string) (string, error) {
	c.limit = cmp.Or(c.limit, limit)
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "--no-optional-locks"}, args...)...)
	cmd.Dir = v.Dir
	cmd.Dir = cmp.Or(c.dir, cmd.Dir)
	cmd.Env = append(v.environ(), c.env...)
	cmd.Stdin = strings.NewReader(c.in)
	out, stderr := &bounded{max: maxOutput}, &head{max: 64 << 10}
	to := &sink{w: out}
	if c.out != nil {
		to.w = c.out
	}
	cmd.Stdout, cmd.Stderr = to, stderr
	cmd.WaitDelay = time.Second
	err := spawn.Bounds{Memory: gitlimit.Memory, Confined: v.scope.Root != nil, Read: v.read, Write: []*os.File{v.write}}.Run(cmd)
	if err == nil {
		return out.String(), nil
	}
	if to.err != nil {
		return "", fmt.Errorf("take the output of git: %w", to.err)
	}
	if errors.Is(err, exec.ErrNotFound) || ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", fmt.Errorf("run git: %w", errors.Join(err, ctx.Err()))
	}
	if gitlimit.Exceeded(stderr.String()) {
		return "", ErrMemory
	}
	return "", &CommandError{
		Command: quote(append([]string{"git", "--no-pager"}, args...)), TimedOut: ctx.Err() != nil,
		Stderr: redact(strings.TrimSpace(stderr.String())),
	}
}

// environ is the environment of git.
func (v *View) environ() []string {
	env := []string{
		"GIT_DIR=" + v.dir, "GIT_WORK_TREE=" + v.Top, "LC_ALL=C", "GIT_PAGER=cat",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	}
	env = append(env, gitlimit.Environ()...)
	// The user's list of ignored files is in HOME.
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

var safeWord = lazyregexp.New(`^[\w@%+=:,./-]+$`)

// quote writes arguments as a shell would take them.
func quote(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = redact(a); !safeWord().MatchString(words[i]) {
			words[i] = "'" + strings.ReplaceAll(words[i], "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(words, " ")
}
