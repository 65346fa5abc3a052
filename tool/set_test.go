package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/think"
)

// terminal stands in for the real one, which has a process behind it.
func terminal() *tool.Definition {
	return &tool.Definition{
		Name: "terminal", Kind: "TerminalTool", Description: "Runs commands.",
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "command", Type: "string", Required: true},
			{Name: "is_input", Type: "boolean"},
			{Name: "timeout", Type: "number"},
			{Name: "reset", Type: "boolean"},
		}},
		Annotations: event.Annotations{Destructive: true, OpenWorld: true},
		ActionKind:  "TerminalAction", ObservationKind: "TerminalObservation",
		Decode: tool.DecodeInto[event.TerminalAction],
	}
}

// summarizer has a summary of its own.
func summarizer() *tool.Definition {
	return &tool.Definition{
		Name: "report", Kind: "ReportTool",
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "summary", Type: "string", Required: true}, {Name: "data", Type: "object"},
		}},
		Decode: func(args json.RawMessage) (event.Action, error) {
			return &event.MCPToolAction{Data: args}, nil
		},
	}
}

func set(t testing.TB) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(terminal(), editor.Definition(), tasktracker.Definition(), finish.Definition(), think.Definition(), summarizer())
	must.Succeed(t, err)
	return s
}

func TestParse(t *testing.T) {
	t.Parallel()
	cmd := func(s string) event.Action { return &event.TerminalAction{Command: s} }
	tests := map[string]struct {
		name, args string
		want       event.Action
	}{
		"plain":                   {"terminal", `{"command":"ls"}`, cmd("ls")},
		"line break in string":    {"terminal", "{\"command\":\"a\nb\tc\x01\"}", cmd("a\nb\tc\x01")},
		"encoded twice":           {"terminal", `"{\"command\":\"ls\"}"`, cmd("ls")},
		"types in strings":        {"terminal", `{"command":"ls","is_input":"True","timeout":"1.5"}`, &event.TerminalAction{Command: "ls", IsInput: true, Timeout: new(1.5)}},
		"nulls":                   {"terminal", `{"command":"ls","timeout":null,"nonsense":null}`, cmd("ls")},
		"number as text":          {"terminal", `{"command":5}`, cmd("5")},
		"alias bash":              {"bash", `{"command":"ls"}`, cmd("ls")},
		"alias execute_bash":      {"execute_bash", `{"cmd":"ls"}`, cmd("ls")},
		"bash restart":            {"bash", `{"restart":true}`, &event.TerminalAction{Reset: true}},
		"reset":                   {"reset", ``, &event.TerminalAction{Reset: true}},
		"namespace":               {"functions.terminal", `{"command":"ls"}`, cmd("ls")},
		"suffix":                  {"terminal<|channel|>json", `{"command":"ls"}`, cmd("ls")},
		"case":                    {"Terminal", `{"command":"ls"}`, cmd("ls")},
		"git with command":        {"git", `{"command":"status"}`, cmd("git status")},
		"git with whole command":  {"git", `{"command":"git status -s"}`, cmd("git status -s")},
		"git in the name":         {"git status -s", `{}`, cmd("git status -s")},
		"ls with path":            {"ls", `{"path":"/a b"}`, cmd("ls '/a b'")},
		"pwd":                     {"pwd", ``, cmd("pwd")},
		"grep without the tool":   {"grep", `{"pattern":"it's","path":"-x","include":"*.go"}`, cmd(`grep -rlE --include='*.go' -e 'it'\''s' -- './-x'`)},
		"glob without the tool":   {"glob", `{"pattern":"**/*.go"}`, cmd(`find '.' -type f -path '**/*.go'`)},
		"editor alias":            {"str_replace_editor", `{"command":"view","path":"/a"}`, &event.FileEditorAction{Command: "view", Path: "/a"}},
		"editor: view inferred":   {"file_editor", `{"path":"/a","view_range":"[1, -1]"}`, &event.FileEditorAction{Command: "view", Path: "/a", ViewRange: []int{1, -1}}},
		"editor: create inferred": {"file_editor", `{"path":"/a","file_text":""}`, &event.FileEditorAction{Command: "create", Path: "/a", FileText: new("")}},
		"editor: replace":         {"str_replace", `{"path":"/a","old_str":"x","new_str":"y"}`, &event.FileEditorAction{Command: "str_replace", Path: "/a", OldStr: new("x"), NewStr: new("y")}},
		"editor: insert":          {"file_editor", `{"path":"/a","insert_line":"3","new_str":"y"}`, &event.FileEditorAction{Command: "insert", Path: "/a", InsertLine: new(3), NewStr: new("y")}},
		"integer as float":        {"file_editor", `{"command":"insert","path":"/a","insert_line":3.0,"new_str":"y"}`, &event.FileEditorAction{Command: "insert", Path: "/a", InsertLine: new(3), NewStr: new("y")}},
		"list of texts":           {"file_editor", `{"command":"view","path":"/a","view_range":["1","2"]}`, &event.FileEditorAction{Command: "view", Path: "/a", ViewRange: []int{1, 2}}},
		"JSON stays text":         {"file_editor", `{"command":"create","path":"/a","file_text":"{\"a\":1}"}`, &event.FileEditorAction{Command: "create", Path: "/a", FileText: new(`{"a":1}`)}},
	}
	s := set(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := s.Parse(tc.name, tc.args)
			must.Succeed(t, err)
			if diff := cmp.Diff(tc.want, p.Action); diff != "" {
				t.Errorf("action (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, args, want string }{
		"unknown tool":       {"file_edit", `{}`, "did you mean file_editor?; the tools are terminal, file_editor"},
		"nothing like it":    {"teleport", `{}`, `there is no tool "teleport"; the tools are`},
		"not an object":      {"terminal", `[1]`, "one JSON object"},
		"a bare word":        {"terminal", `ls`, "not valid JSON"},
		"cut off":            {"terminal", `{"command":"ls`, "cut off"},
		"missing argument":   {"terminal", `{"is_input":true}`, `needs the argument "command" (a string); given: is_input`},
		"nothing at all":     {"terminal", ``, "given: nothing"},
		"wrong type":         {"terminal", `{"command":["ls"]}`, `"command" must be a string, not ["ls"]`},
		"wrong number":       {"terminal", `{"command":"ls","timeout":"soon"}`, `"timeout" must be a number, not "soon"`},
		"wrong boolean":      {"terminal", `{"command":"ls","reset":1}`, `"reset" must be a boolean, not 1`},
		"unknown argument":   {"terminal", `{"command":"ls","time_out":3}`, "did you mean timeout?; the arguments are command, is_input, timeout, reset"},
		"wrong enum":         {"file_editor", `{"command":"delete","path":"/a"}`, "must be one of view, create, str_replace, insert, undo_edit"},
		"wrong item":         {"file_editor", `{"command":"view","path":"/a","view_range":[1,"x"]}`, `"view_range"[1] must be an integer`},
		"fraction":           {"file_editor", `{"command":"insert","path":"/a","new_str":"","insert_line":1.5}`, "must be an integer"},
		"huge integer":       {"file_editor", `{"command":"insert","path":"/a","new_str":"","insert_line":1e300}`, "must be an integer"},
		"editor: no command": {"file_editor", `{"path":"/a","new_str":"x"}`, `needs the argument "command"`},
		"editor: no old_str": {"file_editor", `{"command":"str_replace","path":"/a"}`, "needs old_str"},
	}
	s := set(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Parse(tc.name, tc.args)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestRiskAndSummaryAreTakenOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name, args        string
		risk              event.Risk
		riskText, summary string
	}{
		"both":             {"terminal", `{"command":"ls","security_risk":"LOW","summary":" List files "}`, event.RiskLow, "LOW", "List files"},
		"lower case":       {"terminal", `{"command":"ls","security_risk":"high"}`, event.RiskHigh, "high", `terminal: {"command":"ls"}`},
		"neither":          {"terminal", `{ "command" : "a <b>" }`, event.RiskUnknown, "", `terminal: {"command":"a <b>"}`},
		"camel case":       {"terminal", `{"command":"ls","securityRisk":"LOW"}`, event.RiskLow, "LOW", `terminal: {"command":"ls"}`},
		"typo":             {"terminal", `{"command":"ls","security_rsik":"MEDIUM"}`, event.RiskMedium, "MEDIUM", `terminal: {"command":"ls"}`},
		"not a risk":       {"terminal", `{"command":"ls","security_risk":"tiny"}`, event.RiskUnknown, "tiny", `terminal: {"command":"ls"}`},
		"not text":         {"terminal", `{"command":"ls","security_risk":3}`, event.RiskUnknown, "3", `terminal: {"command":"ls"}`},
		"read-only tool":   {"think", `{"thought":"x","security_risk":"LOW"}`, event.RiskLow, "LOW", `think: {"thought":"x"}`},
		"own summary":      {"report", `{"summary":"all well","data":{}}`, event.RiskUnknown, "", "all well"},
		"summary not text": {"terminal", `{"command":"ls","summary":["a"]}`, event.RiskUnknown, "", `terminal: {"command":"ls"}`},
	}
	s := set(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := s.Parse(tc.name, tc.args)
			must.Succeed(t, err)
			if p.Risk != tc.risk || p.RiskText != tc.riskText || p.Describe(nil) != tc.summary {
				t.Errorf("risk %s (%q), summary %q", p.Risk, p.RiskText, p.Describe(nil))
			}
		})
	}
	p, err := s.Parse("report", `{"summary":"all well"}`)
	must.Succeed(t, err)
	if got := string(p.Action.(*event.MCPToolAction).Data); got != `{"summary":"all well"}` {
		t.Errorf("a tool's own summary is passed on, got %s", got)
	}
	p, err = s.Parse("terminal", `{"command":"`+strings.Repeat("é", 5000)+`"}`)
	if err != nil || len(p.Describe(nil)) > 2100 {
		t.Errorf("a summary made from the arguments has %d bytes, %v", len(p.Describe(nil)), err)
	}
	// A secret that the cut would divide.
	p, err = s.Parse("terminal", `{"command":"`+strings.Repeat("x", 1970)+`hush-4711-and-more"}`)
	hide := func(text string) string { return strings.ReplaceAll(text, "hush-4711-and-more", "…") }
	if text := p.Describe(hide); err != nil || strings.Contains(text, "hush") {
		t.Errorf("a summary ends in a part of a secret: %s, %v", text[len(text)-40:], err)
	}
}

