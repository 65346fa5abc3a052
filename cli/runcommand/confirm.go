package runcommand

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// checkConfirm refuses at the start what could only fail later.
func checkConfirm(o Options) error {
	if o.Confirm != "" && o.Confirm != security.Never && o.Prompter == nil {
		return fault.New(fault.Denied, "--confirm "+string(o.Confirm)+" needs a terminal to ask in").
			Hint("run it in a terminal whose standard input is not redirected, or leave --confirm out")
	}
	return nil
}

// Prompter asks the user. Errors other than those of ctx mean that no answer
// will come.
type Prompter interface {
	// Ask shows a prompt and returns the line that the user types, without its
	// end.
	Ask(ctx context.Context, prompt string) (string, error)
}

// terminal is a Prompter that reads lines.
type terminal struct {
	out   io.Writer
	lines chan string // closed at the end of the input
}

// NewPrompter returns a Prompter that writes to out and reads lines from in. The
// goroutine that reads ends with the input.
func NewPrompter(in io.Reader, out io.Writer) Prompter {
	t := &terminal{out: out, lines: make(chan string)}
	go func() {
		defer close(t.lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			t.lines <- s.Text()
		}
	}()
	return t
}

// Ask implements [Prompter].
func (t *terminal) Ask(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(t.out, prompt); err != nil {
		return "", err
	}
	select {
	case line, ok := <-t.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// confirm asks the user about the actions of c that wait. It reports false if the
// user has not answered, for the run is to stop: then they go on waiting. After
// true, a run does what was accepted, or tells the agent what was refused.
func (r *runner) confirm(ctx context.Context, c *session.Conversation, s *state.State) (answered bool, err error) {
	r.mu.Lock()
	accepting := r.accepting || r.Confirm == security.Never
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.endPrompt = cancel
	stopping := r.stopping
	r.mu.Unlock()
	switch {
	case stopping:
		return false, nil
	case accepting:
		return true, nil
	case r.Prompter == nil:
		return false, fault.New(fault.Denied, "actions wait for confirmation, and there is no terminal to ask in").
			Hint("resume it in a terminal, or with --confirm never to accept them")
	}
	r.view.pending(confirmation.Questions(s, nil)) // events have no secrets
	for {
		line, err := r.ask(ctx, "Run it? [y]es, [n]o, [a]lways in this run: ")
		if err != nil {
			return false, unanswered(err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "a", "always":
			r.mu.Lock()
			r.accepting = true
			r.mu.Unlock()
			return true, nil
		case "n", "no":
			reason, err := r.ask(ctx, "Why not? The agent reads it (Enter for nothing): ")
			if err != nil {
				return false, unanswered(err)
			}
			return true, c.Respond(context.WithoutCancel(ctx), false, refusal(reason))
		}
	}
}

func (r *runner) ask(ctx context.Context, prompt string) (string, error) {
	line, err := r.Prompter.Ask(ctx, prompt)
	r.view.answered()
	return line, err
}

// refusal is what the agent is told.
func refusal(reason string) string {
	if reason = strings.TrimSpace(reason); reason != "" {
		return reason
	}
	return "The user has refused the action."
}

// unanswered is nil where the user has stopped the run or closed the input.
func unanswered(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return fault.Wrap(err, fault.Denied, "ask for confirmation")
}

// pending shows what the user is asked.
func (v *View) pending(questions []confirmation.Question) {
	v.thinking(false)
	for _, q := range questions {
		of, why := "", ""
		if q.Server != "" {
			of = fmt.Sprintf(" of the MCP server %q", q.Server)
		}
		if len(q.Reasons) > 0 {
			why = " " + strings.Join(q.Reasons, "; ")
		}
		v.Warn(safeText(fmt.Sprintf("The agent wants to use %s%s (risk: %s):%s", q.Tool, of, q.Risk, why)))
		if q.Form != confirmation.Command || q.Title != confirmation.RunCommand {
			v.Warn("    " + safeText(strings.TrimSuffix(q.Title+": "+q.Subject, ": ")))
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(q.Text, "\n"), "\n") {
			v.Warn("    " + safeText(l))
		}
	}
}
