package hostile_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// operation is one of the document's.
type operation struct {
	method, path string
	fields       []string // of its body
	body         bool
	documented   map[string]bool
}

type schema struct {
	Ref        string                     `json:"$ref"`
	Properties map[string]json.RawMessage `json:"properties"`
	AnyOf      []schema                   `json:"anyOf"`
	AllOf      []schema                   `json:"allOf"`
}

// operations reads the binary's own document.
func (v *victim) operations(t *testing.T) []operation {
	t.Helper()
	_, raw := v.do(t, "GET", "/openapi.json", nil)
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
			Responses map[string]json.RawMessage
		}
		Components struct{ Schemas map[string]schema }
	}
	must.Succeed(t, json.Unmarshal(raw, &doc))
	var out []operation
	for path, item := range doc.Paths {
		for method, op := range item {
			o := operation{method: strings.ToUpper(method), path: path, documented: map[string]bool{}}
			for status := range op.Responses {
				o.documented[status] = true
			}
			for _, c := range op.RequestBody.Content {
				o.body = true
				o.fields = append(o.fields, fieldsOf(doc.Components.Schemas, c.Schema, 0)...)
			}
			slices.Sort(o.fields)
			o.fields = slices.Compact(o.fields)
			out = append(out, o)
		}
	}
	if len(out) < 100 {
		t.Fatalf("the document has %d operations", len(out))
	}
	slices.SortFunc(out, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return out
}

func fieldsOf(all map[string]schema, s schema, depth int) (out []string) {
	if depth > 5 {
		return nil
	}
	if s.Ref != "" {
		out = fieldsOf(all, all[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], depth+1)
	}
	for name := range s.Properties {
		out = append(out, name)
	}
	for _, part := range slices.Concat(s.AnyOf, s.AllOf) {
		out = append(out, fieldsOf(all, part, depth+1)...)
	}
	return out
}

// never are operations that have their effect with any input: they end the
// server's use for the others.
func never(o operation) bool {
	return o.path == "/api/init" || o.path == "/api/bash/bash_events" && o.method == "DELETE"
}

var param = regexp.MustCompile(`\{[^}]+\}`)

// shot is one request.
type shot struct {
	op   operation
	path string // escaped
	body []byte
}

// fire sends requests, some at a time, and checks every answer against the contract.
func (v *victim) fire(t *testing.T, shots []shot) {
	t.Helper()
	todo := make(chan shot)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for s := range todo {
				v.hit(t, s)
			}
		})
	}
	for _, s := range shots {
		todo <- s
	}
	close(todo)
	all.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	t.Logf("%d requests, answers by status: %v", len(shots), v.answers)
	// A client that is refused proves nothing.
	if n := v.answers[http.StatusUnauthorized]; n > 0 || v.answers[http.StatusUnprocessableEntity] < 100 {
		t.Errorf("%d requests were not let in; the others met %v", n, v.answers)
	}
}

func (v *victim) hit(t *testing.T, s shot) {
	what := s.op.method + " " + s.path + " " + string(s.body[:min(len(s.body), 120)])
	r, err := http.NewRequestWithContext(t.Context(), s.op.method, v.url, bytes.NewReader(s.body))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	r.URL.Opaque = "//" + v.host + s.path // as it is, not cleaned
	r.Header.Set("X-Session-API-Key", v.key)
	r.Header.Set("Authorization", "Bearer "+v.key) // the gateway's
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	v.mu.Lock()
	v.answers[resp.StatusCode]++
	v.mu.Unlock()
	v.judge(t, what, s.op, resp, answer)
}

// anywhere are statuses that a request gets before it reaches an operation.
var anywhere = []int{301, 307, 308, 400, 404, 405, 413, 422}

func (v *victim) judge(t *testing.T, what string, op operation, resp *http.Response, answer []byte) {
	status := resp.StatusCode
	if !op.documented[strconv.Itoa(status)] && !slices.Contains(anywhere, status) {
		t.Errorf("%s: undocumented %d: %.300s", what, status, answer)
		return
	}
	if status >= 500 && status != http.StatusNotImplemented && status != http.StatusServiceUnavailable {
		t.Errorf("%s: %d: %.300s", what, status, answer)
	}
	if bytes.Contains(answer, []byte("root:x:0:")) {
		t.Errorf("%s: the answer has the machine's users", what)
	}
	if status < 400 || op.method == http.MethodHead || strings.HasPrefix(op.path, "/v1") {
		return
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(answer, &body) != nil || len(body["detail"]) == 0 {
		t.Errorf("%s: %d has no detail: %.300s", what, status, answer)
	}
}

// climbs are path traversals as values of path parameters, escaped.
var climbs = []string{
	"..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
	"../../../../../../etc/passwd", "%2fetc%2fpasswd", "..", "%2e%2e", ".", "..%5c..%5cetc", "..%252f..%252fetc%252fpasswd",
	"%00", "a%00b", "%ff%fe", "%0d%0aX-Evil:%201", "%7Bid%7D", "*", "%20", "-rf", "%24(id)", "'%20or%201=1",
	"00000000-0000-0000-0000-000000000000", strings.Repeat("a", 5000),
}

// TestPaths puts path traversals into every parameter of every path.
func TestPaths(t *testing.T) {
	t.Parallel()
	v := start(t, "a-key-of-the-test")
	var shots []shot
	for _, op := range v.operations(t) {
		if !strings.Contains(op.path, "{") || never(op) {
			continue
		}
		for _, c := range climbs {
			shots = append(shots, shot{op, param.ReplaceAllLiteralString(op.path, c), []byte("{}")})
		}
	}
	v.fire(t, shots)
	v.small(t)
}

// bodies are request bodies that no operation accepts or that take long to read.
var bodies = []string{
	"", "{", "}", "null", "[]", `"x"`, "1", "true", `{"a":`, "\x00", "\xff\xfe{}", `{"kind":"Nobody"}`, "{}{}", "{},",
	`{"a":1e999}`, "NaN", `{"a":"\ud800"}`, strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 20_000),
	`{"` + strings.Repeat("k", 100_000) + `":1}`,
}

// values are the values of fields.
var values = []string{
	"null", "true", "-1", "1e400", "99999999999999999999", `""`, `"a\u0000b"`, `"../../../../etc/passwd"`, `"\ud800"`, "[]", "[null]",
	"{}", `{"kind":"Nobody"}`, `[{"kind":7}]`,
}

// TestBodies sends every operation that takes a body bodies that it cannot take.
func TestBodies(t *testing.T) {
	t.Parallel()
	v := start(t, "a-key-of-the-test")
	id := v.conversation(t)
	var shots []shot
	for _, op := range v.operations(t) {
		if !op.body || never(op) {
			continue
		}
		path := strings.ReplaceAll(op.path, "{conversation_id}", id)
		path = param.ReplaceAllLiteralString(path, "x")
		for _, b := range bodies {
			shots = append(shots, shot{op, path, []byte(b)})
		}
		for i, field := range op.fields {
			for j := range values { // not all values for all fields: they are many
				if (i+j)%3 == 0 {
					shots = append(shots, shot{op, path, []byte(`{"` + field + `":` + values[j] + `}`)})
				}
			}
		}
	}
	v.fire(t, shots)
	v.small(t)
}
