package skill

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Activation is the skills that a message or a file activated.
type Activation struct {
	Names []string // in the order of the skills
	// Text is added for the model; empty when nothing was activated.
	Text string
}

// Match returns the keyword and task skills that a user's message activates,
// without those in skip, which were activated before.
func Match(skills []Skill, message string, skip []string) Activation {
	var a Activation
	var b strings.Builder
	message = strings.ToLower(message)
	for _, s := range skills {
		word := s.word(message)
		if word == "" || slices.Contains(skip, s.Name) {
			continue
		}
		a.Names = append(a.Names, s.Name)
		fmt.Fprintf(&b, "\n<EXTRA_INFO>\nThis was added because the message mentions %q. It may or may not matter for what the user wants.\n", word)
		if s.Source != nil {
			fmt.Fprintf(&b, "\nSkill location: %s\n(relative file names below are relative to its directory)\n", *s.Source)
		}
		fmt.Fprintf(&b, "\n%s\n</EXTRA_INFO>\n", neutral(s.Content))
	}
	a.Text = b.String()
	return a
}

// word returns the first keyword that stands in the message as a whole word.
func (s Skill) word(message string) string {
	if s.Trigger == nil || s.Trigger.Type == Path {
		return ""
	}
	for _, w := range s.Trigger.Words {
		if contains(message, strings.ToLower(w)) {
			return w
		}
	}
	return ""
}

// contains reports whether word stands in text with no letter or digit beside
// it, so that git is not in github.
func contains(text, word string) bool {
	if word == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !alphanumeric(text[i-1])) && (end == len(text) || !alphanumeric(text[end])) {
			return true
		}
		from = i + 1
	}
}

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// MatchPath returns the path rules for a file that a tool touched, without
// those in skip. file is relative to the workspace, with slashes, see
// [Touched].
func MatchPath(skills []Skill, file string, skip []string) Activation {
	var a Activation
	var blocks []string
	for _, s := range skills {
		if file == "" || s.Trigger == nil || s.Trigger.Type != Path || slices.Contains(skip, s.Name) {
			continue
		}
		i := slices.IndexFunc(s.Trigger.Words, func(glob string) bool { return Glob(glob, file) })
		if i < 0 {
			continue
		}
		a.Names = append(a.Names, s.Name)
		block := fmt.Sprintf("<EXTRA_INFO>\nThis rule is for files that match %q, and you touched one. Follow it while you work on such files.\n", s.Trigger.Words[i])
		if s.Source != nil {
			block += "Rule location: " + *s.Source + "\n"
		}
		blocks = append(blocks, block+"\n"+neutral(s.Content)+"\n</EXTRA_INFO>")
	}
	a.Text = strings.Join(blocks, "\n")
	return a
}

// Touched returns a tool's path relative to the workspace, with slashes, or ""
// for one outside of it.
func Touched(workspace, file string) string {
	if file == "" {
		return ""
	}
	if !filepath.IsAbs(file) {
		return path.Clean(filepath.ToSlash(file))
	}
	for _, f := range []func(string) (string, error){
		func(s string) (string, error) { return s, nil },
		filepath.EvalSymlinks, // a workspace that is reached through a link
	} {
		root, err1 := f(workspace)
		at, err2 := f(file)
		if err1 != nil || err2 != nil {
			continue
		}
		rel, err := filepath.Rel(root, at)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// globs keeps compiled patterns. It is emptied when it is full.
var globs struct {
	sync.Mutex
	known map[string]*regexp.Regexp
}

const (
	maxGlobs = 512
	maxGlob  = 1000 // bytes of one pattern
)

// Glob reports whether a path with slashes matches a pattern as in .gitignore:
// ** is any number of directories, * and ? stay within one name, and a pattern
// without a slash matches the name in any directory.
func Glob(pattern, file string) bool {
	if pattern == "" || len(pattern) > maxGlob {
		return false
	}
	globs.Lock()
	re := globs.known[pattern]
	if re == nil {
		if len(globs.known) >= maxGlobs || globs.known == nil {
			globs.known = map[string]*regexp.Regexp{}
		}
		re = compileGlob(pattern)
		globs.known[pattern] = re
	}
	globs.Unlock()
	return re.MatchString(file)
}

func compileGlob(pattern string) *regexp.Regexp {
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	b := []byte(`(?s)^`)
	for len(pattern) > 0 {
		switch {
		case strings.HasPrefix(pattern, "**/"):
			b, pattern = append(b, `(?:.*/)?`...), pattern[3:]
		case strings.HasPrefix(pattern, "**"):
			b, pattern = append(b, `.*`...), pattern[2:]
		case pattern[0] == '*':
			b, pattern = append(b, `[^/]*`...), pattern[1:]
		case pattern[0] == '?':
			b, pattern = append(b, `[^/]`...), pattern[1:]
		default:
			n := strings.IndexAny(pattern, "*?")
			if n < 0 {
				n = len(pattern)
			}
			b, pattern = append(b, regexp.QuoteMeta(strings.ToValidUTF8(pattern[:n], "\uFFFD"))...), pattern[n:]
		}
	}
	return regexp.MustCompile(string(append(b, '$')))
}
