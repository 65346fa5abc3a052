package policy_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layers orders the domains; an import may only point to a lower layer. A new
// domain is given its layer here and its paragraph in ARCHITECTURE.md.
var layers = map[string]int{
	"fault": 0, "internal/landlock": 0, "internal/lazyregexp": 0, "internal/memo": 0, "internal/oauthtest": 0, "internal/must": 0, "internal/wait": 0, "internal/acptest": 0, "internal/optional": 0, "internal/pieces": 0, "internal/rawjson": 0, "internal/testtree": 1, "internal/textfile": 0, "internal/realpath": 0, "internal/addresses": 0, "internal/cookies": 0, "internal/peer": 1, "internal/ratelimit": 0, "internal/zipfile": 0, "internal/visible": 0, "internal/licenses": 0, "internal/sqlitelog": 0, "internal/sqlitefile": 0, "internal/startpages": 0, "internal/sgr": 0, "web": 0,
	"event": 1, "schema": 1, "internal/spawn": 1, "internal/keyring": 1, "internal/filelock": 1, "internal/workspacedir": 1, "internal/gitlimit": 1, "internal/gitfetch": 2, "internal/registryhosts": 1, "internal/tomlfile": 1, "internal/outbound": 1, "internal/objectstore": 1,
	"tool/files":  1, // tools read and change files with it
	"eventstream": 2, "llm": 2, "tool": 2, "secret": 2, "skill": 2, "internal/worktree": 2, "gitview": 2, "checkpoint": 2, "job": 2,
	"spec":            3, // llm's settings
	"state":           3, // what a conversation cost is in llm's metrics
	"workspace":       3, // shows repositories, loads skills
	"critic":          4, // described by spec
	"memoryfile":      3, // neutralizes text as skills
	"security":        3, // masks secrets; settings offer its presets
	"hook":            4, // described by spec's contract
	"forge":           3, // tokens are llm's secrets
	"server/v0event":  4, // of state and events
	"server/mcplogin": 1, // of strings and addresses
	"cli/mcplogins":   10,
	"cli/acpserve":    8, // a client of session
	"cli/mcpserve":    8, // a client of session
	"server/rest":     2, // shared by the routes of all servers
	"settings":        4,
	"callback":        4, // processors use forges
	"confirmation":    4, // words what security rated, of a state
	"executor":        4, "memory": 4, "runtime": 4, "sandbox": 4,
	"agent":                5,
	"subagent":             5, // describes hooks, and limits of spec's contract
	"plugin/gitsource":     3, // fetches with gitfetch
	"plugin/installed":     4, // fetches with gitsource
	"plugin":               6, // has agents
	"controller":           6,
	"session":              7,
	"internal/portforward": 2,
	"identity":             1,
	"identity/oidc":        2,
	"internal/oidctest":    0,
	"cli/console":          7,
	"cli/custombuild":      1,
	"cli/runcommand":       8, // a client of session
	"cli/doctor":           8,
	"server/view":          8, // a client of session
	"server/ports":         8, // programs in sandboxes of session
	"cli/listing":          8,
	"cli/stdio":            9,
	"cli/conversations":    10, // commands, which use stdio
	"cli/modellist":        10,
	"cli/plugins":          10,
	"cli/profile":          10,
	"cli/sandboxes":        10,
	"cli/serveconfig":      10,
	"cli/settingsimport":   10,
	"cli/shell":            10,
	"cli/undo":             10,
	"cli/modelchoice":      11, // opens profiles
	"cli/completion":       11, // offers the lists of other commands
}

// serverLayers are the layers inside the agent server. A package that serves
// routes is in layer 2 and imports no other one. A new package gets its
// layer here; one below a package that has a layer has the same.
var serverLayers = map[string]int{
	"config":       0,
	"installation": 1, "workspacescope": 1,
	"bash": 2, "conversation": 2, "deferredinit": 2, "files": 2, "gateway": 2, "git": 2, "info": 2,
	"acpmodels": 2, "mcp": 2, "openapi": 2, "plugins": 2, "project": 2, "settings": 2, "skills": 2, "vscode": 2, "webhook": 2,
	"socket": 3, // follows commands of bash
	"":       4, // the server itself
}

// appServerLayers are those inside the App Server, in the same way.
var appServerLayers = map[string]int{
	"store": 0, "config": 0,
	"sandboxes": 1, "callbacks": 1, "conversations": 2, // domain
	"v1": 3, "v0": 3, "apps": 3, "plugins": 3, "settings": 3, "git": 3, "mcpserver": 3, "signin": 3,
	"": 4, // the server itself
}

const (
	agentServer = "server/agentserver"
	appServer   = "server/appserver"
)

// inside has the layers inside each server that has some.
var inside = map[string]map[string]int{agentServer: serverLayers, appServer: appServerLayers}

