package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// TestRedacted wants no secret of a request in the answer that names its mistake.
func TestRedacted(t *testing.T) {
	t.Parallel()
	type typed struct {
		Token string            `json:"token"`
		Env   map[string]string `json:"env"`
	}
	for _, c := range []struct {
		name  string
		loc   []any
		input any
		want  string
	}{
		{"nested", []any{"body", "agent"}, map[string]any{"kind": "X", "llm": map[string]any{"model": "m", "api_key": "hush"}}, `{"kind":"X","llm":{"api_key":"<redacted>","model":"m"}}`},
		{"list", []any{"body", "servers"}, []any{map[string]any{"Authorization": "hush"}, "open"}, `[{"Authorization":"<redacted>"},"open"]`},
		{"all of it", []any{"body"}, map[string]any{"headers": map[string]any{"X": "hush", "Y": []any{"hush"}}}, `{"headers":{"X":"<redacted>","Y":["<redacted>"]}}`},
		{"typed", []any{"body"}, typed{Token: "hush", Env: map[string]string{"A": "hush"}}, `{"env":{"A":"<redacted>"},"token":"<redacted>"}`},
		{"raw", []any{"body"}, json.RawMessage(`{"password":["hush"]}`), `{"password":"<redacted>"}`},
		{"the field itself", []any{"body", "session_api_keys", 0}, "hush", `"<redacted>"`},
		{"below the field", []any{"body", "secrets", "A"}, "hush", `"<redacted>"`},
		{"deep below it", []any{"body", "llm", "extra_headers", "headers", "X"}, "hush", `"<redacted>"`},
		{"a list below it", []any{"body", "secrets"}, []any{"hush"}, `["<redacted>"]`},
		{"an object below it", []any{"body", "secrets", "A"}, map[string]any{"a": "hush", "b": 7}, `{"a":"<redacted>","b":"<redacted>"}`},
		{"a number below it", []any{"body", "secrets", "A"}, json.Number("48151623"), `"<redacted>"`},
		{"a value", []any{"body", "value"}, json.Number("48151623"), `"<redacted>"`},
		{"how to show who one is", []any{"body", "mcpServers", "a", "auth"}, map[string]any{"strategy": "Bearer", "value": "hush"}, `{"strategy":"<redacted>","value":"<redacted>"}`},
		{"too long", []any{"body", "content"}, strings.Repeat("x", 65<<10), `null`},
		{"too long as a whole", []any{"body", "content"}, slices.Repeat([]any{"xxxxxxxx"}, 10_000), `null`},
		{"not in the body", []any{"path", "settings_key"}, "a b", `"a b"`},
		{"plain", []any{"body", "n"}, 5, `5`},
		{"nothing", []any{"body", "api_key"}, nil, `null`},
		{"no JSON", []any{"body"}, func() {}, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := rest.New(rest.Options{Keys: func() []string { return nil }, Routes: []rest.Route{{
				Method: "POST", Path: "/x", Scope: rest.Account, Handle: func(http.ResponseWriter, *http.Request) error {
					return schema.Violations{{Type: "value_error", Loc: c.loc, Msg: "no", Input: c.input}}
				},
			}}})
			must.Succeed(t, err)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/x", nil))
			var got struct {
				Detail []struct{ Input json.RawMessage }
			}
			body := w.Body.String()
			if err := json.Unmarshal([]byte(body), &got); err != nil || w.Code != 422 || len(got.Detail) != 1 || strings.Contains(body, "hush") {
				t.Fatalf("%d %s", w.Code, body)
			}
			var plain any
			must.Succeed(t, json.Unmarshal(got.Detail[0].Input, &plain))
			var want any
			_ = json.Unmarshal([]byte(c.want), &want)
			a, _ := json.Marshal(plain)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("got %s, want %s", a, b)
			}
		})
	}
}
