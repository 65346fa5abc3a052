package v0event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/v0event"
	"github.com/deft-dev/deft/state"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script makes the events of a conversation, each with a fixed id and time.
type script struct {
	t   *testing.T
	evs []event.Event
}

func (s *script) add(ev event.Event, source event.Source) *event.Base {
	m := ev.Meta()
	n := len(s.evs) + 1
	m.ID = event.ID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	m.Timestamp = event.Timestamp(fmt.Sprintf("2026-11-24T03:00:00.%06d", n))
	m.Source = source
	s.evs = append(s.evs, ev)
	return m
}

func (s *script) status(v state.Status) {
	up, err := event.NewStateUpdate(state.KeyStatus, v)
	must.Succeed(s.t, err)
	s.add(up, event.SourceEnvironment)
}

func (s *script) stats(cost float64) {
	up, err := event.NewStateUpdate(state.KeyStats, json.RawMessage(fmt.Sprintf(
		`{"usage_to_metrics":{"agent":{"accumulated_cost":%g,"accumulated_token_usage":{"model":"m","prompt_tokens":7,"completion_tokens":3}},"title":{"accumulated_cost":0.5}}}`, cost)))
	must.Succeed(s.t, err)
	s.add(up, event.SourceEnvironment)
}

func (s *script) act(a event.Action, tool, response string) *event.ActionEvent {
	ev := &event.ActionEvent{
		Thought: event.Texts("why " + tool), Action: a, ToolName: tool, ToolCallID: fmt.Sprintf("call_%d", len(s.evs)),
		LLMResponseID: response, SecurityRisk: event.RiskMedium,
	}
	s.add(ev, event.SourceAgent)
	return ev
}

func (s *script) observe(act *event.ActionEvent, o event.Observation) {
	s.add(&event.ObservationEvent{ToolName: act.ToolName, ToolCallID: act.ToolCallID, ActionID: act.ID, Observation: o}, event.SourceEnvironment)
}

func result(text string) event.ObservationBase {
	return event.ObservationBase{Content: event.Texts(text)}
}

