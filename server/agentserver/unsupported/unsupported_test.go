package unsupported_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/server/agentserver/unsupported"
	"github.com/deft-dev/deft/server/rest"
)

const here = "11111111-1111-1111-1111-111111111111"

func server(t *testing.T) *rest.Server {
	t.Helper()
	s, err := rest.New(rest.Options{Keys: func() []string { return nil }, Routes: append(unsupported.Extensions(), unsupported.Routes()...)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAnswers compares answers with those of the reference 1.58.0, recorded
// where the features were off. error_id is left out.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const gone = `{"name":"foo","state":"missing","revision":null,"prepared_revision":null,"pid":null,"port":null,"detail":"Canvas App is not installed or its manifest is invalid"}`
	const none = `{"detail":"Canvas extension 'foo' is not installed"}`
	const installed = "/api/canvas-extensions/installed"
	tests := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", installed, "", 200, `{"canvas_extensions":[]}`},
		{"GET", installed + "/foo", "", 404, none}, {"DELETE", installed + "/foo", "", 404, none},
		{"PATCH", installed + "/foo", `{"enabled":true}`, 404, none},
		{"PATCH", installed + "/foo", `{"enabled":null}`, 422, `"bool_type"`},
		{"PATCH", installed + "/foo", "", 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`},
		{"GET", installed + "/Foo_Bar", "", 422, `{"detail":[{"type":"string_pattern_mismatch","loc":["path","extension_name"],"msg":"String should match pattern '^[a-z0-9]+(?:-[a-z0-9]+)*$'","input":"Foo_Bar","ctx":{"pattern":"^[a-z0-9]+(?:-[a-z0-9]+)*$"}}]}`},
		{"GET", installed + "/" + strings.Repeat("a", 256), "", 422, `"string_too_long"`},
		{"GET", installed + "/foo/bundle", "", 404, `{"detail":"Canvas extension 'foo' bundle not found"}`},
		{"GET", installed + "/foo/icon", "", 404, `{"detail":"Canvas extension 'foo' icon not found"}`},
		{"GET", installed + "/foo/backend", "", 200, gone}, {"DELETE", installed + "/foo/backend/data", "", 200, gone},
		{"POST", installed + "/foo/backend/stop", "", 200, gone},
		{"POST", installed + "/foo/backend/start", `{"revision":"a"}`, 200, gone},
		{"POST", installed + "/foo/backend/prepare", `{"revision":7}`, 422, `"string_type"`},
		{"GET", installed + "/foo/backend/logs", "", 200, `"logs":""`},
		{"GET", installed + "/foo/backend/logs?limit_bytes=0", "", 422, `"greater_than_equal"`},
		{"POST", "/api/canvas-extensions/install", "{}", 422, `"loc":["body","source"]`},
		{"POST", "/api/canvas-extensions/install", `{"source":""}`, 422, `{"detail":[{"type":"string_too_short","loc":["body","source"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}]}`},
		{"POST", "/api/canvas-extensions/install", `{"source":"x"}`, 400, "Could not read canvas extension source: "},
		{"POST", "/api/canvas-extensions/install", `null`, 422, `"model_attributes_type"`},
		{"POST", "/api/canvas-extensions/install", `[]`, 422, `"detail"`},
		{"POST", "/app-backends/foo/session", "", 503, "503: Canvas App backend ingress is not configured"},
		{"DELETE", "/app-backends/foo/session", "", 503, "ingress"}, {"PUT", "/app-backends/foo/a/b", "", 503, "ingress"},
		{"POST", "/api/acp/models", `{"agent_settings":{}}`, 200, `"code":"ACPSpawnError"`},
		{"POST", "/api/acp/models", `{"agent_settings":7}`, 422, `"dict_type"`},
		{"PUT", "/api/conversations/" + here + "/credential-bindings/foo", `{"url":"http://x","headers":{}}`, 404, `{"detail":"Not Found"}`},
		{"PUT", "/api/conversations/" + here + "/credential-bindings/PI_AUTH_JSON", `{"url":"http://x","headers":{}}`, 501, "unsupported"},
	}
	s := server(t)
	for _, tt := range tests {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body)))
		got, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if w.Code != tt.status || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s %s %s\n got %d %s\nwant %d %s", tt.method, tt.path, tt.body, w.Code, got, tt.status, tt.want)
		}
		if strings.HasPrefix(tt.want, "{") {
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("%s %s: %s", tt.method, tt.path, d)
			}
		}
	}
}
