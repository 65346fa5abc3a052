// Package terminal is the tool that runs commands: one bash, or the sh of an image
// without it, on a pseudo terminal that lasts for a whole conversation.
//
// # Usage
//
// Models see [Definition]; [New] makes the executor. The shell starts with the
// first command, or when it is warmed.
//
// # How it works
//
// Bash gets each command through a pipe of its own, not typed into the
// terminal, so that nothing is echoed, no line is too long, and programs that
// read the terminal never eat a command. When a command has ended, bash
// writes its status and directory to a second pipe and then a random marker
// to the terminal: all output is in front of the marker. A goroutine reads
// the terminal and wakes the waiting call; nothing polls.
//
// The secrets of a call are exported in the shell before its command, so that
// later commands have them too. They are on no disk, in no argument list, and
// neither echoed nor in the history. The caller masks them in the output.
//
// # Concurrency
//
// An executor runs one action at a time; concurrent calls wait for each
// other. One goroutine reads the terminal, one per shell waits for the
// process; Close waits for both.
//
// # Failure
//
// The failure of a command is in the observation, and so is the end of the
// shell: the next action starts a fresh one in the same directory. Execute
// returns an error if no terminal or no shell can be started.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/memo"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

const (
	progressEvery = 50 * time.Millisecond
	startTimeout  = 60 * time.Second
	inputTimeout  = 2 * time.Second
)

// New returns the executor of terminal actions. It takes no resources before
// the first action, unless it is warmed.
func New(cfg Config) tool.Executor {
	return &executor{cfg: cfg.withDefaults(), turn: make(chan struct{}, 1)}
}

type executor struct {
	cfg Config

	warming warming

	turn     chan struct{} // full for the whole of an action or a warm-up; guards the fields below
	closed   bool
	session  *session
	unused   bool // session has been warmed, and has run nothing yet
	username string
	hostname string
	python   pythonFinder
	// toldShell says that the model knows that its shell is not bash.
	toldShell bool
}

var (
	_ tool.Executor = (*executor)(nil)
	_ tool.Warmer   = (*executor)(nil)
)

// Warm implements [tool.Warmer]: it starts the shell.
func (e *executor) Warm(ctx context.Context) error {
	ctx, done := e.warming.begin(ctx)
	defer done()
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.leave()
	if e.closed || e.session != nil {
		return nil
	}
	err := e.ensure(ctx)
	e.unused = err == nil
	return err
}

// replaced reports whether the shell was warmed in a directory that is another one now.
func (e *executor) replaced() bool {
	unused := e.unused
	e.unused = false
	return unused && e.session != nil && !e.session.stands()
}

// enter waits until no other action or warm-up is under way.
func (e *executor) enter(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the terminal: %w", ctx.Err())
	}
}

func (e *executor) leave() { <-e.turn }

// Execute implements [tool.Executor] for [event.TerminalAction].
func (e *executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.TerminalAction)
	if !ok {
		return nil, fault.New(fault.Invalid, "the terminal cannot run a "+c.Action.Kind())
	}
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	defer e.leave()
	if e.closed {
		return nil, fault.New(fault.Conflict, "the terminal is closed")
	}
	if msg := invalid(a); msg != "" {
		return e.refuse(a, msg), nil
	}
	note := ""
	if e.replaced() {
		if err := e.closeSession(); err != nil {
			return nil, fmt.Errorf("start the terminal again: %w", err)
		}
	}
	if a.Reset {
		if err := e.closeSession(); err != nil {
			return nil, fmt.Errorf("reset terminal: %w", err)
		}
		note = "[The terminal was reset: everything that ran in it was ended, and this is a fresh shell.]\n"
	}
	if err := e.ensure(ctx); err != nil {
		return nil, err
	}
	e.session.maskWith(c.Mask)
	return e.dispatch(ctx, a, note, c)
}

