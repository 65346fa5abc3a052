package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// metaphors are words that have no plain meaning in this project, each with
// what to write instead. They are written in the singular; a plural "s" is
// found as well. Texts in quotes are not checked: they may be a user's words or
// part of a protocol.
var metaphors = map[string]string{
	"house":     "agent server",
	"door":      "handler",
	"floor":     "layer, or minimum",
	"outfit":    "resources",
	"kit":       "resources",
	"turnstile": "limiter",
	"lump":      "batch",
	"jail":      "workspace scope",
	"greet":     "start",
	"obey":      "apply",
	"overheard": "received",
	"heed":      "handle",
	"heeded":    "active",
	"habit":     "usual arguments",
	"workplace": "sandbox, or directory",
	"boxed":     "sandboxed",
	"boxes":     "sandboxes",
	"rooms":     "packages",
	"dialect":   "format",
	"stretch":   "range, or chunk",
	"patience":  "timeout, or limit",
	"spot":      "location",
}

// allowedWords are uses of such a word in its plain meaning: the file and the
// word, with the reason.
var allowedWords = map[[2]string]string{}

// metaphor is one use of such a word.
type metaphor struct{ where, word string }

var letters = regexp.MustCompile(`\pL+`)

// metaphorsIn returns the metaphors in a file's name, comments and names.
func metaphorsIn(file, text string) ([]metaphor, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[metaphor]bool{}
	look := func(where, text string) {
		for _, run := range letters.FindAllString(text, -1) {
			for _, part := range nameParts(run) {
				word := strings.ToLower(part)
				if metaphors[word] == "" {
					word = strings.TrimSuffix(word, "s")
				}
				if metaphors[word] != "" {
					found[metaphor{where, word}] = true
				}
			}
		}
	}
	look("file name", strings.TrimSuffix(path.Base(file), ".go"))
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			look(set.Position(c.Pos()).String(), c.Text)
		}
	}
	elsewhere := map[*ast.Ident]bool{} // declared there, perhaps in a library
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			elsewhere[n.Sel] = true
		case *ast.Ident:
			if !elsewhere[n] {
				look(set.Position(n.Pos()).String(), n.Name)
			}
		}
		return true
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b metaphor) int {
		return strings.Compare(a.where+a.word, b.where+b.word)
	}), nil
}

// nameParts splits a name in mixed caps: "newHTTPServer" is new, HTTP and Server.
func nameParts(name string) []string {
	var parts []string
	runes, begin := []rune(name), 0
	for i := 1; i < len(runes); i++ {
		starts := unicode.IsUpper(runes[i]) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			parts, begin = append(parts, string(runes[begin:i])), i
		}
	}
	return append(parts, string(runes[begin:]))
}

// TestWords wants plain words in the names and comments of Go code.
func TestWords(t *testing.T) {
	t.Parallel()
	used := map[[2]string]bool{}
	for _, f := range files(t, ".go") {
		found, err := metaphorsIn(f, read(t, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			if exception := [2]string{f, m.word}; allowedWords[exception] != "" {
				used[exception] = true
				continue
			}
			t.Errorf("%s: %s: %q is a metaphor: write %s", f, m.where, m.word, metaphors[m.word])
		}
	}
	for exception := range allowedWords {
		if !used[exception] {
			t.Errorf("the exception for %v is not needed", exception)
		}
	}
}

// TestWordsFail proves that the rule above can fail.
func TestWordsFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, text string
		want       []string
	}{
		{"a.go", "package a\n\n// The door is open.\nvar x = 1", []string{"door"}},
		{"a.go", "package a\n\nvar x = 1 // two outfits", []string{"outfit"}},
		{"a.go", "package a\n\nfunc newHTTPDoor() {}", []string{"door"}},
		{"a.go", "package a\n\ntype kits struct{ houseKey int }", []string{"house", "kit"}},
		{"a.go", "package a\n\nfunc f(jail int) { for range jail {\n} }", []string{"jail", "jail"}},
		{"agent_house.go", "package a", []string{"house"}},
		{"a.go", "package turnstile", []string{"turnstile"}},
		{"a.go", "package a\n\nvar x = \"the door\"", nil},
		{"a.go", "package a\n\nvar x = math.Floor(1)", nil},
		{"a.go", "package a\n\n// A kitten outdoors.\nvar sandboxes, housekeeping int", nil},
	} {
		found, err := metaphorsIn(c.file, c.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range found {
			got = append(got, m.word)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.file, c.text, diff)
		}
	}
}
