package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// TestQuoted: a violation shows the value at its place, and for a missing one the
// object that lacks it, without secrets.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		wrong      schema.Violations
		want       string
	}{
		{"missing", `{"a":1}`, schema.Missing("body", "name"), `{"a":1}`},
		{"missing inside", `{"list":[{},{"a":true}]}`, schema.Missing("body", "list", 1, "name"), `{"a":true}`},
		{"missing in one of several forms", `{"list":[{"a":2}]}`, schema.Missing("body", "list", 0, "TextContent", "text"), `{"a":2}`},
		{"no body", ` `, schema.Missing("body"), `null`},
		{"wrong", `{"a":{"b":[1.50]}}`, schema.Invalid("no", nil, "body", "a", "b", 0), `1.50`},
		{"the whole body", `{"a":"b"}`, schema.Invalid("no", nil, "body"), `{"a":"b"}`},
		{"one form of a value", `{"agent":{"a":"b"}}`, schema.Invalid("no", nil, "body", "agent", "Agent"), `null`},
		{"not there", `{"list":[1]}`, schema.Invalid("no", nil, "body", "list", 1), `null`},
		{"said by itself", `{"a":1}`, schema.Invalid("no", "x", "body", "a"), `"x"`},
		{"of the query", `{"a":1}`, schema.Invalid("no", nil, "query", "a"), `null`},
		{"a secret", `{"api_key":"hush"}`, schema.Invalid("no", nil, "body", "api_key"), `"<redacted>"`},
		{"a missing secret", `{"a":"b"}`, schema.Missing("body", "api_key"), `{"a":"b"}`},
		{"missing below a secret", `{"secrets":{"a":"b"}}`, schema.Missing("body", "secrets", "name"), `{"a":"<redacted>"}`},
		{"below a secret", `{"secrets":{"A":{"kind":"x"}}}`, schema.Invalid("no", nil, "body", "secrets", "A"), `{"kind":"<redacted>"}`},
		{"beside a secret", `{"token":"hush","a":{"value":"hush"},"b":[{"value":1}]}`, schema.Missing("body", "name"), `{"a":{"value":"<redacted>"},"b":[{"value":"<redacted>"}],"token":"<redacted>"}`},
		{"too long to quote", `{"a":"` + strings.Repeat("x", 64<<10) + `"}`, schema.Missing("body", "name"), `null`},
		{"broken", `{"a":`, schema.Missing("body", "name"), `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := rest.New(rest.Options{Keys: func() []string { return nil }, Routes: []rest.Route{{
				Method: "POST", Path: "/x", Scope: rest.Account, Handle: func(_ http.ResponseWriter, r *http.Request) error {
					for range 2 { // the second time it is not read anew
						if raw, err := rest.Raw(r); err != nil || string(raw) != c.body {
							t.Errorf("got %q, %v", raw, err)
						}
					}
					return c.wrong
				},
			}}})
			must.Succeed(t, err)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", strings.NewReader(c.body)))
			var got struct {
				Detail []struct {
					Input json.RawMessage `json:"input"`
				} `json:"detail"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Detail) != 1 {
				t.Fatal(w.Body, err)
			}
			if d := cmp.Diff(c.want, string(got.Detail[0].Input)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
