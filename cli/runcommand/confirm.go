package runcommand

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
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
	r.view.pending(s.Pending, mcpServers(s.View))
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

// mcpServers returns the names of the MCP servers of tools, by the tools' names.
func mcpServers(view []event.Event) map[string]string {
	servers := map[string]string{}
	for _, ev := range view {
		prompt, ok := ev.(*event.SystemPromptEvent)
		if !ok {
			continue
		}
		for _, t := range prompt.Tools {
			var tool struct {
				Name string `json:"name"`
			}
			var meta struct {
				Server string `json:"mcp_server"`
			}
			if json.Unmarshal(t.MCPTool, &tool) == nil && json.Unmarshal(t.Meta, &meta) == nil {
				servers[tool.Name] = meta.Server
			}
		}
	}
	return servers
}

// pending shows actions that wait, each with its risk and its exact text. servers
// are the MCP servers of tools by their names.
func (v *View) pending(actions []*event.ActionEvent, servers map[string]string) {
	v.thinking(false)
	for _, a := range actions {
		risk := a.SecurityRisk
		if risk == "" {
			risk = event.RiskUnknown
		}
		of := ""
		if _, ok := a.Action.(*event.MCPToolAction); ok && servers[a.ToolName] != "" {
			of = " of the MCP server " + strconv.Quote(servers[a.ToolName])
		}
		v.Warn(fmt.Sprintf("The agent wants to use %s%s (risk: %s):", safeText(a.ToolName), safeText(of), risk))
		for l := range strings.SplitSeq(exactText(a), "\n") {
			v.Warn("    " + safeText(l))
		}
	}
}

// exactText is what an action would do: a command as the shell reads it, else
// the arguments of the call.
func exactText(a *event.ActionEvent) string {
	if t, ok := a.Action.(*event.TerminalAction); ok && t.Command != "" {
		if t.IsInput {
			return "(typed into the running command) " + t.Command
		}
		return t.Command
	}
	return a.ToolCall.Arguments
}
