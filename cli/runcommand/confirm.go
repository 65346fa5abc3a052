package runcommand

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

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

// prompting returns a context for questions to the user, which Ctrl-C ends, and whether the
// run is already to stop.
func (r *runner) prompting(ctx context.Context) (_ context.Context, end func(), stopping bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, r.endPrompt = context.WithCancel(ctx)
	return ctx, r.endPrompt, r.stopping
}

// confirm asks the user about the actions of c that wait, one after another. It reports false
// if the user has not answered, for the run is to stop: then they go on waiting. After
// true, a run does the accepted actions, and tells the agent the refused ones.
func (r *runner) confirm(ctx context.Context, c *session.Conversation, s *state.State) (answered bool, err error) {
	ctx, end, stopping := r.prompting(ctx)
	defer end()
	if stopping {
		return false, nil
	}
	all := confirmation.Questions(s, nil) // events have no secrets
	if r.Confirm == security.Never && !slices.ContainsFunc(all, func(q confirmation.Question) bool { return q.Own }) {
		return true, nil
	}
	if c == r.c {
		r.view.await(ctx, eventstream.Seq(s.Seq))
	}
	refused := map[event.ID]string{}
	for i, q := range all {
		if r.always.Cover(q) || r.Confirm == security.Never && !q.Own {
			continue
		}
		if r.Prompter == nil && q.Own {
			refused[q.Action] = "nobody is there to say yes"
			continue
		}
		if r.Prompter == nil {
			release := r.view.hold()
			r.view.pending(q, i+1, len(all))
			release(true)
			return false, fault.New(fault.Denied, "actions wait for confirmation, and there is no terminal to ask in").
				Hint("resume it in a terminal, or with --confirm never to accept them")
		}
		accepted, reason, err := r.about(ctx, q, i+1, len(all))
		if err != nil {
			return false, unanswered(err)
		}
		if !accepted {
			refused[q.Action] = reason
		}
	}
	if len(refused) == 0 {
		return true, nil
	}
	return true, c.Confirmation().Refuse(context.WithoutCancel(ctx), refused)
}

// about asks the user about one action, the n-th of a number of them.
func (r *runner) about(ctx context.Context, q confirmation.Question, n, of int) (accepted bool, reason string, err error) {
	release := r.view.hold()
	defer func() { release(err == nil) }()
	r.view.pending(q, n, of)
	prompt := "Run it? [y]es, [n]o"
	if q.Kind != "" {
		prompt += ", [a]lways for " + q.Kind + " in this run"
	}
	for {
		line, err := r.Prompter.Ask(ctx, prompt+": ")
		if err != nil {
			return false, "", err
		}
		line = strings.TrimSpace(line)
		answer, why, _ := strings.Cut(line, " ")
		switch strings.ToLower(answer) {
		case "y", "yes":
			return true, "", nil
		case "a", "always":
			if q.Kind == "" {
				continue
			}
			r.always = r.always.With(q.Grant())
			return true, "", nil
		case "n", "no":
			if why = strings.TrimSpace(why); why == "" {
				why, err = r.Prompter.Ask(ctx, "Why not? The agent reads it (Enter for nothing): ")
			}
			return false, refusal(why), err
		}
	}
}

// ask asks the user one question, and keeps back the output of others meanwhile.
func (r *runner) ask(ctx context.Context, prompt string) (string, error) {
	release := r.view.hold()
	line, err := r.Prompter.Ask(ctx, prompt)
	release(err == nil)
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

// pending shows an action that waits, the n-th of a number of actions.
func (v *View) pending(q confirmation.Question, n, of int) {
	which, by := "", ""
	if of > 1 {
		which = fmt.Sprintf("(%d of %d) ", n, of)
	}
	if q.Server != "" {
		by = fmt.Sprintf(" of the MCP server %q", q.Server)
	}
	heading := fmt.Sprintf("%sThe agent wants to use %s%s (risk: %s):", which, q.Tool, by, q.Risk)
	if len(q.Reasons) > 0 {
		heading += " " + strings.Join(q.Reasons, "; ")
	}
	var lines []string
	if q.Form != confirmation.Command || q.Title != confirmation.RunCommand {
		lines = append(lines, strings.TrimSuffix(q.Title+": "+q.Subject, ": "))
	}
	if text := strings.TrimSuffix(q.Text, "\n"); text != "" {
		lines = append(lines, strings.Split(text, "\n")...)
	}
	color := v.screen != nil && v.screen.color
	console.New(console.Options{Out: v.Prompts(), Color: color}).Question(heading, lines, q.Form == confirmation.Diff)
}
