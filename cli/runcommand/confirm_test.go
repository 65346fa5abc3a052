package runcommand

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/state"
)

// script is a Prompter that answers from a list; then its input has ended.
type script struct {
	answers []string
	asked   []string
}

func (s *script) Ask(_ context.Context, prompt string) (string, error) {
	s.asked = append(s.asked, prompt)
	if len(s.answers) == 0 {
		return "", io.EOF
	}
	line := s.answers[0]
	s.answers = s.answers[1:]
	return line, nil
}

func pendingState(actions ...*event.ActionEvent) *state.State {
	return &state.State{Status: state.Confirming, Pending: actions}
}

func terminalAction(command string, risk event.Risk) *event.ActionEvent {
	return &event.ActionEvent{ToolName: "terminal", SecurityRisk: risk, Action: &event.TerminalAction{Command: command}}
}

// TestAnswers confirms actions without a refusal, which needs a conversation; see
// the scripts of cmd/deft.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers   []string
		confirm   security.Preset
		answered  bool
		accepting bool
		asked     int
	}{
		"yes":               {answers: []string{"y"}, answered: true, asked: 1},
		"yes, after babble": {answers: []string{"", "what?", " YES "}, answered: true, asked: 3},
		"always":            {answers: []string{"a"}, answered: true, accepting: true, asked: 1},
		"end of input":      {asked: 1},
		"end before a why":  {answers: []string{"n"}, asked: 2},
		"never":             {confirm: security.Never, answered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &script{answers: tt.answers}
			var out bytes.Buffer
			r := &runner{Options: Options{Confirm: tt.confirm, Prompter: p}, view: NewView(ViewOptions{Out: io.Discard, Err: &out})}
			answered, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("rm -r x", event.RiskHigh)))
			if err != nil || answered != tt.answered || r.accepting != tt.accepting || len(p.asked) != tt.asked {
				t.Errorf("answered %v, %v, accepting %v, asked %q", answered, err, r.accepting, p.asked)
			}
			if tt.accepting { // it is not asked again
				again, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("ls", event.RiskLow)))
				if !again || err != nil || len(p.asked) != tt.asked {
					t.Errorf("again: %v, %v, asked %q", again, err, p.asked)
				}
			}
		})
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := &runner{view: NewView(ViewOptions{Out: io.Discard, Err: io.Discard})}
	if _, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("ls", event.RiskLow))); !fault.Is(err, fault.Denied) {
		t.Errorf("without a terminal: %v", err)
	}
	for confirm, refused := range map[security.Preset]bool{"": false, security.Never: false, security.Risky: true, security.Always: true} {
		if err := checkConfirm(Options{Confirm: confirm}); fault.Is(err, fault.Denied) != refused {
			t.Errorf("%q at the start: %v", confirm, err)
		}
	}
	r.Prompter, r.stopping = &script{answers: []string{"y"}}, true
	if answered, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("ls", event.RiskLow))); answered || err != nil {
		t.Errorf("while it stops: %v, %v", answered, err)
	}
}

// TestPrompterStops ends a prompt that nobody answers.
func TestPrompterStops(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	defer typed.Close()
	var out bytes.Buffer
	p := NewPrompter(in, &out)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Ask(ctx, "? "); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := NewPrompter(strings.NewReader(""), &out).Ask(t.Context(), "? "); !errors.Is(err, io.EOF) {
		t.Errorf("at the end of the input: %v", err)
	}
	q := NewPrompter(strings.NewReader("one\r\ntwo"), &out)
	for _, want := range []string{"one", "two"} {
		if got, err := q.Ask(t.Context(), "? "); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestPendingIsExact shows an action's effect, with nothing that the terminal
// would act on and nothing left out.
func TestPendingIsExact(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("echo a; ", 2000) + "rm -rf /"
	var out bytes.Buffer
	v := NewView(ViewOptions{Out: io.Discard, Err: &out})
	mcp := &event.ActionEvent{ToolName: "tracker_close", Action: &event.MCPToolAction{}}
	mcp.ToolCall.Arguments = `{"id": 7}`
	s := pendingState(terminalAction("ls\n\x1b[2Jrm x\r", event.RiskMedium), terminalAction(long, event.RiskHigh), mcp)
	s.View = []event.Event{
		&event.SystemPromptEvent{Tools: event.List[event.ToolDefinition]{
			{KindName: "TerminalTool"},
			{KindName: "MCPToolDefinition", MCPTool: []byte(`{"name":"tracker_close"}`), Meta: []byte(`{"mcp_server":"the \u001b[2Jtracker"}`)},
		}},
	}
	v.pending(confirmation.Questions(s, nil))
	got := out.String()
	for _, want := range []string{
		"use terminal (risk: MEDIUM)", "    ls\n", "rm x", long + "\n", "use tracker_close of the MCP server \"the \\\\u{1b}[2Jtracker\" (risk: UNKNOWN)", `{"id": 7}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%.60q is not in %.300q", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("control characters reach the terminal: %.200q", got)
	}
}
