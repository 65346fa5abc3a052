package agentserver

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/rest"
)

// TestCanvasExtensions compares answers with the reference 1.58.0 without
// extensions.
func TestCanvasExtensions(t *testing.T) {
	t.Parallel()
	s, err := rest.New(rest.Options{Keys: func() []string { return nil }, Routes: canvasExtensions()})
	must.Succeed(t, err)
	const installed, install = "/api/canvas-extensions/installed", "/api/canvas-extensions/install"
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", installed, "", 200, `{"canvas_extensions":[]}`},
		{"GET", installed + "/foo", "", 404, `{"detail":"Not Found"}`},
		{"POST", install, "{}", 422, `"loc":["body","source"]`},
		{"POST", install, `{"source":""}`, 422, `{"detail":[{"type":"string_too_short","loc":["body","source"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}]}`},
		{"POST", install, `{"source":"x"}`, 400, "Could not read canvas extension source: "},
		{"POST", install, `null`, 422, `"model_attributes_type"`},
		{"POST", install, `[]`, 422, `"detail"`},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body)))
		got, err := io.ReadAll(w.Body)
		must.Succeed(t, err)
		if w.Code != tt.status || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s %s %s\n got %d %s\nwant %d %s", tt.method, tt.path, tt.body, w.Code, got, tt.status, tt.want)
		}
	}
}
