package console_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	_ "github.com/deft-dev/deft/tool/builtin" // the words for its calls
)

var update = flag.Bool("update", false, "write the golden files")

func message(id string, s event.Source, text string) event.Event {
	return &event.MessageEvent{Base: event.Base{ID: event.ID(id), Source: s}, LLMMessage: event.Message{Content: event.Texts(text)}}
}

func action(tool string, a event.Action) *event.ActionEvent {
	return &event.ActionEvent{ToolName: tool, Action: a, ToolCall: event.ToolCall{Arguments: `{"path": "x"}`}}
}

func observation(o event.Observation) event.Event { return &event.ObservationEvent{Observation: o} }

func base(text string, isError bool) event.ObservationBase {
	return event.ObservationBase{Content: event.Texts(text), IsError: isError}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// scenes are the scenes of the golden file, in order.
var scenes = []struct {
	name string
	play func(p *console.Printer)
}{
	{"messages", func(p *console.Printer) {
		p.Event(message("1", event.SourceUser, "fix\nthe test "))
		p.Event(message("2", event.SourceAgent, "done"))
		p.Event(message("3", event.SourceEnvironment, "a nudge"))
		p.Event(message("4", event.SourceAgent, ""))
	}},
	{"warnings of a conversation and of its sub-agents, each once", func(p *console.Printer) {
		warnings := func(all string) event.Event {
			return &event.ConversationStateUpdateEvent{Key: "warnings", Value: []byte(all)}
		}
		p.Event(warnings(`["no docker"]`))
		p.Event(warnings(`["no docker","a.md: no\u001b"]`))
		p.SubAgent("helper", warnings(`["no docker"]`))
		p.SubAgent("helper", warnings(`["no docker"]`))
		p.Event(&event.ConversationStateUpdateEvent{Key: "title", Value: []byte(`["no warning"]`)})
	}},
	{"a message that was streamed is not repeated", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Text: "I lo"})
		p.Delta("1", llm.Delta{Text: "ok"})
		p.Event(message("1", event.SourceAgent, "I look"))
		p.Answer("I look")
	}},
	{"a thought that was streamed is not repeated", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Text: "I look"})
		a := action("terminal", &event.TerminalAction{Command: "ls"})
		a.ID, a.Thought = "1", event.Texts("I look")
		p.Event(a)
	}},
	{"a retry voids what was streamed", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Text: "I lo"})
		p.Retry("the server went away")
		p.Event(message("1", event.SourceAgent, "I look"))
	}},
	{"a retry that streams anew", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Text: "I lo"})
		p.Retry("the server went away")
		p.Delta("1", llm.Delta{Text: "I look"})
		p.Event(message("1", event.SourceAgent, "I look"))
	}},
	{"an answer that broke off, then another", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Text: "I lo"})
		p.Delta("2", llm.Delta{Text: "again"})
		p.Event(message("2", event.SourceAgent, "again"))
	}},
	{"reasoning, when it is shown", func(p *console.Printer) {
		p.Delta("1", llm.Delta{Reasoning: "hm, "})
		p.Delta("1", llm.Delta{Reasoning: "yes"})
		p.Event(message("1", event.SourceAgent, "reasoning does not replace the text"))
		p.Delta("2", llm.Delta{Reasoning: "hm"})
		p.Delta("2", llm.Delta{Text: "text"})
		p.Event(message("2", event.SourceAgent, "text"))
	}},
	{"a long task", func(p *console.Printer) {
		p.Event(message("1", event.SourceUser, "why?\n\n"+numbered(100)))
	}},
	{"actions", func(p *console.Printer) {
		a := action("terminal", &event.TerminalAction{Command: "go build\ngo test\n"})
		a.Thought = event.Texts("First the tests.")
		p.Event(a)
		p.Event(action("terminal", &event.TerminalAction{Command: "C-c", IsInput: true}))
		p.Event(action("terminal", &event.TerminalAction{}))
		p.Event(action("terminal", &event.TerminalAction{Reset: true}))
		p.Event(action("file_editor", &event.FileEditorAction{Command: "view", Path: "/w/a.go"}))
		p.Event(action("think", &event.ThinkAction{Thought: "first\nsecond"}))
		p.Event(action("task_tracker", &event.TaskTrackerAction{}))
		p.Event(action("finish", &event.FinishAction{Message: "done"}))
		glob := action("glob", &event.GlobAction{})
		glob.ToolCall.Arguments = `{"pattern": "**/*.go"}`
		p.Event(glob)
		list := action("list_directory", &event.ListDirectoryAction{})
		list.ToolCall.Arguments = `{"dir_path": "src"}`
		p.Event(list)
		edit := action("edit", &event.EditAction{FilePath: "a.go"})
		edit.ToolCall.Arguments = `{"file_path": "a.go", "old_string": "x", "new_string": "y"}`
		p.Event(edit)
		patch := action("apply_patch", &event.ApplyPatchAction{Patch: "*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+x\n*** End Patch"})
		patch.ToolCall.Arguments = `{"patch": "…"}`
		p.Event(patch)
		p.Event(action("tom_consult", &event.ConsultTomAction{})) // is registered nowhere
		p.Event(action("teleport", nil))
	}},
	{"commands", func(p *console.Printer) {
		p.Event(observation(&event.TerminalObservation{ObservationBase: base(numbered(3), false), ExitCode: new(0)}))
		p.Event(observation(&event.TerminalObservation{ObservationBase: base("bad", false), ExitCode: new(2)}))
		p.Event(observation(&event.TerminalObservation{ObservationBase: base("so far", false), ExitCode: new(-1)}))
		p.Event(observation(&event.TerminalObservation{ObservationBase: base(numbered(20), false), ExitCode: new(0)}))
	}},
	{"output as it comes, then only what is left of it", func(p *console.Printer) {
		for i, l := range strings.SplitAfter(numbered(20), "\n") {
			p.Output("", l[:len(l)/2])
			p.Output("", l[len(l)/2:])
			if i == 9 {
				p.Note("(ten lines so far)")
			}
		}
		p.Output("", "no line break")
		p.Event(observation(&event.TerminalObservation{ObservationBase: base(numbered(20), false), ExitCode: new(0)}))
		p.Output("", "of the next command\n")
		p.Event(observation(&event.TerminalObservation{ObservationBase: base("of the next command\n", false), ExitCode: new(1)}))
	}},
	{"a failed call after output", func(p *console.Printer) {
		p.Output("", "half")
		p.Event(&event.AgentErrorEvent{Error: "cut off\ndetails"})
		p.Event(&event.UserRejectObservation{RejectionReason: "too risky"})
	}},
	{"edits", func(p *console.Printer) {
		p.Event(observation(&event.FileEditorObservation{Path: new("/w/a"), OldContent: new("a\nb\nc\n"), NewContent: new("a\nB\nc\n")}))
		p.Event(observation(&event.FileEditorObservation{Path: new("/w/new"), NewContent: new("one\r\ntwo\r\n")}))
		p.Event(observation(&event.FileEditorObservation{Path: new("/w/b"), OldContent: new(numbered(40)), NewContent: new("")}))
		p.Event(observation(&event.FileEditorObservation{ObservationBase: base("no match\nin the file", true)}))
		p.Event(observation(&event.FileEditorObservation{ObservationBase: base("what was viewed", false)}))
		p.Event(observation(&event.WriteFileObservation{FilePath: new("/w/c"), NewContent: new("one\n")}))
		p.Event(observation(&event.ReadFileObservation{ObservationBase: base("what was read", false), FilePath: "/w/c"}))
		p.Event(observation(&event.ApplyPatchObservation{Commit: &event.PatchCommit{Changes: event.Map[event.PatchChange]{
			"/w/a": {Type: "update", OldContent: new("a\n"), NewContent: new("b\n"), MovePath: new("/w/z")}, "/w/b": {Type: "delete", OldContent: new("b\n")},
		}}}))
	}},
	{"tasks and other results", func(p *console.Printer) {
		p.Event(observation(&event.TaskTrackerObservation{TaskList: []event.TaskItem{
			{Title: "read", Status: "done"}, {Title: "change", Status: "in_progress"}, {Title: "test", Status: "todo"},
		}}))
		p.Event(observation(&event.ThinkObservation{ObservationBase: base("logged", false)}))
		p.Event(observation(&event.GlobObservation{ObservationBase: base("a.go\nb.go\n", false)}))
		p.Event(observation(&event.GlobObservation{ObservationBase: base("no such folder", true)}))
	}},
	{"the end", func(p *console.Printer) {
		p.Event(observation(&event.FinishObservation{ObservationBase: base("All tests pass.", false)}))
		p.Answer("All tests pass.")
		p.Answer("Another word.")
	}},
	{"what happens to the run", func(p *console.Printer) {
		p.Event(&event.Condensation{ForgottenEventIDs: []event.ID{"1", "2"}})
		p.Event(&event.ConversationErrorEvent{Code: "LLMTimeoutError", Detail: "no answer\ntry again\n"})
		p.Event(&event.PauseEvent{})
		p.Event(&event.InterruptEvent{})
		p.Event(&event.SystemPromptEvent{})
		p.Warn("careful")
	}},
}