// conversation has every kind of event that V0 has a form of.
func conversation(t *testing.T) []event.Event {
	s := &script{t: t}
	path, text, was, is, line, code, seconds := "/workspace/a.go", "package a\n", "package a\n", "package b\n", 1, 2, 30.0
	s.add(&event.SystemPromptEvent{
		SystemPrompt: event.Text("You are an agent."),
		Tools:        event.List[event.ToolDefinition]{{Title: "terminal", Description: "runs commands", KindName: "TerminalTool"}},
	}, event.SourceAgent)
	s.add(&event.MessageEvent{
		LLMMessage:      event.Message{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("do it"), event.Image("data:image/png;base64,AA==")}},
		ActivatedSkills: event.List[string]{"go"}, ExtendedContent: event.Texts("Use gofmt."),
	}, event.SourceUser)
	s.status(state.Running)
	run := s.act(&event.TerminalAction{Command: "make", Timeout: &seconds}, "terminal", "r1")
	view := s.act(&event.FileEditorAction{Command: event.EditView, Path: path, ViewRange: []int{1, 5}}, "file_editor", "r1")
	s.stats(0.25)
	cmd := "make"
	s.observe(run, &event.TerminalObservation{
		ObservationBase: result("no rule"), Command: &cmd, ExitCode: &code, Metadata: event.TerminalMetadata{ExitCode: 2, PID: -1, WorkingDir: &path},
	})
	s.observe(view, &event.FileEditorObservation{ObservationBase: result("1 package a"), Command: event.EditView, Path: &path, PrevExist: true})
	edit := s.act(&event.FileEditorAction{Command: event.EditStrReplace, Path: path, OldStr: &was, NewStr: &is}, "file_editor", "r2")
	s.observe(edit, &event.FileEditorObservation{ObservationBase: result("edited"), Command: event.EditStrReplace, Path: &path, PrevExist: true, OldContent: &was, NewContent: &is})
	insert := s.act(&event.FileEditorAction{Command: event.EditInsert, Path: path, NewStr: &text, InsertLine: &line}, "file_editor", "r3")
	failed := &event.FileEditorObservation{ObservationBase: result("no such line"), Command: event.EditInsert, Path: &path}
	failed.IsError = true
	s.observe(insert, failed)
	write := s.act(&event.WriteFileAction{FilePath: path, Content: text}, "write_file", "r4")
	s.observe(write, &event.WriteFileObservation{ObservationBase: result("written"), FilePath: &path})
	browse := s.act(&event.BrowserNavigateAction{URL: "http://127.0.0.1/"}, "browser_navigate", "r5")
	shot := "AA=="
	s.observe(browse, &event.BrowserObservation{ObservationBase: result("a page"), ScreenshotData: &shot})
	click := s.act(&event.BrowserClickAction{Index: 3}, "browser_click", "r6")
	s.observe(click, &event.BrowserObservation{ObservationBase: result("clicked")})
	mcp := s.act(&event.MCPToolAction{Data: json.RawMessage(`{"q":"x"}`)}, "search", "r7")
	s.observe(mcp, &event.MCPToolObservation{ObservationBase: result("found"), ToolName: "search"})
	grep := s.act(&event.GrepAction{Pattern: "x"}, "grep", "r8")
	s.observe(grep, &event.GrepObservation{ObservationBase: result("a.go"), Pattern: "x", SearchPath: "/workspace"})
	think := s.act(&event.ThinkAction{Thought: "hm"}, "think", "r9")
	s.observe(think, &event.ThinkObservation{ObservationBase: result("Your thought has been logged.")})
	tasks := event.List[event.TaskItem]{{Title: "one", Status: event.TaskTodo, Notes: "n"}}
	plan := s.act(&event.TaskTrackerAction{Command: "plan", TaskList: tasks}, "task_tracker", "r10")
	s.observe(plan, &event.TaskTrackerObservation{ObservationBase: result("1 task"), Command: "plan", TaskList: tasks})
	rm := s.act(&event.TerminalAction{Command: "rm -r x"}, "terminal", "r11")
	s.add(&event.SecurityAnalysisEvent{Analyzer: "LLMSecurityAnalyzer"}, event.SourceEnvironment)
	s.stats(0.5)
	s.status(state.Confirming)
	s.add(&event.UserRejectObservation{ToolName: rm.ToolName, ToolCallID: rm.ToolCallID, ActionID: rm.ID, RejectionReason: "not that", RejectionSource: event.RejectedByUser}, event.SourceEnvironment)
	s.status(state.Running)
	bad := s.act(nil, "terminal", "r12")
	s.add(&event.AgentErrorEvent{ToolName: bad.ToolName, ToolCallID: bad.ToolCallID, Error: "the arguments are wrong"}, event.SourceAgent)
	s.add(&event.CondensationRequest{}, event.SourceUser)
	summary, offset := "so far", 1
	s.add(&event.Condensation{ForgottenEventIDs: event.List[event.ID]{run.ID, view.ID, edit.ID}, Summary: &summary, SummaryOffset: &offset}, event.SourceEnvironment)
	s.add(&event.PauseEvent{}, event.SourceUser)
	s.status(state.Paused)
	s.add(&event.MessageEvent{LLMMessage: event.Message{Role: event.RoleAssistant, Content: event.Texts("shall I?")}, LLMResponseID: "r13"}, event.SourceAgent)
	s.stats(0.75)
	s.status(state.Finished)
	s.add(&event.ConversationErrorEvent{Code: "LLMAuthenticationError", Detail: "the key is wrong"}, event.SourceEnvironment)
	s.status(state.Errored)
	done := s.act(&event.FinishAction{Message: "all done"}, "finish", "r14")
	s.observe(done, &event.FinishObservation{ObservationBase: result("all done")})
	s.status(state.Finished)
	return s.evs
}

// stored puts events into a store, each in an append of its own.
func stored(t *testing.T, evs []event.Event) (eventstream.Stream, event.ConversationID) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, s.Close()) })
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
	if _, err := s.Append(t.Context(), id, evs...); err != nil {
		t.Fatal(err)
	}
	return s, id
}

func all(t *testing.T, s eventstream.Stream, id event.ConversationID) (out []*v0event.Event) {
	t.Helper()
	must.Succeed(t, v0event.All(t.Context(), s, id, func(e *v0event.Event) error { out = append(out, e); return nil }))
	return out
}

