package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/deft-dev/deft/internal/must"
)

func TestLicense(t *testing.T) {
	t.Parallel()
	if text := read(t, "LICENSE"); !strings.HasPrefix(text, "MIT License\n") || !strings.Contains(text, "The Deft authors") {
		t.Error("LICENSE is not the MIT licence of the Deft authors")
	}
}

// TestTour wants every package of the product in ARCHITECTURE.md, or in
// CONTRIBUTING.md if it is one of tests.
func TestTour(t *testing.T) {
	t.Parallel()
	text := read(t, "ARCHITECTURE.md") + read(t, "docs/servers.md") + read(t, "CONTRIBUTING.md")
	for _, p := range packages(t) {
		if !strings.Contains(text, "`"+p.Path+"`") {
			t.Errorf("ARCHITECTURE.md does not name `%s`", p.Path)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\s*[-|*] *`([a-z][a-z/]*)`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("ARCHITECTURE.md describes %s, which does not exist", m[1])
		}
	}
}

// tourEntry is a heading of a layer in ARCHITECTURE.md, another heading, or a domain below one.
var tourEntry = regexp.MustCompile("(?m)^(?:### Layer (\\d+)|#|- `([a-z][a-z0-9/]*)`)")

// TestTourLayers wants each domain below the heading of its layer.
func TestTourLayers(t *testing.T) {
	t.Parallel()
	heading, found := "", 0
	for _, m := range tourEntry.FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1) {
		layer, known := layers[m[2]]
		switch {
		case m[2] == "":
			heading = m[1]
		case heading != "" && known:
			if found++; strconv.Itoa(layer) != heading {
				t.Errorf("ARCHITECTURE.md has %s in layer %s; it is in layer %d", m[2], heading, layer)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d domains found: the test tests nothing", found)
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// TestLinks wants relative links in documents to lead somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, f), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(root, path.Dir(f), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", f, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no links found: the test tests nothing")
	}
}

// TestCommandLine wants every flag, command and environment variable of the
// program in docs/cli.md, or in the page of the App Server.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/cli.md") + read(t, "docs/profiles.md") + read(t, "docs/app-server.md")
	n := 0
	for _, f := range files(t, ".go") {
		if path.Dir(f) != "cmd/deft" || strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, word := range commandWords(t, f) {
			n++
			if !strings.Contains(text, word) {
				t.Errorf("%s: docs/cli.md does not mention %s", f, word)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d flags and commands found: the test tests nothing", n)
	}
}

// commandWords returns the words that users can type or set, from struct tags.
func commandWords(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	must.Succeed(t, err)
	var words []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil || len(field.Names) != 1 {
			return true
		}
		raw, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		tag := reflect.StructTag(raw)
		_, help := tag.Lookup("help")
		_, arg := tag.Lookup("arg")
		_, cmd := tag.Lookup("cmd")
		_, hidden := tag.Lookup("hidden")
		name := tag.Get("name")
		if name == "" {
			name = kebab(field.Names[0].Name)
		}
		switch {
		case !help || arg || hidden:
		case cmd:
			words = append(words, name)
		default:
			words = append(words, "`--"+name)
		}
		if env := tag.Get("env"); env != "" {
			words = append(words, "`"+env+"`")
		}
		return true
	})
	return words
}

// kebab turns MaxCost into max-cost.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// TestExitCodes wants the table of docs/cli.md to have the codes of
// fault.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/cli.md")
	codes := regexp.MustCompile(`(?m)^\s*Exit\w+\s*= (\d+)`).FindAllStringSubmatch(read(t, "fault/codes.go"), -1)
	if len(codes) == 0 {
		t.Fatal("no exit codes found")
	}
	for _, c := range codes {
		if !strings.Contains(text, "\n| "+c[1]+" |") {
			t.Errorf("docs/cli.md has no row for exit code %s", c[1])
		}
	}
}

// changeWords is the most words of one change in CHANGELOG.md.
const changeWords = 25

// TestChangelog wants one short bullet for each change, and the sections of Keep a
// Changelog.
func TestChangelog(t *testing.T) {
	t.Parallel()
	n := 0
	for i, line := range strings.Split(read(t, "CHANGELOG.md"), "\n") {
		switch {
		case strings.HasPrefix(line, "- "):
			n++
			if words := len(strings.Fields(line)) - 1; words > changeWords {
				t.Errorf("CHANGELOG.md:%d: a change of %d words, more than %d", i+1, words, changeWords)
			}
		case strings.HasPrefix(line, "### ") && !slices.Contains([]string{"Added", "Changed", "Fixed"}, line[4:]):
			t.Errorf("CHANGELOG.md:%d: %q is not Added, Changed or Fixed", i+1, line[4:])
		case strings.HasPrefix(line, "  "):
			t.Errorf("CHANGELOG.md:%d: a change has one line", i+1)
		}
	}
	if n == 0 {
		t.Error("no changes found: the test tests nothing")
	}
}
