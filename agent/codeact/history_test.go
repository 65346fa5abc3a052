package codeact_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

const late = `user "A message of the user arrived while you were answering; it stands before your answer. Take it into account and go on."*`

var histories = map[string]struct {
	view []event.Event
	want []string
}{
	"system prompt has its static block cached": {
		[]event.Event{system(), user("hi")},
		[]string{`system "static"* "dynamic"`, `user "hi"*`},
	},
	"calls of a response are one message": {
		[]event.Event{user("hi"), call("1", "r", "think"), call("2", "r", ""), result("1", "a"), result("2", "b")},
		[]string{`user "hi"`, `assistant "think" [1 terminal] [2 terminal]`, `tool 1 "a"`, `tool 2 "b"*`},
	},
	"calls of two responses are two": {
		[]event.Event{user("hi"), call("1", "r", ""), result("1", "a"), call("2", "s", ""), result("2", "b")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `tool 1 "a"`, `assistant [2 terminal]`, `tool 2 "b"*`},
	},
	"calls of a provider without response ids": {
		[]event.Event{user("hi"), call("1", "", "think"), call("2", "", ""), result("1", "a"), result("2", "b"), call("3", "", "more"), result("3", "c")},
		[]string{`user "hi"`, `assistant "think" [1 terminal] [2 terminal]`, `tool 1 "a"`, `tool 2 "b"`, `assistant "more" [3 terminal]`, `tool 3 "c"*`},
	},
	"each kind of answer": {
		[]event.Event{user("hi"), call("1", "r", ""), call("2", "r", ""), call("3", "r", ""), result("1", ""), rejected("2"), failed("3", "bad")},
		[]string{`user "hi"`, `assistant [1 terminal] [2 terminal] [3 terminal]`, `tool 1 "[no output]"`, `tool 2 "The call was refused: no"`, `tool 3 "bad"*`},
	},
	"messages in between wait for the results": {
		[]event.Event{user("hi"), call("1", "r", ""), user("x"), call("2", "r", ""), result("1", "a"), user("y"), result("2", "b"), user("z")},
		[]string{`user "hi"`, `assistant [1 terminal] [2 terminal]`, `tool 1 "a"`, `tool 2 "b"`, `user "x"`, `user "y"`, `user "z"*`},
	},
	"messages are shown while a result is missing": {
		[]event.Event{user("hi"), call("1", "r", ""), user("x")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `user "x"*`},
	},
	"a response ends the wait for the one before": {
		[]event.Event{user("hi"), call("1", "r", ""), user("x"), call("2", "s", ""), result("1", "late"), result("2", "b")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `user "x"`, `assistant [2 terminal]`, `tool 2 "b"*`},
	},
	"results without a call or given twice are left out": {
		[]event.Event{user("hi"), result("0", "x"), call("1", "r", ""), result("1", "a"), result("1", "again")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `tool 1 "a"*`},
	},
	"a call id may be used again": {
		[]event.Event{user("hi"), call("1", "r", ""), result("1", "a"), call("1", "s", ""), result("1", "b")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `tool 1 "a"`, `assistant [1 terminal]`, `tool 1 "b"*`},
	},
	"a summary is a message": {
		[]event.Event{system(), summary("notes"), user("go")},
		[]string{`system "static"* "dynamic"`, `user "What happened so far was left out here to save room. Notes about it:\n\nnotes"`, `user "go"*`},
	},
	"a message that crossed with the answer": {
		[]event.Event{user("hi"), user("wait"), reply("done")},
		[]string{`user "hi"`, `user "wait"`, `assistant "done"`, late},
	},
	"an empty answer is left out": {
		[]event.Event{user("hi"), reply(""), user("nudge")},
		[]string{`user "hi"`, `user "nudge"*`},
	},
	"extended content follows": {
		[]event.Event{&event.MessageEvent{
			LLMMessage:      event.Message{Role: event.RoleUser, Content: event.Texts("hi")},
			ExtendedContent: event.Texts("skill"),
		}},
		[]string{`user "hi" "skill"*`},
	},
	"the tool's own name and id": {
		[]event.Event{user("hi"), &event.ActionEvent{
			ToolName: "terminal", ToolCallID: "1", ToolCall: event.ToolCall{ID: "other", Name: "bash"}, LLMResponseID: "r",
		}, result("1", "a")},
		[]string{`user "hi"`, `assistant [1 terminal]`, `tool 1 "a"*`},
	},
	"cache marks of others are dropped": {
		[]event.Event{marked("a"), marked("b")},
		[]string{`user "a"`, `user "b"*`},
	},
	"what the shell told about itself": {
		[]event.Event{user("hi"), call("1", "r", ""), &event.ObservationEvent{ToolCallID: "1", Observation: &event.TerminalObservation{
			ObservationBase: event.ObservationBase{Content: event.Texts("out"), IsError: true},
			Metadata:        event.TerminalMetadata{WorkingDir: new("/w"), Prefix: "[before]\n", Suffix: "\n[after]"},
		}}},
		[]string{`user "hi"`, `assistant [1 terminal]`,
			`tool 1 "[An error occurred during execution.]" "[before]\nout\n[after]\n[Current working directory: /w]"*`},
	},
	"a silent command": {
		[]event.Event{user("hi"), call("1", "r", ""), &event.ObservationEvent{ToolCallID: "1", Observation: &event.TerminalObservation{}}},
		[]string{`user "hi"`, `assistant [1 terminal]`, `tool 1 "[no output]"*`},
	},
}

