package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

var (
	securityRow = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \| (held|by design: .+|open) \| (.+) \|$`)
	testedIn    = regexp.MustCompile("^`([a-z0-9/]+)` (.+)$")
)

// TestSecurityTable checks docs/security.md and the pages that go on with it: every case of the review has one row,
// and the tests that it names exist. A case that is open has none.
func TestSecurityTable(t *testing.T) {
	t.Parallel()
	var raw []byte
	for _, name := range []string{"security.md", "security-secrets.md", "security-app-server.md"} {
		one, err := os.ReadFile("../../docs/" + name)
		must.Succeed(t, err)
		raw = append(raw, one...)
	}
	rows := securityRow.FindAllStringSubmatch(string(raw), -1)
	if lines := strings.Count(string(raw), "\n| ") - strings.Count(string(raw), "\n| # |"); len(rows) != lines {
		t.Errorf("%d of %d rows can be read", len(rows), lines)
	}
	seen := map[int]bool{}
	tests := map[string]map[string]bool{}
	for _, row := range rows {
		n, err := strconv.Atoi(row[1])
		if err != nil || seen[n] {
			t.Errorf("number %s: twice, or %v", row[1], err)
		}
		seen[n] = true
		if row[4] == "open" {
			continue
		}
		for part := range strings.SplitSeq(row[5], "; ") {
			m := testedIn.FindStringSubmatch(part)
			if m == nil {
				t.Errorf("row %d: %q names no package and test", n, part)
				continue
			}
			if tests[m[1]] == nil {
				tests[m[1]] = testsOf(t, m[1])
			}
			for name := range strings.SplitSeq(m[2], ", ") {
				if !tests[m[1]][name] {
					t.Errorf("row %d: %s has no %s", n, m[1], name)
				}
			}
		}
	}
	for n := 1; n <= 88; n++ {
		if !seen[n] {
			t.Errorf("case %d of the review has no row", n)
		}
	}
}

// testsOf returns the tests of a package, and its scripts as TestScripts/name.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob("../../" + dir + "/*_test.go")
	must.Succeed(t, err)
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		must.Succeed(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				found[fn.Name.Name] = true
			}
		}
	}
	scripts, err := filepath.Glob("../../" + dir + "/testdata/script/*.txtar")
	must.Succeed(t, err)
	for _, path := range scripts {
		found["TestScripts/"+strings.TrimSuffix(filepath.Base(path), ".txtar")] = true
	}
	return found
}
