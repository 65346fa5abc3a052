package conversation_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
)

// value is the value of a full_state, in lines.
func value(t *testing.T, c *conversation.Conversation) string {
	t.Helper()
	raw, err := c.FullState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ev struct {
		Value json.RawMessage `json:"value"`
	}
	var b bytes.Buffer
	if err := json.Unmarshal(raw, &ev); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&b, ev.Value, "", " "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFullStateAtRest is that of the conversation at work, also where the
// store was written before the rules of paths were kept.
func TestFullStateAtRest(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done")), nil)
	c := h.begin(t, `"tags":{"a":"b"}`)
	rules, err := event.NewStateUpdate("activated_path_rules", []string{"go files"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.stream.Append(t.Context(), c.ID(), rules); err != nil {
		t.Fatal(err)
	}
	send(t, c, "go")
	settle(t, c)
	want := value(t, c)
	if !bytes.Contains([]byte(want), []byte("go files")) {
		t.Fatalf("no rules in %s", want)
	}
	rested := func(name string, reads bool) {
		t.Helper()
		h.restart(t)
		before := h.stream.reads.Load()
		if diff := cmp.Diff(want, value(t, h.get(t, c.ID()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := h.stream.reads.Load() != before; got != reads {
			t.Errorf("%s: events were read %v, want %v", name, got, reads)
		}
	}
	rested("at rest", false)
	if err := h.get(t, c.ID()).SetTitle(t.Context(), "a title"); err != nil {
		t.Fatal(err)
	}
	rested("renamed at rest", false)
	h.forgetRules(t, c.ID())
	rested("of an older store", true)
	rested("read once", false)
	h.forgetRules(t, c.ID())
	h.restart(t)
	if err := h.get(t, c.ID()).SetTitle(t.Context(), "another title"); err != nil {
		t.Fatal(err)
	}
	rested("renamed in an older store", true)
}

// forgetRules makes what is stored of a conversation look as it did before the
// rules of paths were kept.
func (h *house) forgetRules(t *testing.T, id event.ConversationID) {
	t.Helper()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Manager = h.another(t)
	info, err := h.stream.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	meta, old := info.Meta, []byte(`,"path_rules":["go files"]`)
	if !bytes.Contains(meta.Extra, old) {
		t.Fatalf("no rules in %s", meta.Extra)
	}
	meta.Extra = bytes.Replace(meta.Extra, old, nil, 1)
	if err := h.stream.Stream.SetMeta(t.Context(), id, meta); err != nil {
		t.Fatal(err)
	}
}
