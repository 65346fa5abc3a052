package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
)

// globalFlags are the flags that all commands have.
type globalFlags struct {
	Data string `help:"Directory for everything Deft stores (default: $$XDG_DATA_HOME/deft)." env:"DEFT_DATA" placeholder:"DIR" type:"path"`
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// Whether they are terminals.
	inTTY, outTTY, errTTY bool
	// inPiped says that the input comes from another program or from a file.
	inPiped bool
	// same says that both outputs lead to the same file or pipe.
	same bool
	// listener is where a server listens, whatever its flags say; nil for an address of
	// its own. A sandbox gives it.
	listener net.Listener
	// journal is that of the sandbox that gives the listener.
	journal *os.File
}

// listen returns the listener that was given, or listens on an address.
func (s *streams) listen(ctx context.Context, network, address string) (net.Listener, error) {
	if s.listener != nil {
		return s.listener, nil
	}
	return new(net.ListenConfig).Listen(ctx, network, address)
}

// slowAfter is how long something takes before the user is told what it is.
const slowAfter = time.Second

// telling does something, and says what if it takes longer than [slowAfter].
func (s *streams) telling(what string, do func() error) error {
	told := make(chan struct{})
	timer := time.AfterFunc(slowAfter, func() {
		defer close(told)
		fmt.Fprintln(s.err, what, "…")
	})
	err := do()
	if !timer.Stop() {
		<-told
	}
	return err
}

func standard() *streams {
	return &streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv,
		inTTY:   term.IsTerminal(int(os.Stdin.Fd())),
		outTTY:  term.IsTerminal(int(os.Stdout.Fd())),
		errTTY:  term.IsTerminal(int(os.Stderr.Fd())),
		inPiped: piped(os.Stdin), same: same(os.Stdout, os.Stderr),
	}
}

// piped reports whether a file is a pipe or a regular file. What services inherit
// as their standard input (a socket, /dev/null) is neither.
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

// color reports whether a terminal wants colours (https://no-color.org).
func (s *streams) color(tty bool) bool {
	return tty && s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
}

// report tells the user about an error, in one line and a next step, and
// returns the exit code.
func (s *streams) report(err error) int {
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
	fmt.Fprintln(s.err, "deft:", oneLine(err.Error()))
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintln(s.err, "  →", oneLine(hint))
	}
	return kind.ExitCode()
}

// confirm asks the user about something that would happen, such as "files would change".
// The error says what was left as it is, if the answer is no, or if nobody can be asked.
func (s *streams) confirm(ctx context.Context, would, question, left string, asJSON bool) error {
	if !s.inTTY || asJSON {
		return fault.New(fault.Denied, would+", and there is no terminal to ask in").Hint("add --yes")
	}
	answer, err := runcommand.NewPrompter(s.in, s.err).Ask(ctx, question+" [y/N] ")
	if err != nil {
		return fault.Wrap(err, fault.Canceled, "ask for confirmation")
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return fault.New(fault.Canceled, left)
	}
	return nil
}

// oneLine makes an error's text, parts of which may be foreign, one safe line.
func oneLine(s string) string {
	return console.Line(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}

func printJSON(std *streams, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	_, err = fmt.Fprintf(std.jsonOut(), "%s\n", b)
	return err
}

// jsonOut is where JSON is written. A terminal gets nothing that controls it or
// hides text.
func (s *streams) jsonOut() io.Writer {
	if s.outTTY {
		return console.NewJSONWriter(s.out)
	}
	return s.out
}

// quoted makes a path one word of a shell command.
func quoted(path string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// firstSet returns the value of the first variable that has one.
func firstSet(std *streams, names []string) string {
	for _, name := range names {
		if v := std.env(name); v != "" {
			return v
		}
	}
	return ""
}
