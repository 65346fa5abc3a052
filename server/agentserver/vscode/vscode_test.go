package vscode_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/vscode"
	"github.com/deft-dev/deft/server/rest"
)

const (
	here = "11111111-1111-1111-1111-111111111111"
	gone = "22222222-2222-2222-2222-222222222222"
)

type editor struct {
	has, runs bool
	err       error
}

func (e editor) State(context.Context, string) (bool, bool, error) { return e.has, e.runs, e.err }

func (e editor) Open(_ *http.Request, conversation string) (string, error) {
	return "http://editor/" + conversation, e.err
}

// TestAnswers has the answers of the reference 1.58.0 where VS Code is switched off.
func TestAnswers(t *testing.T) {
	t.Parallel()
	none := fault.New(fault.NotFound, "the sandbox is paused")
	tests := []struct {
		name   string
		editor vscode.Editor
		path   string
		status int
		want   string
	}{
		{"off", nil, "/api/vscode/status", 200, `{"running":false,"enabled":false,"message":"VSCode is disabled in configuration"}`},
		{"off", nil, "/api/vscode/url", 503, `"exception":"503: VSCode is disabled in configuration. Set enable_vscode=true to enable."`},
		{"off", nil, "/api/conversations/" + here + "/vscode/status", 200, `"enabled":false`},
		{"off", nil, "/api/conversations/" + gone + "/vscode/url", 404, "Conversation not found"},
		{"off", nil, "/api/conversations/zz/vscode/url", 422, `"uuid_parsing"`},
		{"runs", editor{has: true, runs: true}, "/api/vscode/status", 200, `{"running":true,"enabled":true,"message":null}`},
		{"runs", editor{has: true, runs: true}, "/api/vscode/url", 200, `{"url":"http://editor/"}`},
		{"not yet", editor{has: true}, "/api/conversations/" + here + "/vscode/status", 200, `{"running":false,"enabled":true,"message":null}`},
		{"not yet", editor{has: true}, "/api/conversations/" + here + "/vscode/url", 200, `{"url":"http://editor/` + strings.ReplaceAll(here, "-", "") + `"}`},
		{"not yet", editor{has: true}, "/api/conversations/" + gone + "/vscode/status", 404, "Conversation not found"},
		{"no program", editor{}, "/api/vscode/status", 200, `{"running":false,"enabled":false,"message":"the sandbox has no VS Code"}`},
		{"paused", editor{err: none}, "/api/vscode/status", 200, `"message":"the sandbox is paused"`},
		{"paused", editor{err: none}, "/api/vscode/url", 503, `"exception":"503: the sandbox is paused"`},
		{"broken", editor{err: errors.New("x")}, "/api/vscode/url", 500, ""},
		{"broken", editor{err: errors.New("x")}, "/api/vscode/status", 500, ""},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.path, func(t *testing.T) {
			t.Parallel()
			s, err := rest.New(rest.Options{Keys: func() []string { return nil }, Routes: vscode.Routes(vscode.Options{
				Editor: test.editor,
				Find: func(_ context.Context, id string) error {
					if id == strings.ReplaceAll(here, "-", "") {
						return nil
					}
					return rest.Fail(404, "Conversation not found: "+id)
				},
			})})
			must.Succeed(t, err)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", test.path, nil))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.want)
			}
		})
	}
}