func played(o console.Options, play func(*console.Printer)) string {
	var out bytes.Buffer
	o.Out = &out
	p := console.New(o)
	play(p)
	return out.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, s := range scenes {
		fmt.Fprintf(&b, "==== %s\n%s", s.name, played(console.Options{Lines: 6, Thoughts: true}, s.play))
	}
	file := filepath.Join("testdata", "scenes.golden")
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	must.Succeed(t, err)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("output (-golden +got):\n%s", diff)
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestLimitHints shows the model's hints about limits of the sandbox.
func TestLimitHints(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := &event.TerminalObservation{ObservationBase: base("Killed\n", false), ExitCode: new(137)}
	o.Metadata.Suffix = "\n[The command completed with exit code 137.]\n[It was killed. The user can allow more with deft's flag --memory.]\n[Current working directory: /w]"
	console.New(console.Options{Out: &out}).Event(observation(o))
	if want := "  Killed\n  exit 137\n  It was killed. The user can allow more with deft's flag --memory.\n"; !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "directory") {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestNetworkHints shows the model's hints about hosts that it may not reach.
func TestNetworkHints(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := &event.TerminalObservation{ObservationBase: base("403\n", false), ExitCode: new(1)}
	o.Metadata.Suffix = "\n[The command completed with exit code 1.]\n[The proxy refused other.test (--net=other.test allows it)\x1b[2J.]"
	console.New(console.Options{Out: &out}).Event(observation(o))
	if want := "  403\n  exit 1\n  The proxy refused other.test (--net=other.test allows it)"; !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestColoursOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		plain := played(console.Options{}, s.play)
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%s: an escape without colours in %q", s.name, plain)
		}
		painted := played(console.Options{Color: true}, s.play)
		if diff := cmp.Diff(plain, colour.ReplaceAllString(painted, "")); diff != "" {
			t.Errorf("%s: colours change the text (-plain +painted):\n%s", s.name, diff)
		}
	}
	if !strings.Contains(played(console.Options{Color: true}, scenes[0].play), "\x1b[") {
		t.Error("no colours although they were asked for")
	}
	if console.WarningMark(true) != "\x1b[33m!\x1b[0m" || console.Mark(true, false) != "✓" || console.Mark(false, true) != "\x1b[31m✗\x1b[0m" {
		t.Error("marks are wrong")
	}
}

