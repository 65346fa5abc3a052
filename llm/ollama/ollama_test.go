package ollama_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/ollama"
)

// server answers /api/show with show and /api/chat with lines.
type server struct {
	show   string
	status int // of show
	lines  []string

	mu    sync.Mutex
	shows int
	body  string // of the last chat
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/api/show":
		s.shows++
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
		fmt.Fprint(w, s.show)
	case "/api/chat":
		s.body = string(body)
		if gjson.GetBytes(body, "stream").Bool() {
			w.Header().Set("Content-Type", "application/x-ndjson")
		} else {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
		fmt.Fprint(w, strings.Join(s.lines, "\n"))
	default:
		w.WriteHeader(404)
		fmt.Fprint(w, "404 page not found")
	}
}

func start(t *testing.T, s *server, change ...func(*llm.Config)) *ollama.Model {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	cfg := llm.Config{Model: "ollama/some-model:7b", BaseURL: srv.URL + "/v1"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := ollama.New(cfg)
	must.Succeed(t, err)
	return m
}

func hi() llm.Request {
	return llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}}
}

// The lines come from the API's documentation.
const (
	said   = `{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","message":{"role":"assistant","content":"The","images":null},"done":false}`
	ended  = `{"model":"llama3.2","created_at":"2023-08-04T19:22:45.499127Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}`
	called = `{"model":"llama3.2","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Tokyo"}}}]},"done":false}`
	large  = `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"llama","llama.context_length":131072}}`
)

func TestWindow(t *testing.T) {
	t.Parallel()
	show := func(length int, more string) string {
		return fmt.Sprintf(`{"capabilities":["completion"],%s"model_info":{"general.architecture":"llama","llama.context_length":%d,"llama.rope.dimension_count":128}}`, more, length)
	}
	for name, tt := range map[string]struct {
		show   string
		status int
		limit  int
		own    int
		want   int
	}{
		"the model's own":          {show: show(8192, ""), want: 8192},
		"bounded by the default":   {show: show(262144, ""), want: ollama.DefaultContext},
		"bounded by the user":      {show: show(262144, ""), limit: 131072, want: 131072},
		"a small bound":            {show: show(262144, ""), limit: 16384, want: 16384},
		"bound beyond the model":   {show: show(8192, ""), limit: 131072, want: 8192},
		"bounded by a Modelfile":   {show: show(262144, `"parameters":"stop \"x\"\nnum_ctx                        20000\ntemperature 1",`), want: 20000},
		"a Modelfile's 4k":         {show: show(262144, `"parameters":"num_ctx 4096",`), want: ollama.DefaultContext},
		"user over Modelfile":      {show: show(262144, `"parameters":"num_ctx 20000",`), limit: 100000, want: 100000},
		"the window is overridden": {show: show(262144, ""), own: 30000, want: 30000},
		"not said":                 {show: `{"capabilities":["completion"]}`, want: 32768},
		"a proxy without show":     {show: "404 page not found", status: 404, want: 32768},
		"an absurd window":         {show: show(-5, ""), want: 32768},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{show: tt.show, status: tt.status, lines: []string{said, ended}}
			m := start(t, s, func(c *llm.Config) { c.ContextLimit, c.Info.ContextWindow = tt.limit, tt.own })
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if _, err := llm.Complete(t.Context(), m, hi(), nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := gjson.Get(s.body, "options.num_ctx").Int(); int(got) != tt.want || m.Info().ContextWindow != tt.want || s.shows != 1 {
				t.Errorf("num_ctx %d, window %d, asked %d times, want %d", got, m.Info().ContextWindow, s.shows, tt.want)
			}
		})
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	s := &server{lines: []string{said, ended}, show: `{"capabilities":["completion","tools","vision","thinking"],"model_info":{"general.architecture":"x","x.context_length":40960}}`}
	m := start(t, s)
	zero := 0.0
	r := llm.Request{Session: "s", Temperature: &zero, Stop: []string{"X"}, MaxOutputTokens: 100, ReasoningEffort: "high", Schema: []byte(`{"type":"object"}`), Messages: []event.Message{
		{Role: event.RoleSystem, Content: event.Texts("sys")},
		{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image("data:image/png;base64,AA==", "https://example.com/a.png")}},
		{Role: event.RoleAssistant, ReasoningContent: "hm", ToolCalls: []event.ToolCall{{ID: "c1", Name: "run", Arguments: `{"a":1}`}, {ID: "c2", Name: "run", Arguments: "{"}}},
		{Role: event.RoleTool, ToolCallID: "c1", Content: event.List[event.Content]{event.Text("shot"), event.Image("data:image/png;base64,BB==")}},
		{Role: event.RoleTool, ToolCallID: "c2"},
	}, Tools: []llm.Tool{{Name: "run", Description: "d", Parameters: []byte(`{"type":"object"}`)}}}
	want := `{"model":"some-model:7b","stream":true,"think":true,"format":{"type":"object"},"keep_alive":"30m0s","truncate":false,"shift":false,"options":{"num_ctx":40960,"num_predict":100,"temperature":0,"stop":["X"]},"tools":[{"type":"function","function":{"name":"run","description":"d","parameters":{"type":"object"}}}],"messages":[` +
		`{"role":"system","content":"sys"},{"role":"user","content":"look\n(An image was left out: this server does not fetch images from addresses.)","images":["AA=="]},` +
		`{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"c1","function":{"name":"run","arguments":{"a":1}}},{"id":"c2","function":{"name":"run","arguments":{"malformed_arguments":"{"}}}]},` +
		`{"role":"tool","content":"shot\n(The image follows in the next message.)","tool_name":"run","tool_call_id":"c1"},{"role":"tool","content":"(no output)","tool_name":"run","tool_call_id":"c2"},` +
		`{"role":"user","content":"(The image of the tool result above.)","images":["BB=="]}]}`
	for range 2 { // the second time from the log
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.body); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}
}

