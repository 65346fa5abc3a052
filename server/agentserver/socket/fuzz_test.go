package socket_test

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/socket"
)

// FuzzInbound holds that a frame is refused or becomes a message that encodes.
func FuzzInbound(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","content":[{"type":"text","text":"hi"}],"run":true}`,
		`{"role":"user","content":"hi"}`, `{"role":"tool","content":null}`, `{"type":"auth","session_api_key":"k"}`,
		`{"role":"user","content":[{"image_urls":["data:x"]},{"text":"x"}]}`, `[]`, `null`, ` {}`, `"`, `{"role":{}}`,
		`{"role":"user","content":[{"type":"text","text":"x","cache_prompt":1}]}`, "{\"role\":\"user\",\"content\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		socket.IsAuth(b)
		if err := socket.Syntax(b); err != nil {
			return
		}
		m, err := socket.ParseMessage(b)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a word")
			}
			return
		}
		raw, err := event.Marshal(&event.MessageEvent{Base: event.NewBase(event.SourceUser), LLMMessage: m})
		if err != nil || !json.Valid(raw) {
			t.Errorf("%q becomes %q: %v", b, raw, err)
		}
	})
}
