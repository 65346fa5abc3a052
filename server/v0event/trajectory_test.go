package v0event_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/v0event"
)

// recordedByOpenHands is a trajectory as OpenHands 0.62 downloads it, shortened.
const recordedByOpenHands = `{"trajectory":[
{"id":0,"source":"agent","action":"system","args":{"content":"You are","tools":[]}},
{"id":1,"source":"user","action":"message","args":{"content":"do it","image_urls":["https://example.com/a.png"],"wait_for_response":false}},
{"id":2,"source":"user","action":"recall","args":{"recall_type":"workspace_context","query":"do it"}},
{"id":3,"source":"environment","observation":"recall","content":"","extras":{}},
{"id":4,"source":"environment","action":"run","args":{"command":"git config user.name x","hidden":true}},
{"id":5,"source":"agent","action":"run","args":{"command":"cd src && ls","is_input":"false","thought":"look","confirmation_state":"confirmed"},"timeout":30,
 "tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"toolu_1","model_response":{"id":"r1"},"total_calls_in_response":2}},
{"id":6,"source":"agent","observation":"run","content":"a","cause":5,"extras":{"command":"cd src && ls","metadata":{"exit_code":0,"working_dir":"/workspace/src"}}},
{"id":7,"source":"agent","action":"edit","args":{"path":"/workspace/a","command":"create","file_text":"x","impl_source":"oh_aci"},
 "tool_call_metadata":{"function_name":"str_replace_editor","tool_call_id":"toolu_2","model_response":{"id":"r1"},"total_calls_in_response":2}},
{"id":8,"source":"agent","observation":"edit","content":"made","cause":7},
{"id":9,"source":"agent","action":"read","args":{"path":"/workspace/a","start":4,"end":9,"impl_source":"default"}},
{"id":10,"source":"agent","action":"read","args":{"path":"/workspace/a","start":0,"end":-1,"view_range":[1,2]}},
{"id":11,"source":"agent","action":"write","args":{"path":"/workspace/b","content":"y"}},
{"id":12,"source":"agent","action":"call_tool_mcp","args":{"name":"weather","arguments":{"town":"Ulm"}}},
{"id":13,"source":"agent","action":"browse","args":{"url":"https://example.com"}},
{"id":14,"source":"agent","action":"task_tracking","args":{"command":"plan","task_list":[{"id":"1","title":"t","status":"todo","notes":"n"}]}},
{"id":15,"source":"agent","action":"think","args":{"thought":"hm"}},
{"id":16,"source":"agent","action":"condensation","args":{}},
{"id":17,"source":"environment","observation":"agent_state_changed","content":"","extras":{"agent_state":"running"}},
{"id":18,"source":"agent","action":"message","args":{"content":"done","wait_for_response":true}},
{"id":19,"source":"user","action":"message","args":{"content":"more"}},
{"id":20,"source":"agent","action":"finish","args":{"final_thought":"all","outputs":{}}}
]}`

// replayed describes an event of a replay.
func replayed(t *testing.T, ev event.Event) string {
	t.Helper()
	switch e := ev.(type) {
	case *event.MessageEvent:
		return string(e.Source) + ": " + event.JoinText(e.LLMMessage.Content)
	case *event.ActionEvent:
		raw, err := event.MarshalAction(e.Action)
		must.Succeed(t, err)
		if !json.Valid([]byte(e.ToolCall.Arguments)) || e.ToolCall.ID != e.ToolCallID || e.ToolCall.Name != e.ToolName {
			t.Errorf("the call is %+v", e.ToolCall)
		}
		return e.ToolName + " " + string(raw)
	}
	return ev.Kind()
}

