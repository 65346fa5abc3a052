package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/session/internal/history"
	"github.com/deft-dev/deft/state"
)

// TestActive finds the branch of HEAD among events of several branches. A number moves HEAD to the
// event of that place, 0 to nothing; message and status are events.
func TestActive(t *testing.T) {
	t.Parallel()
	const message, status = -1, -2
	type segments = []eventstream.Segment
	many := make([]int, 250)
	for i := range many {
		many[i] = status
	}
	for name, tc := range map[string]struct {
		log  []int
		want segments
	}{
		"empty":                       {nil, nil},
		"never moved":                 {[]int{message, status, message}, segments{{First: 1, Last: 3}}},
		"moved back":                  {[]int{message, message, message, 1}, segments{{First: 1, Last: 1}, {First: 4, Last: 4}}},
		"moved back, went on":         {[]int{message, message, 1, status, message}, segments{{First: 1, Last: 1}, {First: 3, Last: 5}}},
		"moved to nothing":            {[]int{message, message, 0, message}, segments{{First: 3, Last: 4}}},
		"twice":                       {[]int{message, message, 1, message, message, 4, message}, segments{{First: 1, Last: 1}, {First: 3, Last: 4}, {First: 6, Last: 7}}},
		"a move that was undone, too": {[]int{message, message, message, 2, message, 1, message}, segments{{First: 1, Last: 1}, {First: 6, Last: 7}}},
		"back to the branch before":   {[]int{message, message, 1, message, 2, message}, segments{{First: 1, Last: 2}, {First: 5, Last: 6}}},
		"updates on several pages":    {append([]int{message, message, 1}, many...), segments{{First: 1, Last: 1}, {First: 3, Last: 253}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			id := event.NewConversationID()
			if err := s.Create(t.Context(), id, eventstream.Meta{}); err != nil {
				t.Fatal(err)
			}
			ids := []event.ID{""}
			for _, what := range tc.log {
				ev := event.Event(event.NewUserMessage("x"))
				if what != message {
					key, value := state.KeyStatus, any("idle")
					if what == 0 {
						key, value = state.KeyHead, nil
					} else if what > 0 {
						key, value = state.KeyHead, ids[what]
					}
					if ev, err = event.NewStateUpdate(key, value); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := s.Append(t.Context(), id, ev); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, ev.Meta().ID)
			}
			got, err := history.Active(t.Context(), s, id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
