package session_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// value is the value of a full_state, in lines.
func value(t *testing.T, c *session.Conversation) string {
	t.Helper()
	raw, err := c.FullState(t.Context())
	must.Succeed(t, err)
	var ev struct {
		Value json.RawMessage `json:"value"`
	}
	var b bytes.Buffer
	must.Succeed(t, json.Unmarshal(raw, &ev))
	must.Succeed(t, json.Indent(&b, ev.Value, "", " "))
	return b.String()
}

// TestFullStateAtRest wants the full state of the active conversation.
func TestFullStateAtRest(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done")), nil)
	c := h.begin(t, `"tags":{"a":"b"}`)
	rules, err := event.NewStateUpdate("activated_path_rules", []string{"go files"})
	must.Succeed(t, err)
	if _, err := h.stream.Append(t.Context(), c.ID(), rules); err != nil {
		t.Fatal(err)
	}
	send(t, c, "go")
	settle(t, c)
	want := value(t, c)
	if !bytes.Contains([]byte(want), []byte("go files")) {
		t.Fatalf("no rules in %s", want)
	}
	rested := func(name string) {
		t.Helper()
		h.restart(t)
		before := h.stream.reads.Load()
		if diff := cmp.Diff(want, value(t, h.get(t, c.ID()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if h.stream.reads.Load() != before {
			t.Errorf("%s: events were read", name)
		}
	}
	rested("at rest")
	must.Succeed(t, h.get(t, c.ID()).Patch(t.Context(), new("a title"), nil))
	rested("renamed at rest")
}
