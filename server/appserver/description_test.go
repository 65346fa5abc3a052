package appserver_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver"
	"github.com/deft-dev/deft/server/rest"
)

// TestDescription: /openapi.json has each operation of the server, with the schemas that it
// refers to, and /docs shows it.
func TestDescription(t *testing.T) {
	t.Parallel()
	all := appserver.Routes()
	h, err := rest.New(rest.Options{Routes: all})
	must.Succeed(t, err)
	get := func(path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 {
			t.Fatalf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	text := get("/openapi.json")
	var doc struct {
		Paths      map[string]map[string]struct{ Responses map[string]any }
		Components struct{ Schemas, SecuritySchemes map[string]any }
	}
	must.Succeed(t, json.Unmarshal([]byte(text), &doc))
	found := 0
	for _, ops := range doc.Paths {
		for method, op := range ops {
			found++
			if method == "get" && op.Responses["200"] == nil {
				t.Errorf("%s has no answer", method)
			}
		}
	}
	want := 0
	for _, r := range all {
		if !r.Hidden {
			want++
		}
	}
	if found != want || want < 100 {
		t.Errorf("%d operations, %d routes", found, want)
	}
	for part := range strings.SplitSeq(text, `"#/components/schemas/`) {
		if name, _, ok := strings.Cut(part, `"`); ok && name != "{" && !strings.HasPrefix(part, "{") && doc.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is missing", name)
		}
	}
	if doc.Components.SecuritySchemes["Bearer"] == nil {
		t.Error("nothing says how to sign in")
	}
	if page := get("/docs"); !strings.Contains(page, "openapi.json") || strings.Count(page, ">Deft App Server</") != 2 {
		t.Errorf("the page: %s", page)
	}
}