// TestNothingCondensed translates the answer to a condensation that was not made.
func TestNothingCondensed(t *testing.T) {
	t.Parallel()
	st, id := stored(t, []event.Event{&event.Condensation{Base: event.NewBase(event.SourceEnvironment)}})
	got := all(t, st, id)
	if len(got) != 1 || got[0].Message != "The condenser removed nothing from what the model sees." {
		t.Errorf("translated to %+v", got)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	s, id := stored(t, conversation(t))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	must.Succeed(t, enc.Encode(all(t, s, id)))
	name := filepath.Join("testdata", "conversation.json")
	if *update {
		must.Succeed(t, os.WriteFile(name, b.Bytes(), 0o600))
	}
	want, err := os.ReadFile(name)
	must.Succeed(t, err)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// encode makes events comparable.
func encode(t *testing.T, evs []*v0event.Event) []string {
	t.Helper()
	out := make([]string, 0, len(evs))
	for _, e := range evs {
		raw, err := json.Marshal(e)
		must.Succeed(t, err)
		out = append(out, string(raw))
	}
	return out
}

// Whatever the event from which a client goes on, it gets the same events as without
// the break, with the same ids.
func TestResume(t *testing.T) {
	t.Parallel()
	s, id := stored(t, conversation(t))
	whole := all(t, s, id)
	for i, e := range whole {
		if i > 0 && e.ID <= whole[i-1].ID {
			t.Fatalf("the id %d follows %d", e.ID, whole[i-1].ID)
		}
		page, more, err := v0event.Page(t.Context(), s, id, v0event.Query{Start: e.ID + 1, End: -1, Limit: 1000})
		if err != nil || more {
			t.Fatal(err, more)
		}
		got, want := ids(page), ids(whole[i+1:])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d (-want +got)\n%s", e.ID, diff)
		}
	}
}

func ids(evs []*v0event.Event) []int64 {
	out := make([]int64, 0, len(evs))
	for _, e := range evs {
		out = append(out, e.ID)
	}
	return out
}

func TestPages(t *testing.T) {
	t.Parallel()
	s, id := stored(t, conversation(t))
	whole := all(t, s, id)
	for _, limit := range []int{1, 2, 7, 100} {
		var got []*v0event.Event
		for start := int64(0); ; {
			page, more, err := v0event.Page(t.Context(), s, id, v0event.Query{Start: start, End: -1, Limit: limit})
			must.Succeed(t, err)
			got = append(got, page...)
			if !more {
				break
			}
			start = page[len(page)-1].ID + 1
		}
		if diff := cmp.Diff(ids(whole), ids(got)); diff != "" {
			t.Errorf("forwards by %d (-want +got)\n%s", limit, diff)
		}
		got = nil
		for end := int64(-1); ; {
			page, more, err := v0event.Page(t.Context(), s, id, v0event.Query{End: end, Limit: limit, Reverse: true})
			must.Succeed(t, err)
			slices.Reverse(page)
			got = append(page, got...)
			if !more {
				break
			}
			end = page[0].ID - 1
		}
		if diff := cmp.Diff(ids(whole), ids(got)); diff != "" {
			t.Errorf("backwards by %d (-want +got)\n%s", limit, diff)
		}
	}
	for _, c := range []struct {
		filter v0event.Filter
		want   int
	}{
		{v0event.Filter{Query: "RM -R"}, 1},
		{v0event.Filter{Source: "user"}, 4},
		{v0event.Filter{StartDate: "2027"}, 0},
		{v0event.Filter{EndDate: "2026-11-24T03:00:00.000001"}, 1},
	} {
		page, _, err := v0event.Page(t.Context(), s, id, v0event.Query{End: -1, Limit: 100, Filter: c.filter})
		if err != nil || len(page) != c.want {
			t.Errorf("%+v: %d events, want %d (%v)", c.filter, len(page), c.want, err)
		}
	}
}

// A window of a page that is read backwards does not part events that belong
// together.
func TestManyPages(t *testing.T) {
	t.Parallel()
	sc := &script{t: t}
	for i := range 150 {
		act := sc.act(&event.TerminalAction{Command: fmt.Sprint(i)}, "terminal", fmt.Sprint(i))
		sc.stats(float64(i))
		sc.status(state.Confirming)
		sc.observe(act, &event.TerminalObservation{ObservationBase: result("")})
	}
	s, id := stored(t, sc.evs)
	forwards, _, err := v0event.Page(t.Context(), s, id, v0event.Query{End: -1, Limit: 1000})
	must.Succeed(t, err)
	backwards, _, err := v0event.Page(t.Context(), s, id, v0event.Query{End: -1, Limit: 1000, Reverse: true})
	must.Succeed(t, err)
	slices.Reverse(backwards)
	if len(forwards) != 450 {
		t.Errorf("%d events", len(forwards))
	}
	if diff := cmp.Diff(encode(t, forwards), encode(t, backwards)); diff != "" {
		t.Errorf("(-forwards +backwards)\n%s", diff)
	}
}

// Every kind of event can be translated, whatever it has.
func TestAllKinds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../event/testdata/golden/*Event.json")
	if err != nil || len(files) < 10 {
		t.Fatal(err, files)
	}
	n := 0
	for _, name := range files {
		raw, err := os.ReadFile(name)
		must.Succeed(t, err)
		var samples []json.RawMessage
		must.Succeed(t, json.Unmarshal(raw, &samples))
		for _, sample := range samples {
			ev, err := event.Unmarshal(sample)
			must.Succeed(t, err)
			var tr v0event.Translator
			evs := append(tr.Add(eventstream.Record{Seq: 1, Kind: ev.Kind(), Source: ev.Meta().Source, JSON: sample}), tr.Flush()...)
			n += len(encode(t, evs))
		}
	}
	if n == 0 {
		t.Error("nothing was translated")
	}
}
