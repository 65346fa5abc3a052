package openapi_test

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// document is an OpenAPI document: paths, methods, and their descriptions.
type document struct {
	Paths map[string]map[string]struct {
		Summary     string `json:"summary"`
		Unsupported bool   `json:"x-unsupported"`
	} `json:"paths"`
}

// operations are "METHOD path".
func (d document) operations() map[string]bool {
	out := map[string]bool{}
	for path, ops := range d.Paths {
		for method := range ops {
			out[strings.ToUpper(method)+" "+path] = true
		}
	}
	return out
}

// reference returns the operations of the reference.
func reference(t *testing.T) map[string]bool {
	t.Helper()
	f, err := os.Open("../../server/agentserver/openapi/contract.json.gz")
	must.Succeed(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must.Succeed(t, err)
	var d document
	must.Succeed(t, json.NewDecoder(z).Decode(&d))
	return d.operations()
}

var row = regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| ([a-z]+) \\|")

// table returns the states of docs/routes-agent-server.md.
func table(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/routes-agent-server.md")
	must.Succeed(t, err)
	out := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if out[m[1]] != "" {
			t.Errorf("docs/routes-agent-server.md has %s twice", m[1])
		}
		out[m[1]] = m[2]
	}
	return out
}

// TestTable holds docs/routes-agent-server.md to the routes of the binary and of the
// reference.
func TestTable(t *testing.T) {
	t.Parallel()
	url := server(t)
	var doc document
	do(t, "GET", url+"/openapi.json", nil, &doc)
	served, wanted, states := doc.operations(), reference(t), table(t)
	if len(wanted) < 150 || len(states) < len(wanted) {
		t.Fatalf("%d operations of the reference, %d in the table: the test tests nothing", len(wanted), len(states))
	}
	want := map[string]string{}
	for op := range wanted {
		if want[op] = "missing"; served[op] {
			want[op] = "works"
		}
	}
	for op := range served {
		if !wanted[op] {
			want[op] = "ours"
		}
	}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if op.Unsupported {
				want[strings.ToUpper(method)+" "+path] = "unsupported"
			}
		}
	}
	got := maps.Clone(states)
	maps.DeleteFunc(got, func(_, state string) bool { return state == "older" })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/routes-agent-server.md (-want +got):\n%s", d)
	}
	var bare []string
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if op.Summary == "" {
				bare = append(bare, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(bare)
	if d := cmp.Diff([]string(nil), bare); d != "" {
		t.Errorf("operations.txt lacks: %s", d)
	}
}