func marked(text string) event.Event {
	m := user(text)
	m.LLMMessage.Content[0].CachePrompt = true
	return m
}

func TestHistory(t *testing.T) {
	t.Parallel()
	for name, c := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := show(prompt(t, newAgent(t, codeact.Config{}), llm.Info{}, c.view))
			if diff := cmp.Diff(strings.Join(c.want, "\n")+"\n", got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	view := []event.Event{
		&event.MessageEvent{LLMMessage: event.Message{Role: event.RoleUser, Content: []event.Content{event.Text("look"), event.Image("data:a")}}},
		call("1", "r", ""),
		&event.ObservationEvent{ToolCallID: "1", Observation: &event.ThinkObservation{ObservationBase: event.ObservationBase{
			Content: []event.Content{event.Image("data:b")},
		}}},
	}
	a := newAgent(t, codeact.Config{})
	const blind = `user "look" "[An image stands here. This model cannot see images.]"
assistant [1 terminal]
tool 1 "[An image stands here. This model cannot see images.]"*
`
	const seeing = `user "look" "IMAGE"
assistant [1 terminal]
tool 1 "IMAGE"*
`
	for _, c := range []struct {
		vision bool
		want   string
	}{{false, blind}, {true, seeing}, {false, blind}} { // the model may change in between
		if diff := cmp.Diff(c.want, show(prompt(t, a, llm.Info{Vision: c.vision}, view))); diff != "" {
			t.Errorf("vision %v (-want +got):\n%s", c.vision, diff)
		}
	}
}

func TestReasoningStaysWithItsMessage(t *testing.T) {
	t.Parallel()
	act := call("1", "r", "t")
	act.ReasoningContent = "because"
	act.ThinkingBlocks = event.List[event.ThinkingBlock]{{Thinking: "hm", Signature: "sig"}}
	act.ResponsesReasoningItem = &event.ReasoningItem{ID: "rs"}
	silent := &event.MessageEvent{LLMMessage: event.Message{Role: event.RoleAssistant, ThinkingBlocks: act.ThinkingBlocks}}
	msgs := prompt(t, newAgent(t, codeact.Config{}), llm.Info{}, []event.Event{user("hi"), act, result("1", "a"), silent})
	if m := msgs[1]; m.ReasoningContent != "because" || len(m.ThinkingBlocks) != 1 || m.ResponsesReasoningItem == nil {
		t.Errorf("the action's reasoning is lost: %+v", m)
	}
	if m := msgs[3]; m.Role != event.RoleAssistant || len(m.ThinkingBlocks) != 1 {
		t.Errorf("the message that only thought is lost: %+v", m)
	}
}

func TestLongResultsAreClipped(t *testing.T) {
	t.Parallel()
	text := "HEAD" + strings.Repeat("€", 100_000) + "TAIL"
	msgs := prompt(t, newAgent(t, codeact.Config{}), llm.Info{}, []event.Event{user("hi"), call("1", "r", ""), result("1", text)})
	got := msgs[2].Content[0].Text
	if len(got) > 50_100 || !strings.HasPrefix(got, "HEAD") || !strings.HasSuffix(got, "TAIL") || !strings.Contains(got, "bytes left out") {
		t.Errorf("%d bytes, %q … %q", len(got), got[:10], got[len(got)-10:])
	}
	if strings.ToValidUTF8(got, "") != got {
		t.Error("the text was cut inside a character")
	}
}

// TestMessagesFitTheWindow cuts the middle of a message that fills the window, and only of such.
func TestMessagesFitTheWindow(t *testing.T) {
	t.Parallel()
	a := newAgent(t, codeact.Config{})
	text := "HEAD" + strings.Repeat("€", 100_000) + "TAIL"
	view := []event.Event{user("hi"), user(text), call("1", "r", ""), result("1", "a")}
	for _, c := range []struct{ window, most int }{{100_000, 100_100}, {8192, 8292}, {0, 262_300}, {1_000_000, len(text)}} {
		for range 2 {
			msgs := prompt(t, a, llm.Info{ContextWindow: c.window}, view)
			got := msgs[1].Content[0].Text
			if len(msgs) != 4 || len(got) > c.most || len(got) < c.most-200 || !strings.HasPrefix(got, "HEAD") || !strings.HasSuffix(got, "TAIL") {
				t.Errorf("window %d: %d bytes", c.window, len(got))
			}
			if whole := got == text; whole == strings.Contains(got, "bytes left out here") || !utf8.ValidString(got) {
				t.Errorf("window %d: the text does not say that it was cut, or says it wrongly", c.window)
			}
		}
	}
	if got := event.JoinText(view[1].(*event.MessageEvent).LLMMessage.Content); got != text {
		t.Error("the event was changed")
	}
}

// TestCutMessageIsSaid has the user told of a message that does not fit, once for each window, and
// not again where the conversation says it.
func TestCutMessageIsSaid(t *testing.T) {
	t.Parallel()
	view := []event.Event{system(), user(strings.Repeat("x", 100_000))}
	said := func(a *codeact.Agent, window int) string {
		evs, err := step(a, &stub{info: llm.Info{ContextWindow: window}, resp: says("ok")}, &state.State{View: view})
		if err != nil || len(evs) != 1 {
			t.Fatalf("%v, %v", evs, err)
		}
		m := evs[0].(*event.MessageEvent)
		if m.Source == event.SourceAgent {
			return ""
		}
		view = append(view, m)
		return event.JoinText(m.LLMMessage.Content)
	}
	a := newAgent(t, codeact.Config{})
	for _, c := range []struct {
		agent  *codeact.Agent
		window int
		want   string
	}{
		{a, 200_000, ""}, {a, 50 << 10, "first and the last 25 KiB"}, {a, 50 << 10, ""},
		{newAgent(t, codeact.Config{}), 50 << 10, ""}, {a, 8 << 10, "has 97 KiB: it reads the first and the last 4 KiB"}, {a, 8 << 10, ""},
	} {
		if got := said(c.agent, c.window); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("window %d: %q, want %q", c.window, got, c.want)
		}
	}
}

