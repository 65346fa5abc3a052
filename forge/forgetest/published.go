package forgetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Published is the body of an answer that test/deps/forges.sh (`make deps`) has fetched.
// The test is skipped where that is missing, or fails if CI=true.
func Published(t *testing.T, name string) json.RawMessage {
	t.Helper()
	return read(t, filepath.Join(Dependency(t, "forges"), filepath.FromSlash(name)))
}

// GoSCM is the body of an answer in testdata/go-scm.
func GoSCM(t *testing.T, name string) json.RawMessage {
	t.Helper()
	return read(t, filepath.Join("..", "forgetest", "testdata", "go-scm", filepath.FromSlash(name)))
}

func read(t *testing.T, file string) json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile(file)
	must.Succeed(t, err)
	return raw
}

// Recorded are the exchanges of a recording of nock (https://github.com/nock/nock), as
// @octokit/fixtures publishes them. Addresses below scope become those below base, which
// may have {base} in it.
func Recorded(t *testing.T, name, scope, base string) (all []Exchange) {
	t.Helper()
	var records []struct {
		Method   string          `json:"method"`
		Path     string          `json:"path"`
		Status   int             `json:"status"`
		Response json.RawMessage `json:"response"`
		Headers  map[string]any  `json:"headers"`
	}
	if err := json.Unmarshal(Published(t, name), &records); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	at := func(s string) string { return strings.ReplaceAll(s, scope, base) }
	for _, r := range records {
		e := Exchange{
			Request: strings.ToUpper(r.Method) + " " + strings.TrimPrefix(base, "{base}") + r.Path, Status: r.Status,
			Header: map[string]string{}, Body: json.RawMessage(at(string(r.Response))),
		}
		for k, v := range r.Headers {
			if text, ok := v.(string); ok && slices.Contains([]string{"location", "link", "content-type"}, k) {
				e.Header[k] = at(text)
			}
		}
		all = append(all, e)
	}
	return all
}

// Document is an OpenAPI document.
type Document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Parameters map[string]parameter `json:"parameters"`
		Examples   map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	} `json:"components"`
}

type parameter struct {
	Name string `json:"name"`
	In   string `json:"in"`
	Ref  string `json:"$ref"`
}

type operation struct {
	Parameters  []parameter `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

type schema struct {
	Required   []string          `json:"required"`
	Properties map[string]any    `json:"properties"`
	OneOf      []json.RawMessage `json:"oneOf"`
}

// OpenAPI reads a document that [Published] finds.
func OpenAPI(t *testing.T, name string) *Document {
	t.Helper()
	var d Document
	must.Succeed(t, json.Unmarshal(Published(t, name), &d))
	return &d
}

// Example is one of the document's.
func (d *Document) Example(t *testing.T, name string) json.RawMessage {
	t.Helper()
	e, ok := d.Components.Examples[name]
	if !ok {
		t.Fatalf("the document has no example %s", name)
	}
	return e.Value
}

// Check fails the test if the document does not describe a request: its path, a parameter of
// its query, or a field of its body.
func (d *Document) Check(t *testing.T, line string, body []byte) {
	t.Helper()
	method, rest, _ := strings.Cut(line, " ")
	path, query, _ := strings.Cut(normal(rest), "?")
	at := ""
	for template, operations := range d.Paths {
		if _, ok := operations[strings.ToLower(method)]; ok && matches(template, path) && (at == "" || strings.Count(template, "{") < strings.Count(at, "{")) {
			at = template
		}
	}
	if at == "" {
		t.Errorf("the document has no %s %s", method, path)
		return
	}
	var op operation
	must.Succeed(t, json.Unmarshal(d.Paths[at][strings.ToLower(method)], &op))
	for one := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(one, "=")
		if name != "" && !slices.ContainsFunc(op.Parameters, func(p parameter) bool {
			if i := strings.LastIndex(p.Ref, "/"); i >= 0 {
				p = d.Components.Parameters[p.Ref[i+1:]]
			}
			return p.In == "query" && p.Name == name
		}) {
			t.Errorf("%s %s has no parameter %s", method, at, name)
		}
	}
	want := op.RequestBody.Content["application/json"].Schema
	var fields map[string]any
	if len(body) == 0 {
		return
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if len(want.OneOf) > 0 { // the first one is an object
		must.Succeed(t, json.Unmarshal(want.OneOf[0], &want))
	}
	for name := range fields {
		if _, ok := want.Properties[name]; !ok {
			t.Errorf("%s %s has no field %s", method, at, name)
		}
	}
	for _, name := range want.Required {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s %s needs the field %s", method, at, name)
		}
	}
}

// matches reports whether a path is one of a template. A parameter called path may have
// slashes.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	for i, w := range want {
		switch {
		case w == "{path}":
			return len(got) >= i // an empty one, too
		case i >= len(got) || !strings.HasPrefix(w, "{") && w != got[i]:
			return false
		}
	}
	return len(want) == len(got)
}

// Dependency returns the folder that `make deps` has installed under a name. Where it is
// missing the test is skipped, or fails if CI=true.
func Dependency(t *testing.T, name string) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		must.Succeed(t, err)
		cache = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(cache, "deft-deps", name)
	if _, err := os.Stat(filepath.Join(dir, "version")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed; run make deps", name)
		}
		t.Skipf("%s is not installed; run make deps", name)
	}
	return dir
}
