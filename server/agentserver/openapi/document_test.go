package openapi

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/rest"
)

// all is a table with every operation of the contract, with other names of the
// path's parameters.
func all(t *testing.T) []rest.Route {
	t.Helper()
	c, err := agentServer().unpack()
	must.Succeed(t, err)
	var out []rest.Route
	for k := range c.index() {
		method, path, _ := strings.Cut(k, " ")
		for strings.Contains(path, "{}") {
			path = strings.Replace(path, "{}", "{p"+strconv.Itoa(len(path))+"}", 1)
		}
		out = append(out, rest.Route{Method: method, Path: path, Tag: "T"})
	}
	return out
}

func made(t *testing.T, o Options) object {
	t.Helper()
	doc, err := o.document()
	must.Succeed(t, err)
	raw, err := json.Marshal(doc)
	must.Succeed(t, err)
	var out object
	must.Succeed(t, json.Unmarshal(raw, &out))
	return out
}

// within reports where want is not contained in got: objects may have more
// fields, lists must be equal.
func within(t *testing.T, at string, want, got any) {
	t.Helper()
	w, ok := want.(object)
	g, is := got.(object)
	if !ok || !is {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", at, d)
		}
		return
	}
	for k, v := range w {
		if strings.HasSuffix(at, "/discriminator") && k == "mapping" {
			continue // TestChoices
		}
		if _, ok := g[k]; !ok {
			t.Errorf("%s lacks %s", at, k)
			continue
		}
		if strings.HasSuffix(at, "/422/content/application/json") && k == "schema" {
			if choices, _ := g[k].(object)["anyOf"].([]any); len(choices) == 2 {
				within(t, at+"/"+k, v, choices[0]) // may be a text as well
				continue
			}
		}
		within(t, at+"/"+k, v, g[k])
	}
}

// TestSuperset holds that nothing of the contract is lost.
func TestSuperset(t *testing.T) {
	t.Parallel()
	o := Options{Routes: all(t), Version: "1.58.0"}
	doc := made(t, o)
	c, err := agentServer().unpack()
	must.Succeed(t, err)
	paths, _ := doc["paths"].(object)
	for path, ops := range c.Paths {
		for method, op := range ops {
			got, _ := paths[path].(object)
			within(t, path+"/"+method, op, got[method])
		}
	}
	components, _ := doc["components"].(object)
	schemas, _ := components["schemas"].(object)
	for name, schema := range c.Components.Schemas {
		if strings.HasSuffix(name, "-Output") {
			readable(schema) // the one thing that is taken away
		}
		if got, ok := schemas[name]; ok {
			within(t, name, schema, got)
		} else {
			t.Logf("no operation refers to the schema %s", name)
		}
	}
	if unserved, err := o.Unserved(); err != nil || unserved != nil {
		t.Errorf("unserved: %v, %v", unserved, err)
	}
	if d := cmp.Diff([]string(nil), o.Undescribed()); d != "" {
		t.Error(d)
	}
}

// TestValid checks OpenAPI 3.1's rules for each operation.
func TestValid(t *testing.T) {
	t.Parallel()
	doc := made(t, Options{Routes: all(t), Version: "1.58.0", Path: "/base"})
	components, _ := doc["components"].(object)
	schemas, _ := components["schemas"].(object)
	ids := map[any]string{}
	paths, _ := doc["paths"].(object)
	for path, ops := range paths {
		for method, v := range ops.(object) {
			op, at := v.(object), method+" "+path
			if other := ids[op["operationId"]]; op["operationId"] == nil || other != "" {
				t.Errorf("%s: operationId %v is that of %q", at, op["operationId"], other)
			}
			ids[op["operationId"]] = at
			if s, _ := op["summary"].(string); s == "" || strings.HasSuffix(s, ".") {
				t.Errorf("%s: summary %q", at, s)
			}
			given, _ := op["parameters"].([]any)
			var inPath int
			for _, p := range given {
				if p.(object)["in"] == "path" {
					inPath++
				}
			}
			if want := len(names(path)); inPath != want {
				t.Errorf("%s: %d path parameters described, want %d", at, inPath, want)
			}
			for status, r := range op["responses"].(object) {
				if n, err := strconv.Atoi(status); err != nil || n < 200 || n > 599 || r.(object)["description"] == nil {
					t.Errorf("%s: status %s: %v", at, status, r)
				}
			}
		}
	}
	dangling(t, doc, schemas)
}

// TestOwnRoutes holds that a route which the contract does not have has no member that is null,
// which OpenAPI allows nowhere in an operation.
func TestOwnRoutes(t *testing.T) {
	t.Parallel()
	doc := made(t, Options{Routes: []rest.Route{{Method: "GET", Path: "/own", Tag: "T"}, {Method: "GET", Path: "/own/{id}", Tag: "T"}}})
	paths, _ := doc["paths"].(object)
	for path, want := range map[string][]string{"/own": {"200", "401", "403", "503"}, "/own/{id}": {"200", "401", "403", "404", "422", "503"}} {
		op, _ := paths[path].(object)["get"].(object)
		for member, v := range op {
			if v == nil {
				t.Errorf("%s: %s is null", path, member)
			}
		}
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(op["responses"].(object)))); d != "" {
			t.Errorf("%s: statuses (-want +got):\n%s", path, d)
		}
	}
}