func TestReasoningIsHiddenUnlessAsked(t *testing.T) {
	t.Parallel()
	got := played(console.Options{}, func(p *console.Printer) { p.Delta("1", llm.Delta{Reasoning: "hm"}) })
	if got != "" {
		t.Errorf("%q was shown", got)
	}
}

// hostile are texts that a terminal would execute, or show as something else.
var hostile = []string{
	"\x1b[2J\x1b[H", "\x1b]0;title\a", "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "\x1bPdcs\x1b\\", "\x1b[6n",
	"\u009b31m", "\u009d0;x\u009c", "\x9b31m", "\xc2", "\xff\xfe", "a\rb", "a\bb", "\x00", "\x7f", "\x0e",
	"a\u202eb", "a\u2066b", "\u200f", "\u061c", "\u2028", "\U000e0041", "r\u200bm", "r\u200dm", "r\u200cm", "r\u2060m", "\ufeffrm", "r\u00adm", "r\u3164m", "r\u2800m", "é\u200d\u200dx", "a\r\r\nb", "\v\f",
}

// everywhere shows a text in all places that take foreign text.
func everywhere(p *console.Printer, s string) {
	p.Delta("d", llm.Delta{Text: s})
	p.Delta("d", llm.Delta{Reasoning: s})
	p.Retry(s)
	p.Output("", s)
	p.Output("", s+"\n")
	p.Note(s)
	p.Warn(s)
	for _, src := range []event.Source{event.SourceUser, event.SourceAgent, event.SourceEnvironment} {
		p.Event(message(s, src, s))
	}
	for _, a := range []event.Action{
		&event.TerminalAction{Command: s}, &event.TerminalAction{Command: s, IsInput: true}, &event.FileEditorAction{Command: s, Path: s},
		&event.ThinkAction{Thought: s}, &event.GlobAction{}, nil,
	} {
		ev := action(s, a)
		ev.Thought, ev.ToolCall.Arguments = event.Texts(s), s
		p.Event(ev)
	}
	for _, o := range []event.Observation{
		&event.TerminalObservation{ObservationBase: base(s, false)}, &event.FileEditorObservation{ObservationBase: base(s, true)},
		&event.FileEditorObservation{Path: &s, OldContent: new("old\n" + s), NewContent: &s}, &event.GlobObservation{ObservationBase: base(s, false)},
		&event.GlobObservation{ObservationBase: base(s, true)}, &event.FinishObservation{ObservationBase: base(s, false)},
		&event.TaskTrackerObservation{TaskList: []event.TaskItem{{Title: s, Status: s}}},
	} {
		p.Event(observation(o))
	}
	p.Event(&event.AgentErrorEvent{Error: s})
	p.Event(&event.UserRejectObservation{RejectionReason: s})
	p.Event(&event.ConversationErrorEvent{Code: s, Detail: s})
	p.Answer(s)
}

// unsafe returns the first character of s that a terminal must not get.
func unsafe(s string) (rune, bool) {
	for i, r := range s {
		bad := r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")
		bad = bad || unicode.IsControl(r) && r != '\n' && r != '\t'
		bad = bad || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 || r >= 0xE0000 && r < 0xE0080
		bad = bad || strings.ContainsRune("\u200b\u2060\ufeff\u00ad\u3164\u2800", r)
		if bad {
			return r, true
		}
	}
	return 0, false
}

func TestHostileTextIsMadeVisible(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		got := played(console.Options{Thoughts: true}, func(p *console.Printer) { everywhere(p, "x"+h+"y") })
		if r, bad := unsafe(got); bad {
			t.Errorf("%q: %U reaches the terminal", h, r)
		}
		if !strings.Contains(got, "\uFFFD") {
			t.Errorf("%q: nothing shows that something was there", h)
		}
		if l := console.Line(h + "\n"); strings.Contains(l, "\n") {
			t.Errorf("Line(%q) = %q breaks the line", h, l)
		}
	}
}