// TestViewThatIsMadeAnew covers HEAD moves and condensations between steps,
// among them one that leaves the view as long as it was.
func TestViewThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	base := []event.Event{system(), user("a"), user("b"), user("c"), user("d")}
	for name, next := range map[string][]event.Event{
		"rewound":              base[:3:3],
		"to nothing":           nil,
		"another branch":       append(slices.Clone(base[:2]), user("x"), user("y"), user("z")),
		"one replaced by one":  {base[0], base[1], summary("s"), base[3], base[4]},
		"condensed, then more": {base[0], summary("s"), base[4], user("e"), user("f"), user("g")},
		"grown elsewhere":      append(slices.Clone(base), user("e")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, codeact.Config{})
			prompt(t, a, llm.Info{}, base)
			want := prompt(t, newAgent(t, codeact.Config{}), llm.Info{}, next)
			if diff := cmp.Diff(want, prompt(t, a, llm.Info{}, next)); diff != "" {
				t.Errorf("after the change (-fresh +incremental):\n%s", diff)
			}
		})
	}
}

func TestEventsAreNotChanged(t *testing.T) {
	t.Parallel()
	view := []event.Event{system(), user("a"), call("1", "r", "t"), result("1", "out")}
	prompt(t, newAgent(t, codeact.Config{}), llm.Info{}, view)
	for i, want := range []event.Event{system(), user("a"), call("1", "r", "t"), result("1", "out")} {
		got, err1 := event.Marshal(withoutTime(view[i]))
		exp, err2 := event.Marshal(withoutTime(want))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if diff := cmp.Diff(string(exp), string(got)); diff != "" {
			t.Errorf("event %d (-before +after):\n%s", i, diff)
		}
	}
}

func withoutTime(ev event.Event) event.Event {
	ev.Meta().Timestamp = ""
	return ev
}
