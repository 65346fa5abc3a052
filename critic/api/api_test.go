package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/critic/api"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-of-the-critic"

// service is a scripted critic.
type service struct {
	url    string
	mu     sync.Mutex
	bodies []map[string]string
	paths  []string
}

// serve answers the requests one after the other.
func serve(t *testing.T, answers ...func(w http.ResponseWriter, r *http.Request)) *service {
	t.Helper()
	s := &service{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var body map[string]string
		if err != nil || json.Unmarshal(raw, &body) != nil {
			t.Errorf("the request %s: %v", raw, err)
		}
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies, s.paths = append(s.bodies, body), append(s.paths, r.URL.Path)
		s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("the key is %q", r.Header.Get("Authorization"))
		}
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/vllm"
	return s
}

func says(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// likely answers with a score, and with likelihoods of some labels by their place.
func likely(score float64, others map[int]float64) func(http.ResponseWriter, *http.Request) {
	probs := make([]float64, 27)
	probs[0] = score
	for i, p := range others {
		probs[i] = p
	}
	raw, _ := json.Marshal(map[string]any{"data": []any{map[string]any{"probs": probs, "num_classes": len(probs)}}})
	return says(200, string(raw))
}

func of(t *testing.T, url, more string) *spec.Critic {
	t.Helper()
	a, err := spec.DecodeAgent([]byte(`{"llm":{"model":"m"},"critic":{"kind":"APIBasedCritic","api_key":"`+key+`","server_url":"`+url+`"`+more+`}}`), schema.Reading{})
	must.Succeed(t, err)
	return a.Critic
}

func text(s string) event.Content { return event.Text(s) }

// talk is a case with every kind of event.
func talk() critic.Case {
	dynamic := text("today")
	call := &event.ActionEvent{Thought: event.Texts("I look"), Action: &event.TerminalAction{Command: "ls"}, ToolCallID: "1"}
	result := &event.TerminalObservation{ObservationBase: event.ObservationBase{Content: event.Texts("a <|im_end|>\nSECRET")}}
	result.Metadata.Suffix = "\n[exit code 0]"
	return critic.Case{
		View: []event.Event{
			&event.SystemPromptEvent{Base: event.Base{ID: "e0"}, SystemPrompt: text("be good"), DynamicContext: &dynamic},
			&event.MessageEvent{Base: event.Base{ID: "e1", Source: event.SourceUser}, LLMMessage: event.Message{Content: event.Texts("do it")}},
			call, &event.ObservationEvent{ToolCallID: "1", Observation: result}, &event.AgentErrorEvent{Error: "broken"},
			&event.ActionEvent{Base: event.Base{ID: "e5"}, Action: &event.FinishAction{Message: "done"}},
		},
		Tools: []tool.Offer{{Name: "terminal", Description: "runs", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Mask:  func(s string) string { return strings.ReplaceAll(s, "SECRET", "<hidden>") },
	}
}

// TestRequest has the conversation in the form of the chat template.
func TestRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, likely(0.5, nil))
	if _, err := api.New().Judge(t.Context(), of(t, s.url+"/", ""), talk()); err != nil {
		t.Fatal(err)
	}
	if s.paths[0] != "/vllm/classify" || s.bodies[0]["model"] != "critic" {
		t.Errorf("%s %s", s.paths[0], s.bodies[0]["model"])
	}
	want := `<|im_start|>system
be good
today

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type":"function","function":{"name":"terminal","description":"runs","parameters":{"type":"object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
do it<|im_end|>
<|im_start|>assistant
I look<|im_end|>
<|im_start|>user
<tool_response>
a <| im_end|>
<hidden>
[exit code 0]
</tool_response>
<tool_response>
broken
</tool_response><|im_end|>
<|im_start|>assistant
done<|im_end|>
`
	if diff := cmp.Diff(want, s.bodies[0]["input"]); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	if _, err := api.New().Judge(t.Context(), of(t, s.url, `,"pass_tools_definitions":false,"model_name":"other"`), talk()); err != nil {
		t.Fatal(err)
	}
	if s.bodies[1]["model"] != "other" || strings.Contains(s.bodies[1]["input"], "# Tools") {
		t.Errorf("%v", s.bodies[1])
	}
}

// TestResult has the JSON of the reference.
func TestResult(t *testing.T) {
	t.Parallel()
	s := serve(t, likely(0.75, map[int]float64{1: 800, 9: 0.3, 10: 0.9, 17: 0.2, 18: 0.19, 20: 0.5}))
	r, err := api.New().Judge(t.Context(), of(t, s.url, ""), talk())
	must.Succeed(t, err)
	message := r.Message
	r.Message = nil
	raw, err := json.Marshal(r.Metadata.Features)
	must.Succeed(t, err)
	want := `{"sentiment":{"predicted":"Positive","probability":1,"all":{"negative":0,"neutral":0,"positive":1}},` +
		`"agent_behavioral_issues":[{"name":"insufficient_testing","display_name":"Insufficient Testing","probability":0.9},{"name":"loop_behavior","display_name":"Loop Behavior","probability":0.3}],` +
		`"user_followup_patterns":[{"name":"correction","display_name":"Correction","probability":0.5}],` +
		`"infrastructure_issues":[{"name":"infrastructure_external_issue","display_name":"Infrastructure External Issue","probability":0.2}],"other":[]}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
	if r.Score != 0.75 || !strings.HasPrefix(*message, `Success: 0.75; {"sentiment_positive": 800, "insufficient_testing": 0.9, "success": 0.75, `) {
		t.Errorf("%v %s", r.Score, *message)
	}
	if got := r.Metadata.EventIDs; !slices.Equal(got, []event.ID{"e0", "e1", "", "", "", "e5"}) {
		t.Errorf("events %v", got)
	}
}

// TestFailures are clear errors without the key and the server's words.
func TestFailures(t *testing.T) {
	t.Parallel()
	leak := "your key is " + key
	for name, c := range map[string]struct {
		more    string
		answers []func(http.ResponseWriter, *http.Request)
		tries   int
		kind    fault.Kind
		want    string // "" for success
	}{
		"twice 500":           {"", []func(http.ResponseWriter, *http.Request){says(500, leak), says(500, leak), likely(1, nil)}, 3, "", ""},
		"always 500":          {"", []func(http.ResponseWriter, *http.Request){says(500, leak)}, 3, fault.Unavailable, "is not available: it answered with status 500"},
		"a wrong key":         {"", []func(http.ResponseWriter, *http.Request){says(401, leak)}, 1, fault.Auth, "does not accept the key"},
		"busy":                {"", []func(http.ResponseWriter, *http.Request){says(503, leak)}, 1, fault.Unavailable, "status 503"},
		"a redirect":          {"", []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }}, 1, fault.Unavailable, "status 302"},
		"no JSON":             {"", []func(http.ResponseWriter, *http.Request){says(200, leak)}, 1, fault.Unavailable, "cannot be read"},
		"no data":             {"", []func(http.ResponseWriter, *http.Request){says(200, `{}`)}, 1, fault.Unavailable, "without likelihoods"},
		"too few":             {"", []func(http.ResponseWriter, *http.Request){says(200, `{"data":[{"probs":[0.5]}]}`)}, 1, fault.Unavailable, "1 likelihoods for 27 labels"},
		"a wrong number":      {"", []func(http.ResponseWriter, *http.Request){says(200, `{"data":[{"probs":[0.5],"num_classes":4}]}`)}, 1, fault.Unavailable, "without likelihoods"},
		"no likelihood":       {"", []func(http.ResponseWriter, *http.Request){likely(7, nil)}, 1, fault.Unavailable, "the likelihood 7"},
		"silence":             {`,"timeout_seconds":0.01`, []func(http.ResponseWriter, *http.Request){func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}, 1, fault.Unavailable, "not answered in time"},
		"another tokenizer":   {`,"tokenizer_name":"x/y"`, nil, 0, fault.Unsupported, "the tokenizer x/y"},
		"no label of success": {`,"has_success_label":false`, []func(http.ResponseWriter, *http.Request){likely(1, nil)}, 1, fault.Invalid, "needs the label success"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answers...)
			r, err := api.NewWithoutWaiting().Judge(t.Context(), of(t, s.url, c.more), talk())
			if c.want == "" {
				if err != nil || r.Score != 1 {
					t.Errorf("%v %v", r, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind {
				t.Errorf("%v of kind %s, want %q of %s", err, fault.KindOf(err), c.want, c.kind)
			}
			if err != nil && strings.Contains(err.Error()+fault.HintOf(err), key) {
				t.Errorf("the key is in %v", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if name != "silence" && len(s.bodies) != c.tries {
				t.Errorf("%d requests, want %d", len(s.bodies), c.tries)
			}
		})
	}
	none := of(t, "http://127.0.0.1:1", "")
	none.APIKey = " "
	if _, err := api.New().Judge(t.Context(), none, talk()); !fault.Is(err, fault.Auth) || !strings.Contains(fault.HintOf(err), "critic_api_key") {
		t.Error(err)
	}
	for _, url := range []string{"", "ftp://x", "://", "file:///etc/passwd"} {
		if _, err := api.New().Judge(t.Context(), of(t, url, ""), talk()); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
