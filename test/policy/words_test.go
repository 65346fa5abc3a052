package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// metaphors are words that the project has given up for words of the field; each
// has its replacement.
var metaphors = map[string]string{
	"house": "agent server, or project", "outfit": "resources", "turnstile": "limiter", "lump": "chunk",
	"jail": "workspace scope", "door": "handler", "heeded": "active", "overheard": "streamed", "habits": "normalized arguments",
	"workplace": "sandbox, or runtime", "greet": "start", "obey": "apply",
	"floor": "layer, or minimum", "kit": "resources", "heed": "handle", "habit": "normalized arguments", "boxed": "sandboxed", "boxes": "sandboxes",
	"rooms": "packages", "dialect": "format", "stretch": "range, or chunk", "patience": "timeout, or limit", "spot": "location",
}

// metaphor finds them as words and as parts of identifiers.
var metaphor = func() *regexp.Regexp {
	var words, parts []string
	for w := range metaphors {
		words, parts = append(words, w), append(parts, strings.ToUpper(w[:1])+w[1:])
	}
	return regexp.MustCompile(`((?:\b|_)(?:` + strings.Join(words, "|") + `)|(?:` + strings.Join(parts, "|") + `))s?(?:\b|[A-Z_])`)
}()

// metaphorIn returns the metaphor in a line, or "".
func metaphorIn(line string) string {
	if m := metaphor.FindStringSubmatch(line); m != nil {
		return strings.ToLower(strings.TrimPrefix(m[1], "_"))
	}
	return ""
}

// TestPlainWords holds that code says things in the words of the field. Texts in
// quotes may be anything: they can be data.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	for _, file := range files(t, ".go") {
		if strings.HasPrefix(file, "test/policy/") {
			continue
		}
		if w := metaphorIn(filepath.Base(file)); w != "" {
			t.Errorf("%s: the file is named after a %s; say %s", file, w, metaphors[w])
		}
		raw, err := os.ReadFile(filepath.Join(root, file))
		must.Succeed(t, err)
		for i, line := range strings.Split(string(raw), "\n") {
			if w := metaphorIn(quoted.ReplaceAllString(line, "")); w != "" {
				t.Errorf("%s:%d: %s is a metaphor; say %s", file, i+1, w, metaphors[w])
			}
		}
	}
}

// TestMetaphors proves that the rule can fail, and its limits.
func TestMetaphors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"// house is the server": "house", "func openHouse()": "house", "type outfit struct": "outfit", "needs.Outfits": "outfit",
		"newTurnstile()": "turnstile", "agentserver_door.go": "door", "warehouse": "", "inHouseStyle": "house", "lumpy": "", "greeting": "", "doorbell": "",
		"// this stretch of events": "stretch", "floors": "floor", "newKit()": "kit", "// a boxed command": "boxed",
		"sandboxes": "", "kitten": "", "leave room for": "", "spotless": "",
	} {
		if got := metaphorIn(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
