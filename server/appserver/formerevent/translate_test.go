package formerevent_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/server/appserver/formerevent"
)

// anywhere changes no paths, within does.
var (
	anywhere formerevent.Workspace
	within   = formerevent.Workspace{Directory: "/data/1", Client: "/workspace"}
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
		want := both(value(t, pair.Former), value(t, pair.Now))
		if diff := cmp.Diff(want, value(t, anywhere.Event(pair.Now))); diff != "" {
			t.Errorf("%.300s (-want +got)\n%s", pair.Now, diff)
		}
	}
	if err := lines.Err(); err != nil || n < 100 {
		t.Fatal(n, err)
	}
}

// both is a value in its former form with what it has today beside it.
func both(former, now any) any {
	switch f := former.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			return former
		}
		out := maps.Clone(n)
		for key, v := range f {
			out[key] = both(v, n[key])
		}
		return out
	case []any:
		n, ok := now.([]any)
		if !ok || len(n) != len(f) {
			return former
		}
		out := make([]any, len(f))
		for i := range f {
			out[i] = both(f[i], n[i])
		}
		return out
	}
	return former
}

// TestLaterPages: what web UIs after 0.62 read of events is there too
// (get-observation-content.ts of OpenHands 1.x).
func TestLaterPages(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]string{
		`{"kind":"TerminalObservation","content":[{"type":"text","text":"a"}],"is_error":true,"command":"ls","exit_code":1}`: `{"kind":"ExecuteBashObservation","content":[{"type":"text","text":"a"}],"is_error":true,"command":"ls","exit_code":1,"output":"a","error":true}`,
		`{"kind":"FinishObservation","content":[{"type":"text","text":"a"}],"is_error":false}`:                               `{"kind":"FinishObservation","content":[{"type":"text","text":"a"}],"is_error":false,"message":"a"}`,
		`{"kind":"BrowserObservation","content":[{"type":"text","text":"a"}],"is_error":true}`:                               `{"kind":"BrowserObservation","content":[{"type":"text","text":"a"}],"is_error":true,"error":"a","output":""}`,
		`{"kind":"ThinkObservation","content":[{"type":"text","text":"a"}],"is_error":false}`:                                `{"kind":"ThinkObservation","content":"a","is_error":false}`, // they take a text here
	} {
		event := func(observation string) string {
			return `{"id":"1","source":"environment","kind":"ObservationEvent","action_id":"2","observation":` + observation + `}`
		}
		if strings.Contains(now, "FinishObservation") {
			want = strings.ReplaceAll(event(want), `"environment"`, `"agent"`)
		} else {
			want = event(want)
		}
		if diff := cmp.Diff(value(t, []byte(want)), value(t, anywhere.Event([]byte(event(now))))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", now, diff)
		}
	}
	const action = `{"id":"1","source":"agent","kind":"ActionEvent","summary":"lists","thought":[],"action":{"kind":"TerminalAction","command":"ls"}}`
	if got := anywhere.Event([]byte(action)); !strings.Contains(string(got), `"summary":"lists"`) || !strings.Contains(string(got), "ExecuteBashAction") {
		t.Errorf("an action is %s", got)
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
			`{"id":"1","source":"agent","kind":"AgentErrorEvent","tool_name":"","tool_call_id":"","error":"ValidationError","code":"ValidationError","detail":""}`,
		},
		"of another type": {`{"id":"1","source":"agent","kind":"ActionEvent","thought":7}`, `{"id":"1","source":"agent","kind":"ActionEvent","thought":7}`},
		"no kind":         {`{"id":"1"}`, `{"id":"1"}`},
		"no object":       {`[1]`, `[1]`},
		"null":            {`null`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(value(t, []byte(c.want)), value(t, anywhere.Event([]byte(c.now)))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := anywhere.Event([]byte(`{"id":"1","source":"agent","kind":"StreamingDeltaEvent","content":"a"}`)); got != nil {
		t.Errorf("a piece of an answer is sent: %s", got)
	}
	if got := anywhere.Event([]byte(`{"`)); string(got) != `{"` {
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
			if diff := cmp.Diff(value(t, []byte(c.want)), value(t, anywhere.Message([]byte(c.sent), ""))); diff != "" {
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
		got := within.Event(raw)
		if json.Valid(raw) && got != nil && !json.Valid(got) {
			t.Errorf("%q is made of %q", got, raw)
		}
		if got = within.Message(raw, "/data/1/project"); json.Valid(raw) && !json.Valid(got) {
			t.Errorf("%q is made of %q", got, raw)
		}
	})
}
