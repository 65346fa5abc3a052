package appserver_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver"
)

// operations reads a list of operations, "METHOD path" a line.
func operations(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	must.Succeed(t, err)
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

var (
	row       = regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\| ([a-z]+) \\|")
	parameter = regexp.MustCompile(`\{[^}]*\}`)
)

// TestV0Routes holds docs/routes-v0.md against the routes of the server.
func TestV0Routes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/routes-v0.md")
	must.Succeed(t, err)
	var got, want []string
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		got = append(got, parameter.ReplaceAllString(m[1], "{}"))
	}
	for _, r := range appserver.Routes() {
		if r.Tag == "V0" {
			want = append(want, parameter.ReplaceAllString(r.Method+" "+r.OpenAPIPath(), "{}"))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 14 {
		t.Fatalf("%d routes: the test tests nothing", len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/routes-v0.md (-want +got):\n%s", d)
	}
}
