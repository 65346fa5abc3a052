package appserver_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/server/appserver"
)

// operations reads a list of operations, "METHOD path" a line.
func operations(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

var (
	row       = regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| ([a-z]+) \\|")
	parameter = regexp.MustCompile(`\{[^}]*\}`)
)

// TestV0Routes holds docs/routes-v0.md against the operations of the contract, of
// OpenHands' page, and of the server.
func TestV0Routes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/routes-v0.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if got[m[1]] != "" {
			t.Errorf("docs/routes-v0.md has %s twice", m[1])
		}
		got[m[1]] = m[2]
	}
	served := map[string]bool{}
	for _, r := range appserver.Routes() {
		served[parameter.ReplaceAllString(r.Method+" "+r.OpenAPIPath(), "{}")] = true
	}
	want := map[string]string{}
	for _, op := range slices.Concat(operations(t, "v0_operations.txt"), operations(t, "v0_page_operations.txt")) {
		if want[op] = "later"; served[parameter.ReplaceAllString(op, "{}")] {
			want[op] = "done"
		}
	}
	if len(served) < 50 || len(want) < 70 || !slices.Contains(slices.Collect(maps.Values(want)), "later") {
		t.Fatalf("%d routes, %d operations: the test tests nothing", len(served), len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/routes-v0.md (-want +got):\n%s", d)
	}
}