// dispatch carries out the action according to the state of the terminal.
func (e *executor) dispatch(ctx context.Context, a *event.TerminalAction, note string, c tool.Call) (event.Observation, error) {
	s, send := e.session, c.Progress
	running, unreported := s.state()
	key, isKey := keyBytes(a.Command)
	switch {
	case a.Reset && a.Command == "":
		return e.observe(a, ended, note), nil
	case running && a.Command == "":
		return e.await(ctx, a, "", note, send)
	case running && a.IsInput:
		return e.await(ctx, a, inputBytes(a.Command), note, send)
	case running && isKey && len(key) == 1 && key[0] < 0x20:
		return e.await(ctx, a, key, note, send)
	case running:
		return e.refuse(a, e.busy()), nil
	case unreported && (a.Command == "" || a.IsInput):
		if a.IsInput && a.Command != "" {
			note += "[The command had ended already; the input was not sent.]\n"
		}
		return e.observe(a, ended, note), nil
	case a.IsInput:
		return e.refuse(a, "Nothing is running that could take input, so nothing was sent. To run a command, leave is_input out."), nil
	case a.Command == "":
		if s.hasText() {
			return e.observe(a, ended, note), nil
		}
		return e.refuse(a, "Nothing is running, and there is no new output. Give a command to run."), nil
	}
	if msg := refusal(a.Command); msg != "" {
		return e.refuse(a, msg), nil
	}
	return e.run(ctx, a, note, c)
}

func (e *executor) run(ctx context.Context, a *event.TerminalAction, note string, c tool.Call) (event.Observation, error) {
	s := e.session
	if ctx.Err() != nil {
		return e.refuse(a, "The command was not run: the user has interrupted it before it started."), nil
	}
	if before := s.takeEnding(); before != nil {
		note += before.note()
	}
	if _, ok := s.cfg.syntax.(posix); ok && !e.toldShell {
		e.toldShell = true
		note += "[There is no bash here: commands run in sh.]\n"
	}
	if err := s.start(a.Command, exporting(s.cfg.syntax, c.Secrets)); err != nil {
		return nil, fmt.Errorf("run command: %w", err)
	}
	return e.finish(ctx, a, note, c.Progress)
}

// await sends input, if any, to the running command, and waits.
func (e *executor) await(ctx context.Context, a *event.TerminalAction, input, note string, send func(tool.Chunk)) (event.Observation, error) {
	note += "[This continues the output of the running command.]\n"
	if input != "" {
		if !e.session.pty.takes(input) {
			return e.refuse(a, "Nothing was sent: a line of the input is longer than the 4095 bytes that a terminal takes. Put the text into a file and let the program read that."), nil
		}
		if err := e.session.input(input); err != nil {
			return e.refuse(a, "The program does not take input at the moment: "+err.Error()+
				". Wait with an empty command, or stop it with C-c."), nil
		}
		if e.session.cfg.syntax.discards() && strings.Contains(input, "\x03") {
			e.session.askUntilIdle()
		}
	}
	return e.finish(ctx, a, note, send)
}

func (e *executor) finish(ctx context.Context, a *event.TerminalAction, note string, send func(tool.Chunk)) (event.Observation, error) {
	why := e.session.wait(ctx, e.limits(a), send)
	if why == interrupted {
		e.session.interrupt()
	}
	obs := e.observe(a, why, note)
	e.session.setLate(why == interrupted)
	return obs, nil
}

func (e *executor) limits(a *event.TerminalAction) limits {
	l := limits{soft: e.cfg.SoftTimeout, hard: max(e.cfg.ForegroundCap, 0)}
	if a.IsInput && a.Command != "" {
		l.prompt = e.cfg.PromptWait
	}
	if a.Timeout != nil {
		t := maxTimeout
		if *a.Timeout < maxTimeout.Seconds() {
			t = max(time.Duration(*a.Timeout*float64(time.Second)), 1)
		}
		if !e.cfg.SoftAlways {
			l.soft = 0
		}
		if l.hard == 0 || t < l.hard {
			l.hard = t
		}
	}
	return l
}

