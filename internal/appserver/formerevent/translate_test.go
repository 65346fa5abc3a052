package formerevent_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/appserver/formerevent"
)

func value(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// TestEvents compares with what openhands-sdk 1.0.0a6 makes of the same contents
// (test/events/former.py).
func TestEvents(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var pair struct{ Now, Former json.RawMessage }
		if err := json.Unmarshal(lines.Bytes(), &pair); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value(t, pair.Former), value(t, formerevent.Event(pair.Now))); diff != "" {
			t.Errorf("%.300s (-want +got)\n%s", pair.Now, diff)
		}
	}
	if err := lines.Err(); err != nil || n < 100 {
		t.Fatal(n, err)
	}
}

// TestOthers: what that version did not know, and what is no event.
func TestOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ now, want string }{
		"another kind":        {`{"id":"1","source":"environment","kind":"TokenEvent","x":1}`, `{"id":"1","source":"environment","kind":"TokenEvent","x":1}`},
		"of a hook":           {`{"id":"1","source":"hook","kind":"HookExecutionEvent","x":1}`, `{"id":"1","source":"environment","kind":"HookExecutionEvent","x":1}`},
		"an action of Deft's": {`{"id":"1","source":"agent","kind":"ActionEvent","thought":[],"action":{"kind":"MyAction","x":1}}`, `{"id":"1","source":"agent","kind":"ActionEvent","thought":[],"action":{"kind":"MyAction","x":1}}`},
		"an invalid call":     {`{"id":"1","source":"agent","kind":"ActionEvent","thought":[],"action":null}`, `{"id":"1","source":"agent","kind":"ActionEvent","thought":[]}`},
		"a bad frame": {
			`{"id":"1","source":"environment","kind":"ServerErrorEvent","code":"ValidationError","detail":""}`,
			`{"id":"1","source":"agent","kind":"AgentErrorEvent","tool_name":"","tool_call_id":"","error":"ValidationError"}`,
		},
		"of another type": {`{"id":"1","source":"agent","kind":"ActionEvent","thought":7}`, `{"id":"1","source":"agent","kind":"ActionEvent","thought":7}`},
		"no kind":         {`{"id":"1"}`, `{"id":"1"}`},
		"no object":       {`[1]`, `[1]`},
		"null":            {`null`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(value(t, []byte(c.want)), value(t, formerevent.Event([]byte(c.now)))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := formerevent.Event([]byte(`{"id":"1","source":"agent","kind":"StreamingDeltaEvent","content":"a"}`)); got != nil {
		t.Errorf("a piece of an answer is sent: %s", got)
	}
	if got := formerevent.Event([]byte(`{"`)); string(got) != `{"` {
		t.Errorf("got %q", got)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sent, want string }{
		"an image": {
			`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`,
			`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","image_urls":["data:image/png;base64,AA=="]}]}`,
		},
		"an image without an address": {
			`{"role":"user","content":[{"type":"image_url","image_url":"x"}]}`, `{"role":"user","content":[{"type":"image_url","image_url":"x"}]}`,
		},
		"text alone": {`{"role":"user","content":"hello"}`, `{"role":"user","content":"hello"}`},
		"nothing":    {`{"role":"user"}`, `{"role":"user"}`},
		"no object":  {`7`, `7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(value(t, []byte(c.want)), value(t, formerevent.Message([]byte(c.sent)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"ActionEvent","thought":[{"type":"text"}],"action":{"kind":"TerminalAction","command":"ls"}}`,
		`{"kind":"ObservationEvent","observation":{"kind":"TerminalObservation","content":[{"type":"text","text":"a"}]}}`,
		`{"kind":"MessageEvent","llm_message":{"content":[null]}}`, `{"kind":"SystemPromptEvent","tools":[{}]}`, `{"kind":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := formerevent.Event(raw)
		if json.Valid(raw) && got != nil && !json.Valid(got) {
			t.Errorf("%q is made of %q", got, raw)
		}
		if got = formerevent.Message(raw); json.Valid(raw) && !json.Valid(got) {
			t.Errorf("%q is made of %q", got, raw)
		}
	})
}
