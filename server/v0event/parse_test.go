package v0event_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/v0event"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, text string
		images   int
		state    v0event.State
		kind     fault.Kind
	}{
		{in: `{"action":"message","args":{"content":"hi","image_urls":[],"file_urls":[],"timestamp":"x"}}`, text: "hi"},
		{in: `{"action":"message","args":{"content":"hi","image_urls":["data:image/png;base64,AA=="]}}`, text: "hi", images: 1},
		{in: `{"action":"message","args":{"content":"","images_urls":["https://127.0.0.1/a.png"]}}`, images: 1},
		{in: `{"action":"message","args":{"content":"see /workspace/a","file_urls":["/workspace/a"]}}`, text: "see /workspace/a"},
		{in: `{"action":"message","args":{"content":"see","file_urls":["/workspace/a"]}}`, text: "see\n\nUploaded files:\n/workspace/a"},
		{in: `{"action":"change_agent_state","args":{"agent_state":"stopped"}}`, state: v0event.Stop},
		{in: `{"action":"change_agent_state","args":{"agent_state":"user_rejected"}}`, state: v0event.Reject},
		{in: `{"action":"init"}`},
		{in: `{"action":"message","args":{"content":" "}}`, kind: fault.Invalid},
		{in: `{"action":"message","args":{"content":"x","image_urls":["file:///etc/passwd"]}}`, kind: fault.Invalid},
		{in: `{"action":"message"}`, kind: fault.Invalid},
		{in: `{"action":"message","args":{"content":5}}`, kind: fault.Invalid},
		{in: `{"action":"change_agent_state","args":{"agent_state":"loading"}}`, kind: fault.Invalid},
		{in: `{"action":"run","args":{"command":"ls"}}`, kind: fault.Unsupported},
		{in: `{"observation":"run"}`, kind: fault.Unsupported},
		{in: `{}`, kind: fault.Invalid},
		{in: `[]`, kind: fault.Invalid},
		{in: `{"action":"message","args":[]}`, kind: fault.Invalid},
		{in: `{"action":"message","args":{"content":"x","image_urls":[5]}}`, kind: fault.Invalid},
	} {
		got, err := v0event.Parse([]byte(c.in))
		if c.kind != "" {
			if !fault.Is(err, c.kind) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("%s: %v, want %s in words for a client", c.in, err, c.kind)
			}
			continue
		}
		images := 0
		for _, b := range got.Message {
			images += len(b.ImageURLs)
		}
		if err != nil || event.JoinText(got.Message) != c.text || images != c.images || got.State != c.state {
			t.Errorf("%s: %+v %v", c.in, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"action":"message","args":{"content":"hi","image_urls":["data:image/png;base64,AA=="],"file_urls":["a"]}}`))
	f.Add([]byte(`{"action":"change_agent_state","args":{"agent_state":"paused"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := v0event.Parse(raw)
		if err != nil && (got.Message != nil || got.State != "") {
			t.Error("an error, and something to do")
		}
		if err != nil && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unsupported) {
			t.Errorf("an error of the kind %s", fault.KindOf(err))
		}
		if got.Message == nil {
			return
		}
		if _, err := event.Marshal(&event.MessageEvent{LLMMessage: event.Message{Role: event.RoleUser, Content: got.Message}}); err != nil {
			t.Error(err)
		}
	})
}