// maxTimeout bounds a model's time-out, far below an overflow.
const maxTimeout = 365 * 24 * time.Hour

// maxChecked is the length up to which a command is parsed before it is run:
// deeper nesting than so many characters allow could overflow the parser's stack.
const maxChecked = 64 << 10

// parsers are reused because each allocates more than most commands need.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// refusal says why a command cannot be run; "" if it can.
func refusal(command string) string {
	if strings.ContainsRune(command, 0) {
		return "The command was not run: it holds a NUL character, which bash cannot read."
	}
	if len(command) > maxChecked {
		return "" // bash itself explains the mistake
	}
	p := parsers.Get().(*syntax.Parser)
	_, err := p.Parse(strings.NewReader(command), "")
	parsers.Put(p)
	if err != nil && syntax.IsIncomplete(err) {
		return "The command was not run, because it is not complete (" + err.Error() +
			"). Close what is open (quotes, brackets, if/for/while/case, heredocs) and send all of it again."
	}
	return ""
}

// ensure makes sure that there is a terminal with a living shell.
func (e *executor) ensure(ctx context.Context) error {
	if e.session == nil {
		cfg, err := e.resolve()
		if err != nil {
			return err
		}
		e.session, err = openSession(ctx, cfg)
		return err
	}
	s := e.session
	if s.alive() {
		return nil
	}
	before := s.takeEnding()
	if err := s.startShell(ctx, nil); err != nil {
		return errors.Join(fmt.Errorf("start a fresh shell: %w", err), e.closeSession())
	}
	s.mu.Lock()
	s.ended = before
	s.mu.Unlock()
	return nil
}

// resolve fills in values that are only known when the shell starts.
func (e *executor) resolve() (Config, error) {
	cfg := e.cfg
	var err error
	if cfg.WorkingDir == "" {
		if cfg.WorkingDir, err = os.Getwd(); err != nil {
			return cfg, fmt.Errorf("working directory: %w", err)
		}
	}
	if info, err := os.Stat(cfg.WorkingDir); err != nil || !info.IsDir() {
		return cfg, fault.New(fault.NotFound, "the working directory "+cfg.WorkingDir+" does not exist").Because(err)
	}
	if cfg.Shell, err = findShell(cfg.Shell); err != nil {
		return cfg, fault.New(fault.Unsupported, "the terminal needs bash, or another shell").Hint("install bash").Because(err)
	}
	cfg.syntax = posix{}
	if ahead.IsBash(cfg.Shell) {
		cfg.syntax = bash{}
	}
	e.hostname, e.username = hostname(), username()
	return cfg, nil
}

// Values that all conversations of a process share.
var (
	shells   = memo.New[string, string](16)
	hostname = sync.OnceValue(func() string {
		name, _ := os.Hostname() // unknown stays empty
		return name
	})
	username = sync.OnceValue(func() string {
		id := strconv.Itoa(os.Getuid())
		if u, err := user.LookupId(id); err == nil {
			return u.Username
		}
		return id
	})
)

// findShell finds the shell of a name; "" for bash or, in images without it, sh.
func findShell(name string) (string, error) {
	if name != "" {
		return lookShell(name)
	}
	return ahead.Find(lookShell)
}

// lookShell finds the shell's program. If it is removed later, starting it fails.
func lookShell(name string) (string, error) {
	return shells.Get(name, func() (string, error) { return exec.LookPath(name) })
}

// Close implements [tool.Executor]: it ends the shell and all that it runs.
func (e *executor) Close() error {
	e.warming.stop()
	e.turn <- struct{}{}
	defer e.leave()
	e.closed = true
	return e.closeSession()
}

func (e *executor) closeSession() error {
	s := e.session
	if s == nil {
		return nil
	}
	e.session = nil
	return s.close()
}