// dangling looks for references to nothing.
func dangling(t *testing.T, v any, schemas object) {
	t.Helper()
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			if schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("refers to nothing: %s", ref)
			}
		}
		for _, item := range v {
			dangling(t, item, schemas)
		}
	case []any:
		for _, item := range v {
			dangling(t, item, schemas)
		}
	}
}

// TestChoices: a discriminator's values are the values of the schemas they lead
// to.
func TestChoices(t *testing.T) {
	t.Parallel()
	doc := made(t, Options{Routes: all(t), Version: "1.58.0"})
	components, _ := doc["components"].(object)
	schemas, _ := components["schemas"].(object)
	policy, _ := schemas["ConfirmationPolicyBase-Input"].(object)
	want := object{"mapping": object{
		"AlwaysConfirm": "#/components/schemas/AlwaysConfirm-Input", "ConfirmRisky": "#/components/schemas/ConfirmRisky-Input",
		"NeverConfirm": "#/components/schemas/NeverConfirm-Input",
	}, "propertyName": "kind"}
	if d := cmp.Diff(want, policy["discriminator"]); d != "" {
		t.Error(d)
	}
}

// TestTable holds that the document is about the table of routes.
func TestTable(t *testing.T) {
	t.Parallel()
	o := Options{Version: "1.58.0", Routes: []rest.Route{
		{Method: "GET", Path: "/api/bash/bash_events/{$}", Tag: "Bash"}, {Method: "GET", Path: "/alive", Scope: rest.Public, Limit: rest.NoBody, Dormant: true},
		{Method: "GET", Path: "/api/conversations/{id}/workspace/{rest...}"}, {Method: "GET", Path: "/hidden", Hidden: true},
		{Method: "PUT", Path: "/api/new/{thing}", Tag: "New"},
	}}
	doc := made(t, o)
	var got []string
	paths, _ := doc["paths"].(object)
	for path := range paths {
		got = append(got, path)
	}
	want := []string{"/alive", "/api/bash/bash_events/", "/api/conversations/{conversation_id}/workspace/{file_path}", "/api/new/{thing}"}
	if d := cmp.Diff(want, sortedCompact(got)); d != "" {
		t.Error(d)
	}
	added, _ := paths["/api/new/{thing}"].(object)["put"].(object)
	responses, _ := added["responses"].(object)
	for _, status := range []string{"200", "401", "404", "422", "503"} {
		if responses[status] == nil {
			t.Errorf("a new route lacks the status %s", status)
		}
	}
	alive, _ := paths["/alive"].(object)["get"].(object)
	if r, _ := alive["responses"].(object); len(r) != 1 {
		t.Errorf("an open route has statuses %v", r)
	}
	if d := cmp.Diff([]string{"PUT /api/new/{}"}, o.Undescribed()); d != "" {
		t.Error(d)
	}
	if missing, err := o.Unserved(); err != nil || len(missing) < 150 || missing[0] != "DELETE /api/agent-profiles/{name}" {
		t.Errorf("unserved: %d %v", len(missing), err)
	}
}

// TestPages wants pages that need nothing but this server.
func TestPages(t *testing.T) {
	t.Parallel()
	h, err := rest.New(rest.Options{Routes: New(Options{Routes: all(t), Version: "1.58.0"}).Routes(), Keys: func() []string { return []string{"k"} }})
	must.Succeed(t, err)
	for path, kind := range map[string]string{"/docs": "text/html; charset=utf-8", "/redoc": "text/html; charset=utf-8", "/openapi.json": "application/json"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if w.Code != 200 || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		if strings.HasPrefix(kind, "text") && !strings.Contains(w.Body.String(), "<title>OpenHands Agent Server</title>") {
			t.Errorf("%s: the title is missing", path)
		}
		if strings.HasPrefix(kind, "text") && strings.Contains(w.Body.String(), "://") {
			t.Errorf("%s refers to another server", path)
		}
		if csp := w.Header().Get("Content-Security-Policy"); strings.HasPrefix(kind, "text") && strings.Count(csp, "sha256-") != 2 {
			t.Errorf("%s: policy %s", path, csp)
		}
	}
}

// TestTitles wants schemas and pages to have the reference's titles.
func TestTitles(t *testing.T) {
	t.Parallel()
	doc := made(t, Options{Routes: all(t), Version: "1.58.0"})
	components, _ := doc["components"].(object)
	schemas, _ := components["schemas"].(object)
	action, _ := schemas["Action"].(object)
	variants, _ := action["oneOf"].([]any)
	if len(variants) < 30 {
		t.Errorf("%d actions", len(variants))
	}
	for _, v := range variants {
		variant, _ := v.(object)
		ref, _ := variant["$ref"].(string)
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if got, _ := schemas[name].(object); got["title"] != name {
			t.Errorf("%s has the title %v", name, got["title"])
		}
	}
	if agent, _ := schemas["Agent-Input"].(object); agent["title"] != "Agent" {
		t.Errorf("an agent has the title %v", agent["title"])
	}
	paths, _ := doc["paths"].(object)
	for path := range paths {
		if strings.Contains(path, "generate_title") {
			t.Errorf("%s is in the document", path)
		}
	}
	info, _ := doc["info"].(object)
	if title, _ := info["title"].(string); title == "" || !strings.Contains(string(page), "<title>"+title) {
		t.Errorf("the page has not the title %s", title)
	}
}
