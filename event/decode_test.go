package event_test

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/google/go-cmp/cmp"
)

// Absent fields get the contract's defaults.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  string
		want event.Action
	}{
		{`{"kind":"TerminalAction"}`, &event.TerminalAction{}},
		{`{"kind":"WorkflowAction"}`, &event.WorkflowAction{MaxConcurrency: 8}},
		{`{"kind":"EditAction"}`, &event.EditAction{ExpectedReplacements: 1}},
		{`{"kind":"EditAction","expected_replacements":0}`, &event.EditAction{}},
		{`{"kind":"ListDirectoryAction"}`, &event.ListDirectoryAction{DirPath: "."}},
		{`{"kind":"BrowserScrollAction"}`, &event.BrowserScrollAction{Direction: "down"}},
		{`{"kind":"TaskAction"}`, &event.TaskAction{SubagentType: "general-purpose"}},
		{`{"kind":"TaskTrackerAction"}`, &event.TaskTrackerAction{Command: "view"}},
		{`{"kind":"StartChildConversationAction"}`, &event.StartChildConversationAction{Isolation: "worktree"}},
		{`{"kind":"ConsultTomAction"}`, &event.ConsultTomAction{UseUserMessage: true}},
		{`{"kind":"MCPToolAction"}`, &event.MCPToolAction{Data: []byte("{}")}},
		{`{"kind":"BrowserClickAction","index":3.0}`, &event.BrowserClickAction{Index: 3}},
		{`{"k\u0069nd":"ThinkAction","thought":"\ud83d\ude00\u00e9\/\b\f"}`, &event.ThinkAction{Thought: "😀é/\b\f"}},
		{`{"kind":"FutureAction","kind":"ThinkAction","thought":"\ud83dx"}`, &event.ThinkAction{Thought: "\uFFFDx"}},
	} {
		got, err := event.UnmarshalAction([]byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, diff)
		}
	}
}

func TestObservationDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  string
		want event.Observation
	}{
		{`{"kind":"TerminalObservation"}`, &event.TerminalObservation{Metadata: event.TerminalMetadata{ExitCode: -1, PID: -1}}},
		{`{"metadata":{"pid":7},"kind":"TerminalObservation"}`, &event.TerminalObservation{Metadata: event.TerminalMetadata{ExitCode: -1, PID: 7}}},
		{`{"kind":"FileEditorObservation"}`, &event.FileEditorObservation{PrevExist: true}},
	} {
		got, err := event.UnmarshalObservation([]byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, diff)
		}
	}
}

// The reference takes blocks without a type by their fields.
func TestContentWithoutType(t *testing.T) {
	t.Parallel()
	var got []event.Content
	if err := json.Unmarshal([]byte(`[{"text":"x"},{"image_urls":["u"],"cache_prompt":true}]`), &got); err != nil {
		t.Fatal(err)
	}
	want := []event.Content{event.Text("x"), {Type: event.TypeImage, ImageURLs: []string{"u"}, CachePrompt: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out, err := json.Marshal(event.Content{}); err != nil || string(out) != `{"cache_prompt":false,"type":"text","text":""}` {
		t.Errorf("the zero block gives %s, %v", out, err)
	}
}

func TestTaskStatus(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"todo": "todo", "To Do": "todo", "TO-DO": "todo", "to_do": "todo", " pending ": "todo",
		"in_progress": "in_progress", "In Progress": "in_progress", "IN-PROGRESS": "in_progress",
		"done": "done", "Completed": "done", "complete": "done",
		"blocked": "blocked", "": "",
	} {
		if got := event.TaskStatus(in); got != want {
			t.Errorf("TaskStatus(%q) = %q, want %q", in, got, want)
		}
	}
	a, err := event.UnmarshalAction([]byte(`{"command":"plan","task_list":[{"title":"a"},{"title":"b","status":"Completed"}],"kind":"TaskTrackerAction"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := event.List[event.TaskItem]{{Title: "a", Status: event.TaskTodo}, {Title: "b", Status: event.TaskDone}}
	if diff := cmp.Diff(want, a.(*event.TaskTrackerAction).TaskList); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Awkward texts and numbers come back as they went in.
func TestAwkwardValues(t *testing.T) {
	t.Parallel()
	for _, v := range awkward() {
		raw, err := encodeAny(v)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		back, err := decodeAny(raw)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		again, err := encodeAny(back)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		if diff := cmp.Diff(string(raw), string(again)); diff != "" {
			t.Errorf("%T (-first +second):\n%s", v, diff)
		}
	}
	a, err := event.UnmarshalAction(encoded(event.MarshalAction(&event.ThinkAction{Thought: awkwardText})))
	if err != nil || a.(*event.ThinkAction).Thought != awkwardText {
		t.Errorf("%v: %q", err, a)
	}
	raw := encoded(event.MarshalAction(&event.ThinkAction{Thought: "a\xffb\xc3"}))
	if want := `{"thought":"a` + "\uFFFD" + `b` + "\uFFFD" + `","kind":"ThinkAction"}`; string(raw) != want {
		t.Errorf("broken UTF-8 gives %s", raw)
	}
}

// An answer names its action.
func TestAnswers(t *testing.T) {
	t.Parallel()
	act := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), ToolName: "think", ToolCallID: "call_9"}
	o := event.NewObservationEvent(act, &event.ThinkObservation{})
	if o.ActionID != act.ID || o.ToolName != "think" || o.ToolCallID != "call_9" || o.Source != event.SourceEnvironment || o.ID == act.ID {
		t.Errorf("observation %+v", o)
	}
	e := event.NewAgentErrorEvent(act, "no", nil)
	if e.ToolName != "think" || e.ToolCallID != "call_9" || e.Source != event.SourceAgent || e.Error != "no" {
		t.Errorf("error %+v", e)
	}
}

func encoded[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