func TestSetOffersInOrder(t *testing.T) {
	t.Parallel()
	one, two := terminal(), think.Definition()
	one.Guidance, two.Guidance = "<X>\n</X>", "<X>\n</X>"
	s, err := tool.NewSet(two, one)
	must.Succeed(t, err)
	offers, err := s.Offered()
	must.Succeed(t, err)
	if len(offers) != 2 || offers[0].Name != "think" || offers[1].Name != "terminal" || !json.Valid(offers[1].Parameters) {
		t.Errorf("offers = %+v", offers)
	}
	if diff := cmp.Diff([]string{"<X>\n</X>"}, s.Guidance()); diff != "" {
		t.Errorf("guidance (-want +got):\n%s", diff)
	}
	if got := s.Describe(); len(got) != 2 || got[1].Title != "terminal" || got[1].ActionType != "TerminalAction" || got[1].KindName != "TerminalTool" {
		t.Errorf("described = %+v", got)
	}
	if s.Get("terminal") != one || s.Get("bash") != nil || len(s.All()) != 2 {
		t.Error("Get or All is wrong")
	}
	for name, defs := range map[string][]*tool.Definition{
		"called terminal":     {one, terminal()},
		"no name":             {{Name: "x"}},
		"not a JSON schema":   {{Name: "x", Decode: one.Decode, Parameters: tool.Schema{Raw: json.RawMessage(`[]`)}}},
		"no name or no decod": {{Decode: one.Decode}},
	} {
		if _, err := tool.NewSet(defs...); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse checks that no call makes Parse panic, and that an accepted call is a
// valid action.
func FuzzParse(f *testing.F) {
	for _, seed := range [][2]string{
		{"terminal", `{"command":"ls","security_risk":"LOW"}`}, {"bash", "{\"command\":\"a\nb\"}"}, {"file_editor", `{"path":"/a","view_range":"[1,2]"}`},
		{"task_tracker", `{"task_list":"[{\"title\":\"a\",\"status\":null}]"}`}, {"git status", `null`}, {"grep", `{"pattern":"'"}`}, {"report", `"{}"`}, {"terminal", `{"a":1,"a":2}`},
		{"terminal", `{"command":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`}, {"\xff", "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	s := set(f)
	f.Fuzz(func(t *testing.T, name, args string) {
		p, err := s.Parse(name, args)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("error of kind %s: %v", fault.KindOf(err), err)
			}
			return
		}
		if p.Definition == nil || p.Describe(nil) == "" {
			t.Errorf("incomplete: %+v", p)
		}
		raw, err := event.MarshalAction(p.Action)
		if err != nil || !json.Valid(raw) {
			t.Errorf("action does not encode: %s, %v", raw, err)
		}
	})
}
