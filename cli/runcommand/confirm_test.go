package runcommand

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
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
		answers  []string
		confirm  security.Preset
		answered bool
		always   bool
		asked    int
	}{
		"yes":               {answers: []string{"y"}, answered: true, asked: 1},
		"yes, after babble": {answers: []string{"", "what?", " YES "}, answered: true, asked: 3},
		"always":            {answers: []string{"a"}, answered: true, always: true, asked: 1},
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
			if err != nil || answered != tt.answered || len(r.always) > 0 != tt.always || len(p.asked) != tt.asked {
				t.Errorf("answered %v, %v, always %v, asked %q", answered, err, r.always, p.asked)
			}
			if tt.always { // it is not asked again, and another kind is
				again, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("rm -f y", event.RiskHigh)))
				if !again || err != nil || len(p.asked) != tt.asked {
					t.Errorf("again: %v, %v, asked %q", again, err, p.asked)
				}
				other, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("rm -f y; ls", event.RiskHigh)))
				if other || err != nil || len(p.asked) != tt.asked+1 {
					t.Errorf("another kind: %v, %v, asked %q", other, err, p.asked)
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
	r.Prompter, r.stopping = &script{answers: []string{"y"}}, true
	if answered, err := r.confirm(t.Context(), r.c, pendingState(terminalAction("ls", event.RiskLow))); answered || err != nil {
		t.Errorf("while it stops: %v, %v", answered, err)
	}
}

// TestOneAtATime asks about each action on its own, and says which one it is.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &script{answers: []string{"y", "a", "y"}}
	r := &runner{Options: Options{Prompter: p}, view: NewView(ViewOptions{Out: io.Discard, Err: &out})}
	edit := &event.ActionEvent{ToolName: "file_editor", SecurityRisk: event.RiskLow, Action: &event.FileEditorAction{
		Command: event.EditStrReplace, Path: "/w/a", OldStr: new("one"), NewStr: new("two"),
	}}
	s := pendingState(terminalAction("make", event.RiskHigh), edit, edit, terminalAction("make", event.RiskLow))
	if answered, err := r.confirm(t.Context(), r.c, s); !answered || err != nil {
		t.Errorf("%v, %v", answered, err)
	}
	if want := []string{
		`Run it? [y]es, [n]o, [a]lways for commands that begin with "make" in this run: `,
		`Run it? [y]es, [n]o, [a]lways for edits of files in this run: `,
		`Run it? [y]es, [n]o, [a]lways for commands that begin with "make" in this run: `,
	}; !slices.Equal(p.asked, want) {
		t.Errorf("asked %q", p.asked)
	}
	for _, want := range []string{"(1 of 4) The agent wants to use terminal (risk: HIGH):\n    make\n", "(2 of 4) ", "Edit a file: /w/a\n    - one\n    + two\n", "(4 of 4) "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "(3 of 4)") {
		t.Error("a kind was asked about that is accepted")
	}
}

// TestNothingBetween keeps output of others back while the user is asked.
func TestNothingBetween(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := NewView(ViewOptions{Out: io.Discard, Err: &out})
	v.piece(&session.Piece{Item: "a", Kind: "text", Content: "I begin"})
	release := v.hold()
	v.note("in between")
	if _, err := io.WriteString(v.Prompts(), "Run it? "); err != nil {
		t.Fatal(err)
	}
	v.Warn("and more")
	release(false)
	if want := "I begin\nRun it? \nin between\nand more\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
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
	for i, q := range confirmation.Questions(s, nil) {
		v.pending(q, i+1, 3)
	}
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
