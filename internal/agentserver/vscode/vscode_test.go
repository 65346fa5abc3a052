package vscode_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/vscode"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	routes := append(vscode.Routes(), vscode.ScopedRoutes(func(context.Context, string) (string, error) { return dir, nil })...)
	h, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	const scoped = "/api/conversations/0000000000000000000000000000000a"
	for _, c := range []struct {
		path   string
		status int
		want   string // what the reference 1.58.0 answers when it is disabled
	}{
		{"/api/vscode/url", 503, `"exception":"503: VSCode is disabled in configuration. Set enable_vscode=true to enable."`},
		{"/api/vscode/status", 200, `{"running":false,"enabled":false,"message":"VSCode is disabled in configuration"}`},
		{scoped + "/vscode/status", 200, `"enabled":false`},
		{scoped + "/vscode/url?workspace_dir=/etc", 422, `{"detail":"workspace_dir must be inside the conversation workspace"}`},
		{scoped + "/vscode/url?workspace_dir=" + dir, 503, `"detail":"Internal Server Error"`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
}
