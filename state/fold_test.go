package state_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// log is a stream in memory that checks every append against a fresh fold.
type log struct {
	events []event.Event
	fold   *state.Fold
}

func newLog() *log {
	l := &log{}
	l.fold = state.NewFold(l.load)
	return l
}

func (l *log) load(seq int64) (event.Event, error) { return l.events[seq-1], nil }

func (l *log) append(t must.T, ev event.Event) {
	l.events = append(l.events, ev)
	must.Succeed(t, l.fold.Apply(int64(len(l.events)), ev))
}

func (l *log) refold(t must.T) *state.State {
	f := state.NewFold(l.load)
	for i, ev := range l.events {
		must.Succeed(t, f.Apply(int64(i+1), ev))
	}
	return f.State()
}

func message(id string, parent event.ID) *event.MessageEvent {
	m := event.NewUserMessage(id)
	m.ID, m.ParentID, m.Timestamp = event.ID(id), parent, "2026-11-21T10:00:00.000000"
	return m
}

func move(t must.T, to any) event.Event {
	up, err := event.NewStateUpdate(state.KeyHead, to)
	must.Succeed(t, err)
	up.Timestamp = "2026-11-21T10:00:00.000000"
	return up
}

func viewIDs(s *state.State) []event.ID {
	var ids []event.ID
	for _, ev := range s.View {
		ids = append(ids, ev.Meta().ID)
	}
	return ids
}

func TestRewindAndBranch(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, message("a", ""))
	l.append(t, message("b", "a"))
	l.append(t, message("c", "b"))
	before := l.fold.State()
	l.append(t, move(t, "a"))
	l.append(t, message("d", "a"))
	if got, want := viewIDs(l.fold.State()), []event.ID{"a", "d"}; !cmp.Equal(got, want) {
		t.Errorf("view after rewind: %v, want %v", got, want)
	}
	if got, want := viewIDs(before), []event.ID{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("an old snapshot changed: %v, want %v", got, want)
	}
	l.append(t, move(t, nil))
	if s := l.fold.State(); s.Head != "" || len(s.View) != 0 {
		t.Errorf("after a move to nothing: head %q, view %v", s.Head, viewIDs(s))
	}
	l.append(t, message("e", event.Root))
	l.append(t, move(t, "c"))
	if got, want := viewIDs(l.fold.State()), []event.ID{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("view after going back: %v, want %v", got, want)
	}
}

func TestLegacyLinearConversationIsOneBranch(t *testing.T) {
	t.Parallel()
	l := newLog()
	for i := range 5 {
		l.append(t, message(fmt.Sprint(i), ""))
	}
	if got := len(l.fold.State().View); got != 5 {
		t.Errorf("%d events in view, want 5", got)
	}
	runs, err := l.fold.Runs("")
	must.Succeed(t, err)
	if diff := cmp.Diff([]state.Run{{First: 1, Last: 5}}, runs); diff != "" {
		t.Error(diff)
	}
}

func TestMoveToUnknownEventChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, message("a", ""))
	err := l.fold.Apply(2, move(t, "nowhere"))
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("error %v, want not found", err)
	}
	if s := l.fold.State(); s.Head != "a" || s.Seq != 1 {
		t.Errorf("head %q at %d, want a at 1", s.Head, s.Seq)
	}
}

func TestPendingIsSettledByEachKindOfAnswer(t *testing.T) {
	t.Parallel()
	action := func(id string) *event.ActionEvent {
		return &event.ActionEvent{Base: event.Base{ID: event.ID(id)}, ToolCallID: "call-" + id, ToolName: "terminal"}
	}
	for name, answer := range map[string]event.Event{
		"observation": &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), ActionID: "a", Observation: &event.ThinkObservation{}},
		"rejection":   &event.UserRejectObservation{Base: event.NewBase(event.SourceEnvironment), ActionID: "a"},
		"error":       &event.AgentErrorEvent{Base: event.NewBase(event.SourceAgent), ToolCallID: "call-a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog()
			l.append(t, action("a"))
			l.append(t, action("b"))
			snapshot := l.fold.State()
			l.append(t, answer)
			if p := l.fold.State().Pending; len(p) != 1 || p[0].ID != "b" {
				t.Errorf("pending %v, want only b", p)
			}
			if len(snapshot.Pending) != 2 {
				t.Error("an old snapshot lost a pending action")
			}
		})
	}
}

func TestCondensationKeepsSystemPromptAndPlacesSummary(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, &event.SystemPromptEvent{Base: event.Base{ID: "sys"}})
	for _, id := range []string{"a", "b", "c"} {
		l.append(t, message(id, ""))
	}
	l.append(t, &event.CondensationRequest{Base: event.Base{ID: "req"}})
	if !l.fold.State().CondensationRequested {
		t.Error("the request is not seen")
	}
	sum, at := "what happened", 1
	l.append(t, &event.Condensation{
		Base: event.Base{ID: "con"}, ForgottenEventIDs: []event.ID{"sys", "a", "b"}, Summary: &sum, SummaryOffset: &at,
	})
	s := l.fold.State()
	if got, want := viewIDs(s), []event.ID{"sys", "con-summary", "c"}; !cmp.Equal(got, want) {
		t.Errorf("view %v, want %v", got, want)
	}
	if s.CondensationRequested {
		t.Error("the request is still open")
	}
}

// A conversation that goes on with an agent of another kind has its system prompt.
func TestAnotherSystemPromptTakesThePlace(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, &event.SystemPromptEvent{Base: event.Base{ID: "one"}})
	l.append(t, message("a", ""))
	before := l.fold.State()
	l.append(t, &event.SystemPromptEvent{Base: event.Base{ID: "two"}})
	l.append(t, message("b", ""))
	if got, want := viewIDs(l.fold.State()), []event.ID{"two", "a", "b"}; !cmp.Equal(got, want) {
		t.Errorf("view %v, want %v", got, want)
	}
	if got, want := viewIDs(before), []event.ID{"one", "a"}; !cmp.Equal(got, want) {
		t.Errorf("an old snapshot is %v, want %v", got, want)
	}
}