// TestJoinersOfScriptsStay: emoji and some scripts need characters without width.
func TestJoinersOfScriptsStay(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"👩\u200d💻 works", "می\u200cخواهم"} {
		if got := console.Line(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, h := range hostile {
		f.Add(h, 3)
	}
	f.Add("a\r\nb\n\n", 1)
	f.Fuzz(func(t *testing.T, s string, lines int) {
		got := played(console.Options{Thoughts: true, Lines: lines % 100}, func(p *console.Printer) { everywhere(p, s) })
		if r, bad := unsafe(got); bad {
			t.Errorf("%U reaches the terminal from %q", r, s)
		}
	})
}

// FuzzOutput splits a text at any place: the shown text does not depend on it.
func FuzzOutput(f *testing.F) {
	f.Add("one\ntwo\r\nthree", 5)
	f.Add(strings.Repeat("x", 1000)+"\n"+strings.Repeat("y\n", 50), 401)
	f.Fuzz(func(t *testing.T, s string, at int) {
		if at < 0 || at > len(s) {
			return
		}
		end := observation(&event.TerminalObservation{ExitCode: new(0)})
		whole := played(console.Options{}, func(p *console.Printer) { p.Output("", s); p.Event(end) })
		parts := played(console.Options{}, func(p *console.Printer) { p.Output("", s[:at]); p.Output("", s[at:]); p.Event(end) })
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Errorf("cut at %d (-whole +parts):\n%s", at, diff)
		}
		if n := strings.Count(whole, "\n"); n > 14 {
			t.Errorf("%d lines are shown, want 12 and a notice at most", n)
		}
	})
}

