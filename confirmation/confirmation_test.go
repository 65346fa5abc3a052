package confirmation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// asked returns the question about one action.
func asked(t *testing.T, a *event.ActionEvent) confirmation.Question {
	t.Helper()
	all := confirmation.Questions(&state.State{Pending: []*event.ActionEvent{a}}, nil)
	if len(all) != 1 {
		t.Fatalf("%d questions", len(all))
	}
	return all[0]
}

// TestQuestions holds that the whole effect of an action is in its question.
func TestQuestions(t *testing.T) {
	t.Parallel()
	type q = confirmation.Question
	for name, tt := range map[string]struct {
		action event.Action
		want   q
	}{
		"command":  {&event.TerminalAction{Command: "make\ntest"}, q{Title: "Run a command", Text: "make\ntest", Form: "command"}},
		"input":    {&event.TerminalAction{Command: "C-c", IsInput: true}, q{Title: "Type into the running command", Text: "C-c", Form: "command"}},
		"shell":    {&event.TerminalAction{Command: "ls", Reset: true}, q{Title: "Start a new shell", Text: "ls", Form: "command"}},
		"wait":     {&event.TerminalAction{}, q{Title: "Wait for the running command", Form: "command"}},
		"create":   {&event.FileEditorAction{Command: "create", Path: "/w/a", FileText: new("one\n")}, q{Title: "Create a file", Subject: "/w/a", Text: "one\n", Form: "text"}},
		"replace":  {&event.FileEditorAction{Command: "str_replace", Path: "/w/a", OldStr: new("one\ntwo"), NewStr: new("three\n")}, q{Title: "Edit a file", Subject: "/w/a", Text: "- one\n- two\n+ three\n", Form: "diff"}},
		"insert":   {&event.PlanningFileEditorAction{Command: "insert", Path: "/w/a", NewStr: new("x"), InsertLine: new(3)}, q{Title: "Edit a file", Subject: "/w/a (after line 3)", Text: "+ x\n", Form: "diff"}},
		"undo":     {&event.FileEditorAction{Command: "undo_edit", Path: "/w/a"}, q{Title: "Undo the last edit of a file", Subject: "/w/a", Form: "text"}},
		"view":     {&event.FileEditorAction{Command: "view", Path: "/w/a", ViewRange: []int{1, 2}}, q{Title: "Read a file", Subject: "/w/a (lines 1 to 2)", Form: "text"}},
		"edit":     {&event.EditAction{FilePath: "/w/a", OldString: "x", NewString: "y", ExpectedReplacements: 2}, q{Title: "Edit a file", Subject: "/w/a (2 times)", Text: "- x\n+ y\n", Form: "diff"}},
		"write":    {&event.WriteFileAction{FilePath: "/w/a", Content: "c"}, q{Title: "Write a file", Subject: "/w/a", Text: "c", Form: "text"}},
		"patch":    {&event.ApplyPatchAction{Patch: "*** Begin"}, q{Title: "Apply a patch", Text: "*** Begin", Form: "text"}},
		"MCP":      {&event.MCPToolAction{Data: []byte(`{"q":"<a>"}`)}, q{Title: "Use a tool of an MCP server", Text: "{\n  \"q\": \"<a>\"\n}", Form: "arguments"}},
		"another":  {&event.GlobAction{Pattern: "*"}, q{Title: "Find files by name", Subject: "*", Form: "text"}},
		"unparsed": {nil, q{Title: "Use a tool", Text: "{broken", Form: "arguments"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &event.ActionEvent{ToolName: "tool", Action: tt.action}
			a.ToolCall.Arguments = "{broken"
			tt.want.Tool, tt.want.Risk = "tool", event.RiskUnknown
			if d := cmp.Diff(tt.want, asked(t, a), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(q{}, "Kind", "Exactly")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestRating holds that the analyzer's rating and its reasons are shown instead of the
// model's rating.
func TestRating(t *testing.T) {
	t.Parallel()
	a := &event.ActionEvent{Base: event.Base{ID: "a"}, ToolName: "terminal", SecurityRisk: event.RiskLow, Action: &event.TerminalAction{Command: "rm"}, Summary: "Tidy up"}
	b := &event.ActionEvent{Base: event.Base{ID: "b"}, ToolName: "terminal", SecurityRisk: event.RiskMedium, Action: &event.TerminalAction{}, Summary: `terminal: {"command":""}`}
	got := confirmation.Questions(&state.State{Pending: []*event.ActionEvent{a, b}, Analysis: &event.SecurityAnalysisEvent{
		Risks: event.Map[event.Risk]{"a": event.RiskHigh},
		Details: event.Map[json.RawMessage]{"a": json.RawMessage(
			`{"PatternSecurityAnalyzer":{"reason":"recursive delete","rule":"r"},"PolicyRailSecurityAnalyzer":{"reason":"recursive delete"},"X":{"error":"no\u202e key"}}`)},
	}}, nil)
	if got[0].Risk != event.RiskHigh || strings.Join(got[0].Reasons, "|") != `recursive delete|no\u{202e} key` || got[0].Summary != "Tidy up" {
		t.Errorf("rated: %+v", got[0])
	}
	if got[1].Risk != event.RiskMedium || len(got[1].Reasons) != 0 || got[1].Summary != "" {
		t.Errorf("not rated: %+v", got[1])
	}
}

// TestHostileText holds that nothing of a question acts on a terminal, hides, or is a secret,
// and that its size is bounded.
func TestHostileText(t *testing.T) {
	t.Parallel()
	bad := "s3cret \x1b[2J\u202e\u200b\x00\xff\r\n" + strings.Repeat("é", 300<<10) + "end"
	mcp := &event.ActionEvent{ToolName: "t" + bad, Action: &event.MCPToolAction{Data: []byte(`{"a":1}`)}, Summary: bad}
	edit := &event.ActionEvent{ToolName: "e", Action: &event.FileEditorAction{Command: "create", Path: bad, FileText: &bad}}
	s := &state.State{Pending: []*event.ActionEvent{mcp, edit}, View: []event.Event{&event.SystemPromptEvent{Tools: event.List[event.ToolDefinition]{{
		KindName: "MCPToolDefinition", MCPTool: []byte(`{"name":"x"}`), Meta: []byte(`{"mcp_server":"y"}`),
	}}}}}
	all := confirmation.Questions(s, func(text string) string { return strings.ReplaceAll(text, "s3cret", "<secret-hidden>") })
	raw, err := json.Marshal(all)
	if err != nil || len(raw) > 1<<20 {
		t.Fatalf("%d bytes: %v", len(raw), err)
	}
	if strings.ContainsAny(string(raw), "\x1b\u202e\u200b\x00\r") || strings.Contains(string(raw), "s3cret") || !strings.Contains(all[1].Subject, `\u{1b}[2J\u{202e}\u{200b}\u{0}`) {
		t.Errorf("%.300s", raw)
	}
	if got := all[1]; got.Omitted == 0 || !strings.Contains(got.Text, "bytes are not shown") || !strings.HasSuffix(got.Text, "end") {
		t.Errorf("omitted %d: …%q", got.Omitted, got.Text[len(got.Text)-10:])
	}
	var many []*event.ActionEvent
	for range 40 {
		many = append(many, edit)
	}
	total := 0
	for _, q := range confirmation.Questions(&state.State{Pending: many}, nil) {
		total += len(q.Text)
	}
	if total > 2<<20 {
		t.Errorf("%d bytes", total)
	}
}