func TestTrajectory(t *testing.T) {
	t.Parallel()
	all, err := v0event.Trajectory([]byte(recordedByOpenHands))
	must.Succeed(t, err)
	var got []string
	for _, ev := range all {
		got = append(got, replayed(t, ev))
	}
	want := []string{
		"user: do it",
		`terminal {"command":"cd src && ls","is_input":false,"timeout":30,"reset":false,"kind":"TerminalAction"}`,
		"ObservationEvent",
		`file_editor {"command":"create","path":"/workspace/a","file_text":"x","kind":"FileEditorAction"}`,
		`file_editor {"command":"view","path":"/workspace/a","view_range":[5,9],"kind":"FileEditorAction"}`,
		`file_editor {"command":"view","path":"/workspace/a","view_range":[1,2],"kind":"FileEditorAction"}`,
		`file_editor {"command":"create","path":"/workspace/b","file_text":"y","kind":"FileEditorAction"}`,
		`weather {"data":{"town":"Ulm"},"kind":"MCPToolAction"}`,
		`browser_navigate {"url":"https://example.com","new_tab":false,"kind":"BrowserNavigateAction"}`,
		`task_tracker {"command":"plan","task_list":[{"title":"t","notes":"n","status":"todo"}],"kind":"TaskTrackerAction"}`,
		`think {"thought":"hm","kind":"ThinkAction"}`,
		"agent: done",
		"user: more",
		`finish {"message":"all","kind":"FinishAction"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	run, edit := all[1].(*event.ActionEvent), all[3].(*event.ActionEvent)
	if run.LLMResponseID != "r1" || edit.LLMResponseID != "r1" || run.ToolCallID != "toolu_1" || event.JoinText(run.Thought) != "look" {
		t.Errorf("the first actions are %+v and %+v", run, edit)
	}
	if dir := controller.RecordedWorkspace(all); dir != "/workspace" {
		t.Errorf("it was recorded in %q", dir)
	}
	must.Report(t, controller.CheckReplay(all))
}

// TestTrajectoryOfOwn: this server's V0 events can be replayed, except actions that no tool
// does.
func TestTrajectoryOfOwn(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/conversation.json")
	must.Succeed(t, err)
	var all, rest []map[string]any
	must.Succeed(t, json.Unmarshal(raw, &all))
	for _, e := range all {
		if e["action"] != "delegate" && e["action"] != "browse_interactive" {
			rest = append(rest, e)
		}
	}
	if raw, err = json.Marshal(rest); err != nil {
		t.Fatal(err)
	}
	got, err := v0event.Trajectory(raw)
	if err == nil {
		err = controller.CheckReplay(got)
	}
	must.Report(t, err)
}

func TestTrajectoryRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: "list of events", `{}`: "list of events", `5`: "list of events", `{"trajectory":{}}`: "list of events",
		`[{"action":"message","source":"user","args":{"content":"a"}},{"action":"browse_interactive","source":"agent","args":{}}]`: "event 2 of the trajectory: the action \"browse_interactive\"",
		`[{"action":"delegate","source":"agent","args":{}}]`:                                                                       "delegate",
		`[{"action":"edit","source":"agent","args":{"path":"/a","content":"x","impl_source":"llm_based_edit"}}]`:                   "another model",
		`[{"action":"call_tool_mcp","source":"agent","args":{}}]`:                                                                  "no name",
		`[{"action":"run","source":"agent","args":{"command":5}}]`:                                                                 "args.command cannot be of the type number",
		`[{"action":"run","source":"agent"}]`:                                                                                      "no args",
		`[{"action":"message","source":"user","args":{"content":""}}]`:                                                             "empty",
		`[{"kind":"MessageEvent","source":"user"}]`:                                                                                "not one of V0",
	} {
		if _, err := v0event.Trajectory([]byte(in)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func FuzzTrajectory(f *testing.F) {
	f.Add([]byte(recordedByOpenHands))
	f.Add([]byte(`[{"action":"run","source":"agent","args":{"command":"ls"}},{"observation":"run","extras":{"metadata":{"working_dir":"/"}}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := v0event.Trajectory(raw)
		if err != nil && (all != nil || fault.KindOf(err) != fault.Invalid) {
			t.Errorf("%d events and %v", len(all), err)
		}
		for _, ev := range all {
			if _, err := event.Marshal(ev); err != nil {
				t.Errorf("an event that cannot be stored: %v", err)
			}
		}
	})
}
