package policy_test

import (
	"fmt"
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

// TestCitations wants every document that a comment or another document cites
// to be in the repository, with the section that is cited:
// "docs/openhands/sdk-wire.md section 4.1".
func TestCitations(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range files(t, ".go", ".py", ".sh", ".ts", ".tsx", ".md", "Makefile") {
		for _, text := range comments(t, f) {
			for _, c := range citations(text) {
				n++
				if err := c.resolve(f, onDisk); err != nil {
					t.Errorf("%s cites %s: %v", f, c.document, err)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d citations found: the test tests nothing", n)
	}
}

func TestCitationsFail(t *testing.T) {
	t.Parallel()
	documents := func(name string) (string, error) {
		if name == "docs/a.md" || name == "tool/b.md" {
			return "# Title\n\n## 4. Four\n\n### 4.1 Four one\n\n## B. Letter\n\n### B.2 Letter two\n", nil
		}
		return "", os.ErrNotExist
	}
	for _, tt := range []struct {
		text  string
		fails int // citations that do not resolve
		of    int // citations
	}{
		{"docs/a.md section 4.1", 0, 1},
		{"(docs/a.md sections 4 and B.2)", 0, 1},
		{"docs/a.md sections 4, B.2 and 4.1.", 0, 1},
		{"docs/a.md, section B", 0, 1},
		{"docs/a.md", 0, 1},
		{"b.md section 4", 0, 1},
		{"AGENTS.md of the user, RFC 9110 section 5.1", 0, 0},
		{"docs/a.md section 4, Settings", 0, 1},
		{"docs/a.md section 5", 1, 1},
		{"docs/a.md section 4.", 0, 1},
		{"docs/a.md section 4.2", 1, 1},
		{"docs/a.md sections 4 and C", 1, 1},
		{"docs/a.md, trap 0.8", 1, 1},
		{"docs/a.md B.2", 1, 1},
		{"a.md section 4", 1, 1},
		{"gone.md", 1, 1},
		{"docs/gone.md section 4; docs/a.md section 4", 1, 2},
	} {
		found := citations(tt.text)
		if len(found) != tt.of {
			t.Errorf("%q has %d citations, want %d", tt.text, len(found), tt.of)
		}
		fails := 0
		for _, c := range found {
			if c.resolve("tool/x.go", documents) != nil {
				fails++
			}
		}
		if fails != tt.fails {
			t.Errorf("%q: %d citations fail, want %d", tt.text, fails, tt.fails)
		}
	}
}

// citation names a document and, where it says so, its sections.
type citation struct {
	document string
	sections []string
	odd      string // a section in another form than "section X"
}

const sectionName = `(?:[0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*)\b`

var (
	// Documents of the repository have small letters; files that users write,
	// such as AGENTS.md and SKILL.md, have capitals.
	cited = regexp.MustCompile(`(?:^|[\s("'\[])((?:[A-Za-z0-9_.-]+/)*[a-z][a-z0-9.-]*\.md)\b(,? ` +
		`(?:sections? (` + sectionName + `(?:(?:, | and )` + sectionName + `)*)|([0-9]+(?:\.[0-9]+)*\b|[A-Z]\.[0-9]+|trap \S+))?)?`)
	sectionNames = regexp.MustCompile(sectionName)
)

func citations(text string) []citation {
	var out []citation
	for _, m := range cited.FindAllStringSubmatch(text, -1) {
		out = append(out, citation{document: m[1], sections: sectionNames.FindAllString(m[3], -1), odd: m[4]})
	}
	return out
}

// resolve looks for the document from the root of the repository, then beside
// the file that cites it.
func (c citation) resolve(file string, document func(string) (string, error)) error {
	if c.odd != "" {
		return fmt.Errorf("write %q as %q", c.odd, "section X")
	}
	text, err := document(c.document)
	if err != nil {
		if text, err = document(path.Join(path.Dir(file), c.document)); err != nil {
			return fmt.Errorf("not in the repository (docs/openhands has what Deft takes from OpenHands)")
		}
	}
	for _, s := range c.sections {
		heading := regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(s) + `(?:\.? |$)`)
		if !heading.MatchString(text) {
			return fmt.Errorf("it has no section %s", s)
		}
	}
	return nil
}

func onDisk(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, name))
	return string(b), err
}

// comments returns the comments of a file, lines joined; of a document all.
func comments(t *testing.T, file string) []string {
	t.Helper()
	switch text := read(t, file); path.Ext(file) {
	case ".go":
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), text, parser.ParseComments)
		must.Succeed(t, err)
		var out []string
		for _, group := range parsed.Comments {
			out = append(out, strings.Join(strings.Fields(group.Text()), " "))
		}
		return out
	case ".md":
		// Text in code is an example or a file of the user's.
		text = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|(?m)^    .*$").ReplaceAllString(text, "")
		text = regexp.MustCompile(`\[[^\]]*\]\(([^)#\s]+)[^)]*\)`).ReplaceAllString(text, " $1")
		return []string{strings.Join(strings.Fields(text), " ")}
	default:
		var out []string
		for block := range strings.SplitSeq(commentLines(text), "\n\n") {
			out = append(out, strings.Join(strings.Fields(block), " "))
		}
		return out
	}
}

// commentLines keeps the lines of a script that are comments, and an empty line
// for each other one.
func commentLines(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		marked := slices.IndexFunc([]string{"#", "//", "*", "/*", `"""`}, func(mark string) bool {
			return strings.HasPrefix(line, mark)
		})
		if marked < 0 {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, strings.TrimLeft(line, "#/*\" "))
	}
	return strings.Join(lines, "\n")
}