// serverLayer returns the layer of a package inside its server.
func serverLayer(server, p string) (layer int, ok bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(p, server), "/")
	for {
		if layer, ok = inside[server][name]; ok || name == "" {
			return layer, ok
		}
		if name = path.Dir(name); name == "." {
			return 0, false
		}
	}
}

// serverObjection says why one package of a server may not import another, or "".
func serverObjection(server, from, to string) string {
	fromLayer, fromOK := serverLayer(server, from)
	toLayer, toOK := serverLayer(server, to)
	switch {
	case !fromOK || !toOK:
		return "has no layer in " + server + ": give it one in test/policy/layers_test.go"
	case strings.HasPrefix(from, to+"/") && to != server:
		return "imports the package that it is a part of"
	case strings.HasPrefix(to, from+"/") && from != server:
		return "" // its own part
	case toLayer >= fromLayer:
		return fmt.Sprintf("is in layer %d of %s and imports its layer %d", fromLayer, server, toLayer)
	}
	return ""
}

// servers is the layer of the packages below server/ and cli/ without one of their own.
const servers = 9

// parts are packages below a domain that its adapters share. They are
// imported like the domain itself; folders named internal are parts as well.
var parts = []string{
	"llm/broker",            // wraps the models of any adapter
	"llm/catalog",           // data about models
	"llm/probe",             // asks any model for its abilities
	"llm/structured",        // asks any model
	"llm/texttools",         // reads calls in the text of any model
	"sandbox/bootstrap",     // the assignment of the program of any provider's sandbox
	"sandbox/pool",          // keeps sandboxes of any provider
	"forge/exchange",        // the requests of all git hosts
	"workspace/link",        // the wire form that client and server agree on
	"runtime/protocol",      // the wire form that client and server agree on
	"sandbox/tunnel",        // how client and server reach each other through HTTP
	"tool/editor",           // planeditor is it with a guard
	"tool/terminal/ahead",   // a shell that starts before its terminal
	"sandbox/image",         // images for sandboxes, by any builder
	"eventstream/openhands", // files of conversations, of any store
}

// trees are domains of several packages, which may import one another.
var trees = []string{"settings"}

// withoutHTTP are packages, with all below them, that import neither net/http nor
// server/rest: they work the same for every way in, and their errors carry kinds
// instead of statuses.
var withoutHTTP = []string{"schema", "spec", "settings", "session", "cli/doctor", "cli/listing", "sandbox/bootstrap", "sandbox/pool", "server/runtimeapi/registry", "server/runtimeapi/builds",
	"server/appserver/store", "server/appserver/sandboxes", "server/appserver/callbacks", "server/appserver/conversations", "internal/gitfetch", "callback"}

// routers link the adapters of some domains to choose one by name. Like
// adapters, they are imported by programs only.
var routers = map[string][]string{
	"llm/route":       {"llm"},
	"forge/route":     {"forge"},
	"cli/modelchoice": {"llm", "session"}, // of commands; only cmd/deft imports it
	"session/build":   {"agent", "critic", "executor", "llm", "runtime", "sandbox", "security", "tool"},
	// Programs inside of sandboxes.
	"executor/standard":           {"executor", "sandbox", "tool"},
	"tool/builtin":                {"tool"},
	"runtime/standardserver":      {"executor", "runtime", "sandbox"},
	"server/executionserver/host": {"executor", "runtime", "sandbox", "tool"},
}

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
// packages, its layer and the domain it belongs to.
func classify(p string) (k kind, layer int, of string) {
	top, _, _ := strings.Cut(p, "/")
	switch {
	case top == "cmd", top == "examples":
		return program, 0, ""
	case top == "test", strings.HasSuffix(path.Base(p), "test"):
		return fortests, 0, ""
	}
	for of = p; of != "."; of = path.Dir(of) {
		layer, ok := layers[of]
		switch {
		case !ok:
			continue
		case of == p:
			return domain, layer, of
		case slices.Contains(trees, of):
			return domain, layer, of
		case slices.Contains(parts, p), strings.Contains(p, "/internal/"):
			return part, layer, of
		}
		return adapter, layer, of
	}
	if rest, ok := strings.CutPrefix(p, top+"/"); ok && (top == "server" || top == "cli") { // the packages of a server are below its folder
		name, _, _ := strings.Cut(rest, "/")
		return server, servers, top + "/" + name
	}
	return unknown, 0, ""
}

