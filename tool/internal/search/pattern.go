package search

import (
	"path"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deft-dev/deft/fault"
)

// Bounds on patterns: every choice in braces can double the time of a match.
const (
	maxPattern = 1000
	maxChoices = 8
)

// Pattern is a glob pattern for paths relative to a root.
type Pattern struct {
	text string
	base bool // without a slash: it matches names at any depth
}

// ParsePattern reads a glob pattern: * and ? within a name, ** for any
// number of directories, [abc] and {a,b}. A pattern without a slash is
// compared with file names at any depth, any other with the whole path. The
// error is of kind fault.Invalid.
func ParsePattern(s string) (Pattern, error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), "./")
	switch {
	case text == "":
		return Pattern{}, fault.New(fault.Invalid, "the pattern is empty; to match every file write **")
	case len(text) > maxPattern || strings.Count(text, "{") > maxChoices:
		return Pattern{}, fault.New(fault.Invalid, "the glob pattern is too long, or has more than "+strconv.Itoa(maxChoices)+" choices in braces")
	case !doublestar.ValidatePattern(text):
		return Pattern{}, fault.New(fault.Invalid, "the glob pattern "+s+" is not valid: a [ or { is not closed, or it ends in a backslash")
	case text == ".." || strings.HasPrefix(text, "../") || strings.Contains(text, "/../"):
		return Pattern{}, fault.New(fault.Invalid, "the pattern must not lead out of the search path; give the directory as path instead")
	}
	text = strings.TrimSuffix(text, "/")
	return Pattern{text: text, base: !strings.Contains(text, "/")}, nil
}

// SplitAbsolute splits an absolute pattern into the directory that its
// constant part names and the rest.
func SplitAbsolute(s string) (dir, rest string) { return doublestar.SplitPattern(s) }

// Match reports whether the relative path rel matches.
func (p Pattern) Match(rel string) bool {
	if p.base {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(p.text, rel)
	return err == nil && ok
}
