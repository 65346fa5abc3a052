package policy_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// floors says how high each domain stands; an import may only point to a
// lower floor. A new domain gets its floor here and its paragraph in
// ARCHITECTURE.md.
var floors = map[string]int{
	"fault": 0, "internal/spawn": 0, "internal/memo": 0,
	"event": 1, "schema": 1, "internal/keyring": 1,
	"eventstream": 2, "llm": 2, "tool": 2, "secret": 2, "skill": 2, "internal/lease": 2, "internal/worktree": 2,
	"spec":     3, // llm's settings
	"state":    3, // what a conversation cost is in llm's metrics
	"executor": 4, "memory": 4, "runtime": 4, "sandbox": 4, "security": 4,
	"agent":      5,
	"controller": 6,
}

// servers is the floor of everything else below internal/.
const servers = 7

// parts are packages below a domain that its adapters share. They are
// imported like the domain itself; folders named internal are parts as well.
var parts = []string{
	"llm/broker",       // wraps the models of any adapter
	"llm/catalog",      // data about models
	"llm/structured",   // asks any model
	"runtime/protocol", // the wire form that client and server agree on
}

// routers link the adapters of one domain to choose one by name. Like
// adapters, they are imported by programs only.
var routers = map[string]string{"llm/route": "llm"}

// kind is the role of a package.
type kind int

const (
	unknown kind = iota
	domain
	part     // of a domain, shared by its adapters
	adapter  // a leaf: one technology behind a domain's interface
	server   // a role of the product
	fortests // for tests only
	program  // cmd and examples
)

// classify returns a package's role and, for all but programs and test
// packages, its floor and the domain it belongs to.
func classify(p string) (k kind, floor int, of string) {
	top, _, _ := strings.Cut(p, "/")
	switch {
	case top == "cmd", top == "examples":
		return program, 0, ""
	case top == "test", strings.HasSuffix(path.Base(p), "test"):
		return fortests, 0, ""
	}
	for of = p; of != "."; of = path.Dir(of) {
		floor, ok := floors[of]
		switch {
		case !ok:
			continue
		case of == p:
			return domain, floor, of
		case slices.Contains(parts, p), strings.Contains(p, "/internal/"):
			return part, floor, of
		}
		return adapter, floor, of
	}
	if top == "internal" { // the rooms of a server are below its folder
		name, _, _ := strings.Cut(strings.TrimPrefix(p, "internal/"), "/")
		return server, servers, "internal/" + name
	}
	return unknown, 0, ""
}

// objection says why from may not import to, or "".
func objection(from, to string, byTest bool) string {
	fromKind, fromFloor, fromDomain := classify(from)
	toKind, toFloor, toDomain := classify(to)
	switch {
	case fromKind == unknown:
		return "has no floor: give it one in test/policy/layers_test.go"
	case toKind == unknown:
		return "" // reported where it is the importer, or below
	case byTest, fromKind == fortests:
		return ""
	case toKind == fortests:
		if from == "cmd/deft" && to == "internal/llmtest" {
			return "" // `deft dev scripted-llm` serves it
		}
		return "is not a test, and must not import a package for tests"
	case toKind == program:
		return "imports a program"
	case strings.HasPrefix(from, "examples/"):
		if strings.Contains("/"+to+"/", "/internal/") {
			return "is an example, and must import only what another module can"
		}
		return ""
	case fromKind == program:
		return ""
	case toKind == adapter:
		if routers[from] == toDomain {
			return ""
		}
		return "imports an adapter: only programs and tests may"
	case fromDomain == toDomain:
		if fromKind == domain && toKind == part && !strings.Contains(to, "/internal/") {
			return "imports a part of itself that its adapters share"
		}
		return ""
	case fromKind == adapter || fromKind == part:
		if toFloor > fromFloor {
			return fmt.Sprintf("stands at floor %d and imports floor %d", fromFloor, toFloor)
		}
		return ""
	case toFloor >= fromFloor:
		return fmt.Sprintf("stands at floor %d and imports floor %d", fromFloor, toFloor)
	}
	return ""
}

func objections(all []pkg) []string {
	var out []string
	for _, p := range all {
		if k, _, _ := classify(p.Path); k == unknown {
			out = append(out, p.Path+" "+objection(p.Path, p.Path, false))
			continue
		}
		for _, to := range p.Imports {
			if why := objection(p.Path, to, false); why != "" {
				out = append(out, p.Path+" → "+to+": "+why)
			}
		}
		for _, to := range p.Tests {
			if why := objection(p.Path, to, true); why != "" {
				out = append(out, p.Path+" (test) → "+to+": "+why)
			}
		}
	}
	return out
}

// TestImports holds arrows to lower floors, and adapters to be leaves.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, o := range objections(packages(t)) {
		t.Error(o)
	}
}

// TestImportRules proves that the rules above can fail.
func TestImportRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"event", "fault", true},
		{"fault", "event", false},
		{"llm", "event", true},
		{"state", "llm", true},
		{"llm", "state", false},
		{"llm", "tool", false},
		{"controller", "agent", true},
		{"agent", "controller", false},
		{"controller", "internal/workplace", false},
		{"controller", "eventstream/sqlite", false},
		{"internal/actionserver", "runtime/protocol", true},
		{"internal/actionserver", "runtime/remote", false},
		{"internal/actionserver", "internal/workplace", false},
		{"internal/agentserver/bash", "internal/agentserver/rest", true},
		{"internal/agentserver", "internal/workplace", false},
		{"runtime/local", "executor", true},
		{"tool/editor", "executor", false},
		{"tool/glob", "tool/grep", false},
		{"tool/glob", "tool/internal/search", true},
		{"llm", "llm/catalog", false},
		{"llm/openai", "llm/catalog", true},
		{"llm/openai", "llm/anthropic", false},
		{"llm/route", "llm/anthropic", true},
		{"llm/route", "tool/glob", false},
		{"llm/broker", "llm/route", false},
		{"llm/registry", "llm/broker", true},
		{"llm/modeltest", "internal/llmtest", true},
		{"llm/openai", "llm/modeltest", false},
		{"cmd/deft", "sandbox/process", true},
		{"cmd/deft", "internal/llmtest", true},
		{"cmd/deft", "runtime/runtimetest", false},
		{"examples/ownaction", "tool/editor", true},
		{"examples/ownaction", "fault", true},
		{"newthing", "event", false},
	} {
		got := len(objections([]pkg{{Path: c.from, Imports: []string{c.to}}})) == 0
		if diff := cmp.Diff(c.allowed, got); diff != "" {
			t.Errorf("%s → %s allowed (-want +got):\n%s", c.from, c.to, diff)
		}
	}
}