// TestNotRun says of a command that runs on that it does, and not of one that was refused.
func TestNotRun(t *testing.T) {
	t.Parallel()
	for failed, want := range map[bool]string{false: "  text\n  still running\n", true: "  text\n"} {
		o := &event.TerminalObservation{ObservationBase: base("text", failed)}
		if got := played(console.Options{}, func(p *console.Printer) { p.Event(observation(o)) }); got != want {
			t.Errorf("failed %t: %q, want %q", failed, got, want)
		}
	}
}

// cell is the result of a tool that shows its output as it comes.
type cell struct{ event.ObservationBase }

func (*cell) Kind() string { return "IPythonObservation" }

// TestCell shows the output of a cell once, the number of its pictures and the hint behind it.
func TestCell(t *testing.T) {
	t.Parallel()
	picture := cell{base("62\n", false)}
	picture.Content = append(picture.Content, event.Image("data:image/png;base64,AA=="), event.Image("data:image/png;base64,AA=="))
	hinted := cell{base("62\n", false)}
	hinted.Content = append(hinted.Content, event.Text("[The proxy refused other.test (--net=other.test allows it)]"))
	for _, c := range []struct {
		live string
		o    *cell
		want string
	}{
		{"62\n", &hinted, "  62\n  The proxy refused other.test (--net=other.test allows it)\n"},
		{"62\n", &cell{base("62\n", false)}, "  62\n"},
		{"", &cell{base("62\n", false)}, "  62\n"},
		{"no\n", &cell{base("no\n", true)}, "  no\n  failed\n"},
		{"", &cell{base("no\n", true)}, "  ✗ no\n"},
		{"62\n", &picture, "  62\n  2 pictures\n"},
	} {
		got := played(console.Options{}, func(p *console.Printer) {
			if c.live != "" {
				p.Output("", c.live)
			}
			p.Event(observation(c.o))
		})
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.live, got, c.want)
		}
	}
}

func TestOutputWithoutEndIsBounded(t *testing.T) {
	const chunk, total = 1 << 20, 100 << 20
	out := &countingWriter{}
	p := console.New(console.Options{Out: out})
	text := strings.Repeat("x", chunk)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	for range total / chunk {
		p.Output("", text)
	}
	p.Output("", strings.Repeat(text, 100)) // and in one piece
	if after := live(); after > before+1<<20 {
		t.Errorf("%d bytes are kept of one line", after-before)
	}
	p.Output("", "\nnext\n")
	p.Event(observation(&event.TerminalObservation{ExitCode: new(0)}))
	if out.n > 2000 {
		t.Errorf("%d bytes are shown of one line", out.n)
	}
}

type countingWriter struct{ n int }

func (w *countingWriter) Write(b []byte) (int, error) { w.n += len(b); return len(b), nil }

func TestLongLineIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		got := played(console.Options{}, func(p *console.Printer) { p.Output("", strings.Repeat("a", shift)+strings.Repeat("🙂", 200)+"\n") })
		if strings.Contains(got, "\uFFFD") || !strings.HasSuffix(got, "🙂…\n") {
			t.Errorf("shifted by %d the line ends with %q", shift, got[len(got)-12:])
		}
	}
}

// closedPipe fails every write.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestClosedPipeIsNoFailure(t *testing.T) {
	t.Parallel()
	everywhere(console.New(console.Options{Out: closedPipe{}}), "text")
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	got := played(console.Options{}, func(p *console.Printer) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					p.Note("note")
					p.Warn("warning")
				}
			})
		}
		wg.Wait()
	})
	if want := strings.Count(got, "note\n") + strings.Count(got, "warning\n"); want != 800 {
		t.Errorf("%d whole lines, want 800", want)
	}
}

