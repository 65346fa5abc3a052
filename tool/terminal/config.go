package terminal

import (
	"cmp"
	"time"

	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// Config configures the shell. The zero value is usable.
type Config struct {
	// WorkingDir is where the shell starts. Default: the process's own.
	WorkingDir string
	// Env is the complete environment of the shell, as KEY=value; nothing is
	// inherited from this process. Variables that would disturb the session
	// (PS1, PROMPT_COMMAND, BASH_ENV …) are left out, and pagers are set to
	// cat unless Env sets them.
	Env []string
	// Shell is the path of bash, or of a POSIX shell. Default: bash, as found on PATH,
	// else sh.
	Shell  string
	syntax shellSyntax // of Shell, once that is resolved
	// Command changes the path and the arguments by which it is started, to protect
	// this process from its commands; nil for none.
	Command func(path string, args []string) (string, []string)
	// Starter starts it; nil is fine unless thousands of descriptors are open.
	Starter *Starter
	// SoftTimeout is how long a command may print nothing before the call
	// returns, if the call has no timeout. Default 30 s.
	SoftTimeout time.Duration
	// SoftAlways applies SoftTimeout to calls with a timeout as well.
	SoftAlways bool
	// ForegroundCap is the longest that one call may take, whatever its
	// timeout; the command itself goes on. Default 30 min; negative for none.
	ForegroundCap time.Duration
	// PromptWait is how long a program that was given input may be silent
	// behind an unfinished line (a prompt) or on a full screen before the
	// call returns. Default 1 s; negative for the soft timeout.
	PromptWait time.Duration
	// InterruptGrace is how long stopping a command may take, from SIGINT
	// over SIGTERM to SIGKILL. Default 2 s.
	InterruptGrace time.Duration
	// MaxOutput is how many characters of output an observation has at most;
	// the middle is left out. Default 30,000.
	MaxOutput int
	// OutputDir is where the full text of longer outputs is saved, one file
	// per observation; it is made when needed. Empty: they are not saved.
	OutputDir string
	// MaxSaved is how many bytes of one output are saved. Default 200 MB.
	MaxSaved int64
	// Explain is called when a command has ended, with its text ("" if an earlier call has
	// started it), its output, its exit code and the directory that the shell is in. It returns a
	// note of one line for after the output, or "". Nil: nothing.
	Explain func(command, output string, status int, dir string) string
	// Rows and Cols are the size of the terminal. Default 50 by 200.
	Rows, Cols uint16
}

func (c Config) withDefaults() Config {
	c.SoftTimeout = cmp.Or(c.SoftTimeout, 30*time.Second)
	c.ForegroundCap = cmp.Or(c.ForegroundCap, 30*time.Minute)
	c.PromptWait = cmp.Or(c.PromptWait, time.Second)
	c.InterruptGrace = cmp.Or(c.InterruptGrace, 2*time.Second)
	c.MaxOutput = cmp.Or(c.MaxOutput, 30_000)
	c.MaxSaved = cmp.Or(c.MaxSaved, 200_000_000)
	c.Rows, c.Cols = cmp.Or(c.Rows, ahead.Rows), cmp.Or(c.Cols, ahead.Cols)
	return c
}
