package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// maxFile is the largest size of a file of code, in bytes.
const maxFile = 25 << 10

var (
	code    = []string{".go", ".py", ".sh", ".ts", ".tsx", ".css", ".yaml", ".yml", "Makefile"}
	written = append([]string{".md"}, code...)
)

// TestSize keeps files of code small enough to be about one thing. Documents are split
// by topic, not by size.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, f := range files(t, code...) {
		st, err := os.Stat(filepath.Join(root, f))
		must.Succeed(t, err)
		if st.Size() > maxFile {
			t.Errorf("%s has %d bytes, more than %d: split it by what its parts do", f, st.Size(), maxFile)
		}
	}
}

// vagueNames are names that do not tell the content.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "model", "models", "type", "types", "shared", "base"}

// vague reports whether a package or file has such a name.
func vague(file string) bool {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	stem = strings.TrimSuffix(stem, "_test")
	return slices.Contains(vagueNames, path.Base(path.Dir(file))) ||
		slices.Contains(vagueNames, stem) && !slices.Contains(allowedNames, file)
}

// allowedNames are files whose name is the very thing they are about.
var allowedNames = []string{
	"cmd/deft/model.go",                    // flags that choose the LLM
	"eventstream/eventstreamtest/model.go", // the model of a store that the real one is compared with
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, f := range files(t, ".go", ".py", ".sh") {
		if vague(f) {
			t.Errorf("%s: a vague name; name it after what is inside", f)
		}
	}
	for name, want := range map[string]bool{
		"tool/util/x.go": true, "llm/types.go": true, "llm/helpers_test.go": true,
		"event/kind.go": false, "cmd/deft/model.go": false,
	} {
		if got := vague(name); got != want {
			t.Errorf("vague(%s) = %v, want %v", name, got, want)
		}
	}
}

// unfinished matches marks of work left for later.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)

// TestFinished keeps notes to oneself out: an issue is where they belong.
func TestFinished(t *testing.T) {
	t.Parallel()
	for _, f := range files(t, written...) {
		for i, line := range strings.Split(read(t, f), "\n") {
			if mark := unfinished.FindString(line); mark != "" {
				t.Errorf("%s:%d: %s; do it, or open an issue", f, i+1, mark)
			}
		}
	}
	if !unfinished.MatchString("// TO" + "DO: later") {
		t.Error("the pattern matches nothing")
	}
}

// TestPackageComments wants exactly one package comment for each package, which
// describes the package.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	type comment struct{ file, text, name string }
	found := map[string][]comment{}
	all := files(t, ".go")
	for _, f := range all {
		dir := path.Dir(f)
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if strings.HasSuffix(f, "_test.go") && slices.ContainsFunc(all, func(o string) bool {
			return path.Dir(o) == dir && !strings.HasSuffix(o, "_test.go")
		}) {
			if text := commentOf(parsed); text != "" {
				t.Errorf("%s: a test file with a package comment", f)
			}
			continue
		}
		if _, ok := found[dir]; !ok {
			found[dir] = nil
		}
		if text := commentOf(parsed); text != "" {
			found[dir] = append(found[dir], comment{f, text, parsed.Name.Name})
		}
	}
	for dir, cs := range found {
		if len(cs) != 1 {
			t.Errorf("%s has %d package comments, want one: %v", dir, len(cs), cs)
			continue
		}
		name := strings.TrimSuffix(cs[0].name, "_test")
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + path.Base(dir) + " "
		}
		if !strings.HasPrefix(cs[0].text, want) {
			t.Errorf("%s: the package comment does not begin with %q", cs[0].file, want)
		}
	}
}

func commentOf(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}

// TestRunArtefacts keeps a running server's files out of the repository: tests
// give servers directories of their own.
func TestRunArtefacts(t *testing.T) {
	t.Parallel()
	for _, f := range files(t, "") {
		if artefact.MatchString(f) {
			t.Errorf("%s was written by a server: delete it, and let the test use t.TempDir()", f)
		}
	}
	if !artefact.MatchString("test/x/workspace/bash_events/20261121181454187544_BashCommand_aaa20660ee864f90844284706b66d640") || artefact.MatchString("server/agentserver/bash/run.go") {
		t.Error("artefact does not tell artefacts from sources")
	}
}

// TestNoPrograms keeps compiled programs out of the repository, but where git ignores them.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	ignored := strings.Split(read(t, ".gitignore"), "\n")
	for _, f := range files(t, "") {
		if !slices.Contains(ignored, "/"+f) && strings.HasPrefix(read(t, f), "\x7fELF") {
			t.Errorf("%s is a program: delete it, and name it in .gitignore if a command of ours writes it", f)
		}
	}
}

var artefact = regexp.MustCompile(`(^|/)(bash_events|conversations)/[^/]*[0-9a-f]{32}`)
