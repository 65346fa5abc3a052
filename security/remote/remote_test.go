package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/security/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a request that a service got.
type asked struct{ path, key, body string }

// scripted is a service that answers in turn: a text is a JSON body, a number a status.
type scripted struct {
	*httptest.Server
	mu  sync.Mutex
	got []asked
}

func serve(t *testing.T, answers ...any) *scripted {
	t.Helper()
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, asked{r.URL.RequestURI(), r.Header.Get("Authorization"), string(body)})
		if len(s.got) > len(answers) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		switch a := answers[len(s.got)-1].(type) {
		case string:
			_, _ = io.WriteString(w, a)
		case int:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(a)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// about is a command with a history and a secret.
func about() security.Case {
	action := &event.ActionEvent{
		ToolName: "terminal", ToolCallID: "2", Thought: event.Texts("now hush"), Summary: "deploys",
		ToolCall: event.ToolCall{ID: "2", Name: "terminal", Arguments: `{"command":"deploy hush","security_risk":"LOW"}`},
	}
	action.Base = event.NewBase(event.SourceAgent)
	before := &event.ActionEvent{ToolName: "ipython", ToolCallID: "1", ToolCall: event.ToolCall{ID: "1", Name: "ipython", Arguments: `{"code":"1"}`}}
	user := &event.MessageEvent{Base: event.NewBase(event.SourceUser), LLMMessage: event.Message{Role: event.RoleUser, Content: event.Texts("go")}}
	return security.Case{
		Conversation: "c1", Action: action,
		History: []event.Event{&event.SystemPromptEvent{SystemPrompt: event.Text("RULES")}, user, before,
			&event.ObservationEvent{ToolCallID: "1", Observation: &event.ThinkObservation{ObservationBase: event.ObservationBase{Content: event.Texts("one")}}}},
		Mask: func(s string) string { return strings.ReplaceAll(s, "hush", "<masked>") },
	}
}

// rate asks the service of a document, whose URL is that of s.
func rate(t *testing.T, s *scripted, document string, env map[string]string) (security.Assessment, error) {
	t.Helper()
	a, err := security.ParseAnalyzer([]byte(strings.ReplaceAll(document, "URL", s.URL)))
	must.Succeed(t, err)
	return remote.New(func(name string) string { return env[name] }).Rate(t.Context(), a.(security.Service), about())
}

const gray = `{"kind":"GraySwanAnalyzer","api_url":"URL/monitor","api_key":"k3y"}`

func TestRatings(t *testing.T) {
	t.Parallel()
	const own = `{"kind":"HTTPSecurityAnalyzer","url":"URL/rate","api_key":"k3y"}`
	const invariant = `{"kind":"InvariantAnalyzer","api_url":"URL/","policy":"raise"}`
	for _, tt := range []struct {
		document string
		answers  []any
		want     event.Risk // "" for an error
		says     string     // in the details or the error
	}{
		{gray, []any{`{"violation":0.3}`}, event.RiskLow, "violation 0.30"},
		{gray, []any{`{"violation":0.31}`}, event.RiskMedium, ""},
		{gray, []any{`{"violation":0.71}`}, event.RiskHigh, ""},
		{gray, []any{`{"violation":0.1,"ipi":true}`}, event.RiskHigh, "injection"},
		{gray, []any{`{"output":{"data":{"violation":0.9}}}`}, event.RiskHigh, ""},
		{gray, []any{`{"violated":1}`}, "", "has no violation"},
		{gray, []any{`nonsense`}, "", "cannot be read"},
		{gray, []any{`"` + strings.Repeat("x", 1<<20) + `"`}, "", "cannot be read"},
		{gray, []any{500}, "", "is not available: it answered with status"},
		{gray, []any{302, `{"violation":0}`}, "", "is not available: it answered with status"}, // no redirect takes the key along
		{strings.Replace(gray, "k3y", "**********", 1), nil, "", "needs a key"},

		{own, []any{`{"risk":"MEDIUM","reason":"so"}`}, event.RiskMedium, "so"},
		{own, []any{`{"risk":"high"}`}, event.RiskHigh, ""},
		{own, []any{`{"risk":"UNKNOWN"}`}, event.RiskUnknown, ""},
		{own, []any{`{"risk":"SEVERE"}`}, "", "has no risk"},
		{own, []any{`{}`}, "", "has no risk"},

		{invariant, []any{`{"id":"c1"}`, `{"monitor_id":"m"}`, `[]`}, event.RiskLow, ""},
		{invariant, []any{`{"id":"c1"}`, `{"monitor_id":"m"}`, `["PolicyViolation(disable, risk=medium)","x risk=low"]`}, event.RiskMedium, "disable"},
		{invariant, []any{`{"id":"c1"}`, `{"monitor_id":"m"}`, 404, `{"id":"c1"}`, `{"monitor_id":"m2"}`, `["risk=high"]`}, event.RiskHigh, ""},
		{invariant, []any{`{"id":"c1"}`, `{"monitor_id":"m"}`, 404, `{"id":"c1"}`, `{"monitor_id":"m2"}`, 404}, "", "it answered with status 404"},
		{invariant, []any{`{"id":"c1"}`, `{}`}, "", "has made no monitor"},
		{strings.Replace(invariant, `,"policy":"raise"`, "", 1), []any{`{"id":"c1"}`, `"TEMPLATE"`, `{"monitor_id":"m"}`, `[]`}, event.RiskLow, ""},
	} {
		s := serve(t, tt.answers...)
		got, err := rate(t, s, tt.document, nil)
		text := ""
		if err != nil {
			text = err.Error()
		} else if tt.says != "" {
			text, _ = got.Details["reason"].(string)
		}
		if got.Risk != tt.want || (err == nil) != (tt.want != "") || !strings.Contains(text, tt.says) || strings.Contains(text, "k3y") {
			t.Errorf("%s %.100v: %v, %v", tt.document, tt.answers, got, err)
		}
		for _, r := range s.got {
			if strings.Contains(r.body, "hush") || strings.Contains(r.body, "security_risk") || strings.Contains(r.path, "elsewhere") {
				t.Errorf("%s: asked %v", tt.document, r)
			}
		}
	}
}

// TestRequests holds the form of requests.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"violation":0}`)
	_, err := rate(t, s, gray, map[string]string{"GRAYSWAN_API_KEY": "operator", "GRAYSWAN_POLICY_ID": "p"})
	must.Succeed(t, err)
	var body struct {
		Policy   string `json:"policy_id"`
		Messages []struct {
			Role  string            `json:"role"`
			Calls []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
	}
	must.Succeed(t, json.Unmarshal([]byte(s.got[0].body), &body))
	var roles []string
	for _, m := range body.Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool assistant" || len(body.Messages[4].Calls) != 1 {
		t.Errorf("messages: %s", s.got[0].body)
	}
	// The operator's key and policy are for Gray Swan's own address.
	if s.got[0].path != "/monitor" || s.got[0].key != "Bearer k3y" || body.Policy != security.GraySwanPolicy {
		t.Errorf("asked %v", s.got[0])
	}
	s = serve(t, `{"violation":0}`)
	if _, err := rate(t, s, strings.Replace(gray, `,"api_key":"k3y"`, "", 1), map[string]string{"GRAYSWAN_API_KEY": "operator"}); err == nil || len(s.got) != 0 {
		t.Errorf("another server got %v", s.got)
	}

	s = serve(t, `{"violation":0}`)
	_, err = rate(t, s, strings.Replace(gray, `}`, `,"history_limit":1,"max_message_chars":10}`, 1), nil)
	must.Succeed(t, err)
	if b := s.got[0].body; !strings.Contains(b, "RULES") || strings.Contains(b, `"one"`) || !strings.Contains(b, "deploy") {
		t.Errorf("shortened: %s", b)
	}

	s = serve(t, `{"id":"c1"}`, `{"monitor_id":"a/b"}`, `[]`)
	_, err = rate(t, s, `{"kind":"InvariantAnalyzer","api_url":"URL","policy":"p"}`, nil)
	must.Succeed(t, err)
	if got := s.got[2]; got.path != "/monitor/a%2Fb/check?session_id=c1" || !strings.Contains(got.body, `"name":"run"`) || !strings.Contains(got.body, `"name":"run_ipython"`) {
		t.Errorf("asked %v", got)
	}
}

// TestNobodyThere names a server that is not there, without the query of its address.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.Close()
	_, err := rate(t, s, `{"kind":"HTTPSecurityAnalyzer","url":"URL/rate?token=hidden"}`, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error %v", err)
	}
}
