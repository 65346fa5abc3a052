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
)

// rule limits how often a turn of phrase may stand in comments, in a thousand words.
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

// TestNouns holds comments to nouns: it fails where a folder at the top uses such a
// phrase more often than its limit, and names the files with most of them.
func TestNouns(t *testing.T) {
	t.Parallel()
	words := map[string]int{}
	found := map[string][]int{}
	files, all := files(t, ".go"), map[string][]int{}
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, c := range parsed.Comments {
			text.WriteString(c.Text() + "\n")
		}
		top, _, _ := strings.Cut(path.Dir(f), "/")
		n, phrases := count(text.String())
		words[top] += n
		all[f] = phrases
		if found[top] == nil {
			found[top] = make([]int, len(rules))
		}
		for i := range rules {
			found[top][i] += phrases[i]
		}
	}
	for top := range found {
		for i, r := range rules {
			if found[top][i] < 3 || 1000*float64(found[top][i]) <= r.limit*float64(words[top]) {
				continue
			}
			most := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasPrefix(f, top+"/") || all[f][i] == 0 })
			slices.SortFunc(most, func(a, b string) int { return cmp.Compare(all[b][i], all[a][i]) })
			var list []string
			for _, f := range most[:min(len(most), 8)] {
				list = append(list, fmt.Sprintf("%s (%d)", f, all[f][i]))
			}
			t.Errorf("comments of %s have %q %d times in %d words, more than %.1f in 1,000; say it with a noun: %s",
				top, r.name, found[top][i], words[top], r.limit, strings.Join(list, ", "))
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
