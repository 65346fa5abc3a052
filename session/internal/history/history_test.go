package history

import (
	"testing"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
)

// TestFilesAt finds the checkpoint with the files at an event.
func TestFilesAt(t *testing.T) {
	t.Parallel()
	// prompt, m1, a1, o1, done, then m2, a2, o2; beside m2 a branch with other, a3, o3.
	tree := Tree{map[event.ID]treeEvent{}, map[event.ID][]event.ID{}}
	for _, e := range []struct{ id, parent, kind string }{
		{"prompt", "", "SystemPromptEvent"},
		{"m1", "prompt", "MessageEvent"}, {"a1", "m1", "ActionEvent"}, {"o1", "a1", "ObservationEvent"}, {"done", "o1", "MessageEvent"},
		{"m2", "done", "MessageEvent"}, {"a2", "m2", "ActionEvent"}, {"b2", "a2", "ActionEvent"}, {"o2", "b2", "ObservationEvent"}, {"p2", "o2", "AgentErrorEvent"},
		{"a4", "p2", "ActionEvent"}, {"o4", "a4", "ObservationEvent"},
		{"other", "done", "MessageEvent"}, {"a3", "other", "ActionEvent"}, {"o3", "a3", "ObservationEvent"},
		// m3 came while the call of finish waited.
		{"finish", "o4", "ActionEvent"}, {"m3", "finish", "MessageEvent"}, {"finished", "m3", "ObservationEvent"}, {"a5", "finished", "ActionEvent"},
	} {
		tree.events[event.ID(e.id)] = treeEvent{parent: event.ID(e.parent), kind: e.kind, still: e.id == "finish" || e.id == "finished"}
		tree.children[event.ID(e.parent)] = append(tree.children[event.ID(e.parent)], event.ID(e.id))
	}
	all := map[event.ID]checkpoint.Record{}
	for _, id := range []event.ID{"m1", "m2", "m3", "o3"} {
		all[id] = checkpoint.Record{Tree: string(id)}
	}
	for at, want := range map[event.ID]string{
		"":       "m1",
		"prompt": "m1", "m1": "m1", "a1": "m1",
		"o1": "m2", "done": "m2", "m2": "m2",
		"b2": "m2", // the actions of one answer begin after it
		"o2": "", "p2": "", "a4": "", "o4": "",
		"other": "", "a3": "", "o3": "o3",
		"m3": "m3", "finished": "m3", "a5": "m3",
	} {
		r, ok := tree.FilesAt(at, all)
		if r.Tree != want || ok != (want != "") {
			t.Errorf("at %q: %q, %v; want %q", at, r.Tree, ok, want)
		}
	}
	for _, c := range []struct {
		from, to event.ID
		want     bool
	}{{"m1", "done", true}, {"o1", "m2", false}, {"o4", "finished", false}, {"o4", "a5", true}, {"other", "m2", true}} {
		if got := tree.Acted(c.from, c.to); got != c.want {
			t.Errorf("acted between %s and %s: %v", c.from, c.to, got)
		}
	}
}
