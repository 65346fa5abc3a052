package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/internal/must"
)

// TestEveryCommandHasAScript wants a script in testdata/script that runs each
// command.
func TestEveryCommandHasAScript(t *testing.T) {
	t.Parallel()
	var g grammar
	parser, err := kong.New(&g, kong.Name("deft"), sandboxVars())
	must.Succeed(t, err)
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	var all strings.Builder
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		must.Succeed(t, err)
		all.Write(text)
	}
	commands := parser.Model.Leaves(true)
	if len(commands) < 20 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, c := range commands {
		if path := aliases.ReplaceAllString(c.FullPath(), ""); !runs(all.String(), path) {
			t.Errorf("no script runs `%s`", path)
		}
	}
}

// aliases are other names of a command, which kong writes behind its name.
var aliases = regexp.MustCompile(` \([^)]*\)`)

// runs reports whether a script runs a command, given by its words. $DEFT is a static
// binary, for scripts with containers.
func runs(script, command string) bool {
	script = strings.ReplaceAll(script, "$DEFT", "deft")
	return regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(command) + `( |$)`).MatchString(script)
}

// TestRuns proves that the test above can fail.
func TestRuns(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"deft llm cost": true, "exit 2 deft llm cost --json\n": true, "exec $DEFT llm cost\n": true, "deft llm costs\n": false, "deft llm\ncost\n": false, "# llm cost\n": false,
	} {
		if runs(script, "deft llm cost") != want {
			t.Errorf("%q: want %v", script, want)
		}
	}
}
