package workspacescope_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
)

// TestRepeatedPath wants the value that is checked to be the one that is used.
func TestRepeatedPath(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	routes := workspacescope.WorkspaceOf(func(context.Context, string) (workspacescope.Workspace, error) {
		return workspacescope.Directory(ws), nil
	}).Routes([]rest.Route{{
		Method: "GET", Path: "/api/file", Scope: rest.Account, Handle: func(w http.ResponseWriter, r *http.Request) error {
			return rest.JSON(w, http.StatusOK, rest.QueryOf(r).String("path", ""))
		},
	}})
	s, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	for query, want := range map[string]int{
		"path=" + ws: 200, "path=/etc&path=" + ws: 200, "path=" + ws + "&path=/etc": 422, "path=": 422, "": 200,
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/conversations/"+strings.Repeat("0", 32)+"/file?"+query, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "/etc") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// TestQuotes wants the answer to a bad body to quote it, as global routes do.
func TestQuotes(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	routes := workspacescope.WorkspaceOf(func(context.Context, string) (workspacescope.Workspace, error) {
		return workspacescope.Directory(ws), nil
	}).Routes([]rest.Route{{
		Method: "POST", Path: "/api/x", Scope: rest.Account, Handle: func(_ http.ResponseWriter, r *http.Request) error {
			if _, err := rest.Raw(r); err != nil {
				return err
			}
			return schema.Missing("body", "a")
		},
	}})
	s, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/api/conversations/"+strings.Repeat("0", 32)+"/x", strings.NewReader(`{"b":1}`)))
	if w.Code != 422 || !strings.Contains(w.Body.String(), `"input":{"b":1}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
