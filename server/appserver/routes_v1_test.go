package appserver_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver"
)

// TestV1Routes holds docs/routes-v1.md against the operations of the contract and of the
// server.
func TestV1Routes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/routes-v1.md")
	must.Succeed(t, err)
	got := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		op := parameter.ReplaceAllString(m[1], "{}")
		if got[op] != "" {
			t.Errorf("docs/routes-v1.md has %s twice", m[1])
		}
		got[op] = m[2]
	}
	want := map[string]string{}
	for _, r := range appserver.Routes() {
		if strings.HasPrefix(r.Path, "/api/v1/") || strings.HasPrefix(r.Path, "/oauth/device/") {
			want[parameter.ReplaceAllString(r.Method+" "+r.OpenAPIPath(), "{}")] = "done"
		}
	}
	served := len(want)
	for _, op := range operations(t, "v1_operations.txt") {
		if want[parameter.ReplaceAllString(op, "{}")] != "done" {
			t.Errorf("%s is not served", op)
		}
	}
	if served < 60 || len(want) < 66 {
		t.Fatalf("%d routes, %d operations: the test tests nothing", served, len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/routes-v1.md (-want +got):\n%s", d)
	}
}
