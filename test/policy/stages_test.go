package policy_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// stages are packages that become another program, or start one, while they are initialized. Go
// initializes packages as soon as their imports are, so these imports delay each start of a
// sandbox or of a command in it.
var stages = []string{
	"./sandbox/process/internal/inside", "./sandbox/docker/internal/inside", commandStage,
	"./sandbox/internal/earlyshell",
}

// commandStage runs before each command, and before all other modules are initialized:
// paths with "golang.org" come after paths with "github.com", if that is ready.
const commandStage = "./sandbox/internal/signalscope"

// TestStagesImportLittle refuses imports that take long to initialize, or come late in the
// order of paths that decides between packages that could be next.
func TestStagesImportLittle(t *testing.T) {
	t.Parallel()
	for _, stage := range stages {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "list", "-deps", stage)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(stage, err)
		}
		for imported := range strings.FieldsSeq(string(out)) {
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case first == "net", first == "crypto", first == "vendor", first == "regexp", first == "text", imported == "log/slog":
				t.Errorf("%s depends on %s, which delays each start of a sandbox", stage, imported)
			case stage == commandStage && (imported == "fmt" || imported == "golang.org/x/sys/unix"):
				t.Errorf("%s depends on %s, which delays each command", stage, imported)
			case strings.Contains(first, ".") && imported != "golang.org/x/sys/unix" && !strings.HasPrefix(imported, "github.com/deft-dev/deft/"):
				t.Errorf("%s depends on the module of %s, which delays each start of a sandbox", stage, imported)
			}
		}
	}
}

// sandboxModules are the modules in the program of sandboxes, by their users there. Each start
// initializes it two or three times and reads its pages, and each sandbox keeps the tables that
// its packages make then: a module is added only for something that is done inside of sandboxes.
var sandboxModules = map[string]string{
	"github.com/agnivade/levenshtein":    "tool",
	"github.com/aymanbagabas/go-udiff":   "server/executionserver",
	"github.com/bmatcuk/doublestar/v4":   "tool/internal/search",
	"github.com/chromedp/cdproto":        "tool/browser",
	"github.com/fsnotify/fsnotify":       "sandbox/internal/logfile",
	"github.com/go-json-experiment/json": "github.com/chromedp/cdproto",
	"github.com/go-zeromq/zmq4":          "tool/ipython",
	"github.com/goccy/go-yaml":           "skill",
	"github.com/google/uuid":             "event",
	"github.com/pelletier/go-toml/v2":    "sandbox/process",
	"github.com/tidwall/gjson":           "llm",
	"github.com/tidwall/match":           "github.com/tidwall/gjson",
	"github.com/tidwall/pretty":          "github.com/tidwall/gjson",
	"github.com/wlynxg/chardet":          "tool/files",
	"go.starlark.net":                    "tool/workflow",
	"golang.org/x/sync":                  "sandbox/internal/egressproxy",
	"golang.org/x/sys":                   "sandbox/process",
	"golang.org/x/text":                  "tool/files",
	"mvdan.cc/sh/v3":                     "tool/terminal",
}

// TestSandboxProgramLinksLittle refuses a module in the program of sandboxes that nobody has
// weighed.
func TestSandboxProgramLinksLittle(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/deft-sandbox")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{"github.com/deft-dev/deft": true}
	for module := range strings.FieldsSeq(string(out)) {
		if !linked[module] && sandboxModules[module] == "" {
			t.Errorf("the program of sandboxes has the module %s, which each start of a sandbox initializes: do without it there, or name its user in test/policy/stages_test.go", module)
		}
		linked[module] = true
	}
	for module := range sandboxModules {
		if !linked[module] {
			t.Errorf("the program of sandboxes has no module %s: remove it from test/policy/stages_test.go", module)
		}
	}
}
