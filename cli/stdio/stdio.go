// Package stdio is the terminal of a command: its input and output, its questions, and
// its reports of errors.
//
// # Usage
//
//	std := stdio.Standard()
//	err := std.Confirm(ctx, "files would change", "go back?", "nothing was changed", asJSON)
//	os.Exit(std.Report(err))
//
// # Concurrency and failure
//
// A command uses its streams from one goroutine. Errors of writing are returned.
package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
)

// Streams are the input and the outputs of a command, with its environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
	// Whether they are terminals.
	InTTY, OutTTY, ErrTTY bool
	// Width is how many characters a row of the terminal has now, 0 without one; it may be nil.
	Width func() int
	// InPiped says that the input comes from another program or from a file.
	InPiped bool
	// Same says that both outputs lead to the same file or pipe.
	Same bool

	prompter runcommand.Prompter // reads In, once the user was asked something
}

// Standard returns the streams of this process.
func Standard() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		InTTY:   term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY:  term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY:  term.IsTerminal(int(os.Stderr.Fd())),
		InPiped: piped(os.Stdin), Same: same(os.Stdout, os.Stderr), Width: width,
	}
}

func width() int {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// piped reports whether a file is a pipe or a regular file. The standard input
// that services inherit (a socket, /dev/null) is neither.
func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular())
}

// same reports whether two descriptors are of one file or pipe.
func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// Color reports whether a terminal wants colours (https://no-color.org).
func (s *Streams) Color(tty bool) bool {
	return tty && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
}

// Report tells the user about an error, in one line and a next step, and
// returns the exit code.
func (s *Streams) Report(err error) int {
	if err == nil {
		return fault.ExitOK
	}
	if status, ok := errors.AsType[runcommand.Exit](err); ok {
		return int(status)
	}
	kind := fault.KindOf(err)
	if errors.Is(err, context.Canceled) {
		kind = fault.Interrupted
	}
	fmt.Fprintln(s.Err, "deft:", OneLine(err.Error()))
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintln(s.Err, "  →", OneLine(hint))
	}
	return kind.ExitCode()
}

// Ask implements [runcommand.Prompter]. All questions share one reader of the input: another one
// would compete with it for the next line.
func (s *Streams) Ask(ctx context.Context, prompt string) (string, error) {
	if s.prompter == nil {
		s.prompter = runcommand.NewPrompter(s.In, s.Err)
	}
	return s.prompter.Ask(ctx, prompt)
}

// Confirm asks the user about something that would happen, such as "files would change".
// The error names the things left unchanged, if the answer is no, or if nobody can be
// asked.
func (s *Streams) Confirm(ctx context.Context, would, question, left string, asJSON bool) error {
	if !s.InTTY || asJSON {
		return fault.New(fault.Denied, would+", and there is no terminal to ask in").Hint("add --yes")
	}
	answer, err := s.Ask(ctx, question+" [y/N] ")
	if err != nil {
		return fault.Wrap(err, fault.Canceled, "ask for confirmation")
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return fault.New(fault.Canceled, left)
	}
	return nil
}

// OneLine makes an error's text, parts of which may be foreign, one safe line.
func OneLine(s string) string {
	return console.Line(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}

// PrintJSON prints a value as one line of JSON.
func (s *Streams) PrintJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	_, err = fmt.Fprintf(s.JSONOut(), "%s\n", b)
	return err
}

// JSONOut is where JSON is written. A terminal gets nothing that controls it or
// hides text.
func (s *Streams) JSONOut() io.Writer {
	if s.OutTTY {
		return console.NewJSONWriter(s.Out)
	}
	return s.Out
}

// slowAfter is how long something takes before the user is told about it.
const slowAfter = time.Second

// Telling does something, and names it if it takes longer than [slowAfter].
func (s *Streams) Telling(what string, do func() error) error {
	told := make(chan struct{})
	timer := time.AfterFunc(slowAfter, func() {
		defer close(told)
		fmt.Fprintln(s.Err, what, "…")
	})
	err := do()
	if !timer.Stop() {
		<-told
	}
	return err
}

// Quoted makes a path one word of a shell command.
func Quoted(path string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