// A call for a title has another history than the agent's.
func TestStatsOfACallAside(t *testing.T) {
	t.Parallel()
	info, at := llm.Info{Name: "m", ContextWindow: 1000}, time.Unix(0, 0)
	answer := func(prompt int) *llm.Response { return &llm.Response{Usage: llm.Usage{Prompt: prompt, Output: 1}} }
	tokens := func(s state.Stats) (turn, prompt int) {
		u := s.UsageToMetrics["agent"].AccumulatedTokenUsage
		return u.PerTurnToken, u.PromptTokens
	}
	first := state.Stats{}.UpdateAside("agent", info, answer(10), at)
	if turn, prompt := tokens(first); turn != 0 || prompt != 10 {
		t.Errorf("a first call aside: turn %d, prompt %d", turn, prompt)
	}
	step := first.Update("agent", info, answer(500), at)
	aside := step.UpdateAside("agent", info, answer(10), at)
	if turn, prompt := tokens(aside); turn != 501 || prompt != 520 {
		t.Errorf("a call aside after a step: turn %d, prompt %d", turn, prompt)
	}
	aside.SetBudget(2.5)
	if b := aside.UsageToMetrics["agent"].MaxBudgetPerTask; b == nil || *b != 2.5 {
		t.Errorf("the budget is %v", b)
	}
	aside.SetBudget(0)
	if b := aside.UsageToMetrics["agent"].MaxBudgetPerTask; b != nil {
		t.Errorf("a budget of %v without a limit", *b)
	}
	if turn, _ := tokens(step); turn != 501 {
		t.Errorf("the stats before have changed: turn %d", turn)
	}
}

func TestStatsCountEveryBranchAndJoinLists(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, message("a", ""))
	for i := range 3 {
		v := l.fold.State().Stats.Update("agent", llm.Info{Name: "m"}, &llm.Response{
			Usage: llm.Usage{Prompt: 10, Output: i}, Cost: 0.5, CostKnown: true,
		}, time.Unix(int64(i), 0))
		up, err := event.NewStateUpdate(state.KeyStats, v)
		must.Succeed(t, err)
		l.append(t, up)
		l.append(t, move(t, nil))
	}
	m := l.fold.State().Stats.UsageToMetrics["agent"]
	if m.AccumulatedCost != 1.5 || len(m.Costs) != 3 || m.AccumulatedTokenUsage.PromptTokens != 30 || m.AccumulatedTokenUsage.PerTurnToken != 12 {
		t.Errorf("metrics %+v", m)
	}
}

// TestIncrementalFoldEqualsFullFold builds random trees with HEAD moves and
// condensations, and compares the incremental fold with a fresh one, the
// active branch with a walk over the parents, and the runs with the branch.
func TestIncrementalFoldEqualsFullFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLog()
		var ids []event.ID
		parents := map[event.ID]event.ID{}
		head := event.ID("")
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"msg", "msg", "msg", "move", "nothing", "status", "orphan"}).Draw(t, "what") {
			case "msg":
				id := event.ID(fmt.Sprint("m", i))
				parent := head
				if head == "" && len(ids) > 0 {
					parent = event.Root
				}
				l.append(t, message(string(id), parent))
				parents[id], head, ids = head, id, append(ids, id)
			case "orphan": // hangs on an event that is not HEAD
				if len(ids) == 0 {
					continue
				}
				id, on := event.ID(fmt.Sprint("o", i)), rapid.SampledFrom(ids).Draw(t, "on")
				l.append(t, message(string(id), on))
				parents[id], head, ids = on, id, append(ids, id)
			case "move":
				if len(ids) == 0 {
					continue
				}
				head = rapid.SampledFrom(ids).Draw(t, "to")
				l.append(t, move(t, head))
			case "nothing":
				head = ""
				l.append(t, move(t, nil))
			case "status":
				up, err := event.NewStateUpdate(state.KeyStatus, rapid.SampledFrom([]state.Status{state.Running, state.Idle}).Draw(t, "s"))
				must.Succeed(t, err)
				l.append(t, up)
			}
		}
		got := l.fold.State()
		if diff := cmp.Diff(plain(t, l.refold(t)), plain(t, got)); diff != "" {
			t.Fatalf("incremental fold differs (-full +incremental):\n%s", diff)
		}
		var path []event.ID
		for id := head; id != ""; id = parents[id] {
			path = append([]event.ID{id}, path...)
		}
		if diff := cmp.Diff(path, viewIDs(got), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("active branch (-walk +view):\n%s", diff)
		}
		checkRuns(t, l, path)
	})
}

// checkRuns replays the runs as a fork would and expects the same branch.
func checkRuns(t *rapid.T, l *log, path []event.ID) {
	runs, err := l.fold.Runs("")
	must.Succeed(t, err)
	fork := newLog()
	for _, r := range runs {
		for s := r.First; s <= r.Last; s++ {
			fork.append(t, l.events[s-1])
		}
	}
	if diff := cmp.Diff(path, viewIDs(fork.fold.State()), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("branch of the fork (-source +fork), runs %v:\n%s", runs, diff)
	}
}

// plain turns a state into comparable values.
func plain(t must.T, s *state.State) map[string]any {
	raw, err := json.Marshal(s)
	must.Succeed(t, err)
	out := map[string]any{}
	must.Succeed(t, json.Unmarshal(raw, &out))
	return out
}