// objection says why from may not import to, or "".
func objection(from, to string, byTest bool) string {
	fromKind, fromLayer, fromDomain := classify(from)
	toKind, toLayer, toDomain := classify(to)
	switch {
	case fromKind == unknown:
		return "has no layer: give it one in test/policy/layers_test.go"
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
		if slices.Contains(routers[from], toDomain) {
			return ""
		}
		return "imports an adapter: only programs and tests may"
	case fromDomain == toDomain && inside[fromDomain] != nil:
		return serverObjection(fromDomain, from, to)
	case from == appServer && to == agentServer:
		return "" // it serves the agent server's contract for each of its sandboxes
	case fromDomain == toDomain:
		if fromKind == domain && toKind == part && !strings.Contains(to, "/internal/") {
			return "imports a part of itself that its adapters share"
		}
		return ""
	case fromKind == adapter || fromKind == part:
		if toLayer > fromLayer {
			return fmt.Sprintf("is in layer %d and imports layer %d", fromLayer, toLayer)
		}
		return ""
	case toLayer >= fromLayer:
		return fmt.Sprintf("is in layer %d and imports layer %d", fromLayer, toLayer)
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
		if p.HTTP && below(withoutHTTP, p.Path) {
			out = append(out, p.Path+" → net/http: must not depend on HTTP")
		}
		for _, to := range p.Imports {
			if to == "server/rest" && below(withoutHTTP, p.Path) {
				out = append(out, p.Path+" → "+to+": must not depend on HTTP")
			}
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

// below reports whether a package is one of some, or in a folder below one.
func below(packages []string, p string) bool {
	return slices.ContainsFunc(packages, func(one string) bool { return p == one || strings.HasPrefix(p, one+"/") })
}

// TestImports checks that imports point to lower layers and that adapters are leaves.
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
		{"controller", "runtime/sandboxed", false},
		{"controller", "eventstream/sqlite", false},
		{"runtime/actionserver", "runtime/protocol", true},
		{"runtime/actionserver", "runtime/remote", false},
		{"runtime/actionserver", "runtime/sandboxed", false},
		{"server/agentserver/bash", "server/rest", true},
		{"server/agentserver", "runtime/sandboxed", false},
		{"server/agentserver/bash", "server/agentserver/files", false},
		{"server/agentserver/bash", "server/agentserver/workspacescope", true},
		{"server/agentserver/socket", "server/agentserver/bash", true},
		{"server/agentserver/bash", "server/agentserver/socket", false},
		{"server/rest", "server/agentserver/files", false},
		{"server/rest", "server/agentserver", false},
		{"server/agentserver", "server/agentserver/socket", true},
		{"server/agentserver/skills", "server/agentserver/installation", true},
		{"server/agentserver/settings/llmlist", "server/agentserver/settings", false},
		{"server/agentserver/newthing", "server/agentserver/config", false},
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
		{"llm/modeltest", "internal/llmtest", true},
		{"llm/openai", "llm/modeltest", false},
		{"cmd/deft", "sandbox/process", true},
		{"session", "controller", true},
		{"session", "sandbox/process", false},
		{"session", "server/rest", false},
		{"session", "session/build", false},
		{"session/build", "sandbox/process", true},
		{"session/build", "eventstream/sqlite", false},
		{"server/agentserver", "session", true},
		{"server/agentserver", "session/build", false},
		{"server/appserver", "server/agentserver", true},
		{"server/appserver/v1", "server/agentserver", false},
		{"server/agentserver", "server/appserver", false},
		{"server/appserver/v1", "server/appserver/conversations", true},
		{"server/appserver/conversations", "server/appserver/v1", false},
		{"server/appserver/store", "server/appserver/sandboxes", false},
		{"server/appserver/v0", "server/appserver/v1", false},
		{"server/agentserver/conversation", "session", true},
		{"settings", "session", false},
		{"cli/doctor", "sandbox", true},
		{"cli/doctor", "sandbox/process", false},
		{"cli/listing", "session", true},
		{"cli/listing", "eventstream/sqlite", false},
		{"llm/probe", "llm/broker", true},
		{"llm/probe", "llm/route", false},
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

// TestHTTPRule proves that the rule about HTTP can fail.
func TestHTTPRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg     pkg
		allowed bool
	}{
		{pkg{Path: "spec"}, true},
		{pkg{Path: "spec", HTTP: true}, false},
		{pkg{Path: "schema", HTTP: true}, false},
		{pkg{Path: "settings/launch", HTTP: true}, false},
		{pkg{Path: "settings/launch", Imports: []string{"settings/profiles"}}, true},
		{pkg{Path: "settings", Imports: []string{"server/rest"}}, false},
		{pkg{Path: "server/agentserver/settings", HTTP: true, Imports: []string{"server/rest", "settings"}}, true},
		{pkg{Path: "llm", HTTP: true}, true},
	} {
		if got := len(objections([]pkg{c.pkg})) == 0; got != c.allowed {
			t.Errorf("%+v allowed: %v, want %v", c.pkg, got, c.allowed)
		}
	}
}