// TestColoursOfOutput shows a command's colours where there are colours, and only them.
func TestColoursOfOutput(t *testing.T) {
	t.Parallel()
	long := "\x1b[31m" + strings.Repeat("x", 394) // its last sequence is cut
	for _, tt := range []struct{ name, in, plain, colored string }{
		{"none", "a\n", "  a\n", "  \x1b[2ma\x1b[0m\n"},
		{"colours", "\x1b[31mred\x1b[m.\n", "  red.\n", "  \x1b[2m\x1b[31mred\x1b[0m.\x1b[0m\n"},
		{"others", "a\x1b[2J\x1b[8mb\x1b[31m\x07c\n", "  ab\uFFFDc\n", "  \x1b[2mab\x1b[31m\uFFFDc\x1b[0m\n"},
		{"cut", long + "\x1b[32my\n", "  " + strings.Repeat("x", 394) + "…\n", "  \x1b[2m" + long + "…\x1b[0m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for color, want := range map[bool]string{false: tt.plain, true: tt.colored} {
				got := played(console.Options{Color: color}, func(p *console.Printer) { p.Output("", tt.in) })
				if got != want {
					t.Errorf("with colours %v: %q, want %q", color, got, want)
				}
			}
		})
	}
}

// TestProgress writes one line again and again: its last state is shown, and meanwhile the
// present one as the progress.
func TestProgress(t *testing.T) {
	t.Parallel()
	var bars []string
	got := played(console.Options{Progress: func(line string) { bars = append(bars, line) }}, func(p *console.Printer) {
		for _, chunk := range []string{"Fetching\r\nDown", "loading 1%", "\rDownloading 50%\r", "Downloading", " 100%\r", "\nabc\b\bd\n", strings.Repeat("x", 500) + "\b\b" + "yz\b\b\n", "äö\bü\b\b\b\bab\n", "\rlast"} {
			p.Output("", chunk)
		}
		p.Event(observation(&event.TerminalObservation{ExitCode: new(0)}))
	})
	if want := "  Fetching\n  Downloading 100%\n  adc\n  " + strings.Repeat("x", 400) + "…\n  ab\n  last\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"Downloading 50%", "Downloading", "Downloading 100%", "", "last", ""}; !slices.Equal(bars, want) {
		t.Errorf("%q, want %q", bars, want)
	}
}

// TestParallelActions shows the output of each once, though all of it comes before the results.
func TestParallelActions(t *testing.T) {
	t.Parallel()
	done := func(action event.ID, text string) event.Event {
		zero := 0
		o := &event.TerminalObservation{ExitCode: &zero}
		o.Content = []event.Content{event.Text(text)}
		return &event.ObservationEvent{ActionID: action, Observation: o}
	}
	got := played(console.Options{}, func(p *console.Printer) {
		p.Output("a", "one\n")
		p.Output("b", "two, ")
		p.Event(done("a", "one"))
		p.Output("b", "three\n")
		p.Event(done("b", "two, three"))
		p.Event(done("c", "four"))
	})
	if diff := cmp.Diff("  one\n  two, three\n  four\n", got); diff != "" {
		t.Error(diff)
	}
}

// TestActionsSideBySide says whose each line is, where several actions run at once.
func TestActionsSideBySide(t *testing.T) {
	t.Parallel()
	call := func(id event.ID, command string) event.Event {
		return &event.ActionEvent{Base: event.Base{ID: id}, ToolCallID: "call-" + string(id), Action: &event.TerminalAction{Command: command}}
	}
	end := func(id event.ID) event.Event {
		return &event.ObservationEvent{ActionID: id, Observation: &event.TerminalObservation{ExitCode: new(0)}}
	}
	got := played(console.Options{}, func(p *console.Printer) {
		p.Event(call("a", "make\nmake check"))
		p.Event(call("b", "npm test"))
		p.Event(call("c", "false"))
		p.Event(call("d", "rm x"))
		p.Output("a", "a1\n")
		p.Output("a", "a2\n")
		p.Output("b", "b1\n")
		p.Output("a", "a3\n")
		p.Event(&event.AgentErrorEvent{ToolCallID: "call-c", Error: "cut off"})
		p.Event(end("a"))
		p.Event(&event.UserRejectObservation{ActionID: "d", RejectionReason: "no"})
		p.Event(call("f", "true"))
		p.Output("b", "b2\n")
		p.Event(end("f"))
		p.Output("b", "b3\n")
		p.Event(end("b"))
		p.Event(call("e", "ls"))
		p.Output("e", "e1\n")
		p.Event(end("e"))
	})
	want := `$ make
  make check
$ npm test
$ false
$ rm x
  of $ make …:
  a1
  a2
  of $ npm test:
  b1
  of $ make …:
  a3
  of $ false:
  ✗ cut off
  of $ rm x:
  refused: no
$ true
  of $ npm test:
  b2
  b3
$ ls
  e1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
