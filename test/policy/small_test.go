package policy_test

import (
	"path"
	"strings"
	"testing"
)

// fewLines is the size below which a package that one other package imports is part of that one.
const fewLines = 80

// small has such packages that stay packages, with the reason.
var small = map[string]string{
	"cli/demo":                    "commands and servers are only wired by cmd/deft, and it has files",
	"internal/licenses":           "its text is generated",
	"sandbox/internal/earlyshell": "what it imports decides how early it runs",
	"server/agentserver/project":  "the routes of each subject of the agent server are a package",
	"session/internal/title":      "it has no state, and session is the largest package",
}

// TestSmallPackages holds that a small package has two users, or a reason.
func TestSmallPackages(t *testing.T) {
	t.Parallel()
	lines, users := map[string]int{}, map[string]int{}
	for _, f := range files(t, ".go") {
		if !strings.HasSuffix(f, "_test.go") {
			lines[path.Dir(f)] += strings.Count(read(t, f), "\n")
		}
	}
	all := packages(t)
	for _, p := range all {
		imported := map[string]bool{}
		for _, to := range append(p.Tests, p.Imports...) {
			if to != p.Path && !imported[to] {
				imported[to] = true
				users[to]++
			}
		}
	}
	found := map[string]bool{}
	for _, p := range all {
		if k, _, _ := classify(p.Path); k == program || top(p.Path) == "test" || lines[p.Path] == 0 || lines[p.Path] >= fewLines || users[p.Path] > 1 {
			continue
		}
		found[p.Path] = true
		if small[p.Path] == "" {
			t.Errorf("%s has %d lines and %d users: make it a part of its user, or give a reason in test/policy/small_test.go", p.Path, lines[p.Path], users[p.Path])
		}
	}
	for p := range small {
		if !found[p] {
			t.Errorf("%s has a reason to be small in test/policy/small_test.go, and needs none", p)
		}
	}
}