func TestThink(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ show, effort, want string }{
		"not able":    {large, "high", ""},
		"no wish":     {`{"capabilities":["thinking"]}`, "", ""},
		"yes":         {`{"capabilities":["thinking"]}`, "low", "true"},
		"no":          {`{"capabilities":["thinking"]}`, "none", "false"},
		"level":       {`{"capabilities":["thinking"],"details":{"family":"gptoss"}}`, "medium", `"medium"`},
		"high level":  {`{"capabilities":["thinking"],"details":{"family":"gpt-oss"}}`, "xhigh", `"high"`},
		"never never": {`{"capabilities":["thinking"],"details":{"family":"gptoss"}}`, "none", `"low"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{show: tt.show, lines: []string{said, ended}}
			r := hi()
			r.ReasoningEffort = tt.effort
			if _, err := llm.Complete(t.Context(), start(t, s), r, nil); err != nil {
				t.Fatal(err)
			}
			if got := gjson.Get(s.body, "think").Raw; got != tt.want {
				t.Errorf("think %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	resp, err := llm.Complete(t.Context(), start(t, &server{show: large, lines: []string{said, called, ended}}), hi(), nil)
	if err != nil || resp.Usage != (llm.Usage{Prompt: 26, Output: 282}) || !resp.CostKnown || resp.Cost != 0 || resp.Model != "llama3.2" {
		t.Errorf("%+v, %v", resp, err)
	}
	if c := resp.Message.ToolCalls; len(c) != 1 || c[0].ID == "" || c[0].Name != "get_weather" || c[0].Arguments != `{"city":"Tokyo"}` || resp.Finish != llm.FinishTools {
		t.Errorf("calls %+v, finish %s", c, resp.Finish)
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	r := hi()
	r.NoStream = true
	resp, err := llm.Complete(t.Context(), start(t, &server{show: large, lines: []string{strings.Replace(ended, `"stop"`, `"length"`, 1)}}), r, nil)
	if err != nil || resp.Finish != llm.FinishLength {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		show   string
		status int
		lines  []string
		kind   fault.Kind
		hint   string
	}{
		"no such model":      {`{"error":"model 'some-model:7b' not found"}`, 404, nil, fault.Invalid, "ollama pull some-model:7b"},
		"server is starting": {`{"error":"llama runner process has terminated"}`, 500, nil, fault.Unavailable, ""},
		"out of memory":      {large, 0, []string{`{"error":"model requires more system memory (9.2 GiB) than is available (4.1 GiB)"}`}, fault.Unavailable, "context limit"},
		"no tools":           {large, 0, []string{`{"error":"registry.ollama.ai/library/x does not support tools"}`}, fault.Unavailable, "search"},
		"prompt too long":    {large, 0, []string{`{"error":"the input length exceeds the context length"}`}, fault.Context, "shorten"},
		"show is broken":     {`{`, 0, nil, fault.Unavailable, ""},
		"cut off":            {large, 0, []string{said}, fault.Unavailable, ""},
		"half a line":        {large, 0, []string{said[:30]}, fault.Unavailable, ""},
		"nothing said":       {large, 0, []string{ended}, fault.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.Complete(t.Context(), start(t, &server{show: tt.show, status: tt.status, lines: tt.lines}), hi(), nil)
			if _, ok := errors.AsType[*llm.Error](err); !ok || fault.KindOf(err) != tt.kind || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%s: %v, hint %q", fault.KindOf(err), err, fault.HintOf(err))
			}
		})
	}
}

// TestParameters checks where top_k, a seed and extra fields go.
func TestParameters(t *testing.T) {
	t.Parallel()
	s := &server{show: large, lines: []string{said, ended}}
	m := start(t, s, func(c *llm.Config) {
		c.ExtraBody = map[string]json.RawMessage{"options": json.RawMessage(`{"min_p":0.1}`), "logprobs": json.RawMessage(`true`), "model": json.RawMessage(`"evil"`)}
		c.KeepParameters = true
	})
	r := hi()
	k, seed := 7, 3
	r.TopK, r.Seed = &k, &seed
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
		t.Fatal(err)
	}
	want := `{"min_p":0.1,"num_ctx":65536,"seed":3,"top_k":7}`
	if got := gjson.Get(s.body, "options").Raw; got != want || !gjson.Get(s.body, "logprobs").Bool() || strings.Contains(s.body, "evil") {
		t.Errorf("sent %s", s.body)
	}
}
