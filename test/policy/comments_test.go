package policy_test

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// rule limits how often a turn of phrase may stand in comments and documents, in a thousand words.
type rule struct {
	name  string
	find  *regexp.Regexp
	limit float64
}

// rules are about phrases that make a reader search for the noun.
var rules = []rule{
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), 0.5},
	{"what …", regexp.MustCompile(`(?i)\bwhat\b`), 1.5},
}

var word = regexp.MustCompile(`[A-Za-z']+`)

// count counts the words of a text, and the phrases of each rule.
func count(text string) (words int, phrases []int) {
	for _, r := range rules {
		phrases = append(phrases, len(r.find.FindAllString(text, -1)))
	}
	return len(word.FindAllString(text, -1)), phrases
}

// tsComment is a comment of TypeScript to the end of its line.
var tsComment = regexp.MustCompile(`(?m)(?:^|[\s;{}(),])//(.*)$`)

// texts returns the text of comments by file, and of documents.
func texts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range files(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f), nil, parser.ParseComments|parser.SkipObjectResolution)
		must.Succeed(t, err)
		var text strings.Builder
		for _, c := range parsed.Comments {
			text.WriteString(c.Text() + "\n")
		}
		out[f] = text.String()
	}
	for _, f := range files(t, ".ts", ".tsx") {
		var text strings.Builder
		for _, m := range tsComment.FindAllStringSubmatch(read(t, f), -1) {
			text.WriteString(m[1] + "\n")
		}
		out[f] = text.String()
	}
	for _, f := range files(t, ".md") {
		if top(f) == f || top(f) == "docs" || f == "web/README.md" { // others are for models
			out[f] = read(t, f)
		}
	}
	return out
}

// top is the first folder of a file, or a file at the top.
func top(file string) string {
	first, _, _ := strings.Cut(file, "/")
	return first
}

// TestNouns holds comments and documents to nouns: it fails where the comments of a folder at
// the top, or a document, use such a phrase more often than its limit, and names the files with
// most of them.
func TestNouns(t *testing.T) {
	t.Parallel()
	words, found := map[string]int{}, map[string][]int{}
	all, members := map[string][]int{}, map[string][]string{}
	for f, text := range texts(t) {
		group := top(f)
		if path.Ext(f) == ".md" {
			group = f
		}
		n, phrases := count(text)
		words[group] += n
		all[f] = phrases
		members[group] = append(members[group], f)
		if found[group] == nil {
			found[group] = make([]int, len(rules))
		}
		for i := range rules {
			found[group][i] += phrases[i]
		}
	}
	for group := range found {
		for i, r := range rules {
			if found[group][i] < 3 || 1000*float64(found[group][i]) <= r.limit*float64(words[group]) {
				continue
			}
			most := slices.DeleteFunc(slices.Clone(members[group]), func(f string) bool { return all[f][i] == 0 })
			slices.SortFunc(most, func(a, b string) int { return cmp.Compare(all[b][i], all[a][i]) })
			var list []string
			for _, f := range most[:min(len(most), 8)] {
				list = append(list, fmt.Sprintf("%s (%d)", f, all[f][i]))
			}
			t.Errorf("%s has %q %d times in %d words, more than %.1f in 1,000; say it with a noun: %s",
				group, r.name, found[group][i], words[group], r.limit, strings.Join(list, ", "))
		}
	}
}

// TestPhrases proves that the rules find their phrases, and nothing else.
func TestPhrases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"// The address is that of the host, and those of its parts.": {2, 0},
		"// What it says is what they want.":                          {0, 2},
		"// It knows that often, and somewhat.":                       {0, 0},
	} {
		if _, got := count(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
