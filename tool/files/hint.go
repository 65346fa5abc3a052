package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Bounds on the search for text that is similar to an old text.
const (
	maxHintLines = 50_000
	maxHintShow  = 8
)

// NotFound returns the error for a text that is not in the file, with the
// most similar one. argument is its name in the call.
func NotFound(argument, path, text, old string) error {
	base := fmt.Sprintf("%s is not in %s to the letter; nothing was changed.", argument, path)
	all := strings.Split(text, "\n")
	all = all[:min(len(all), maxHintLines)]
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if numbered(want) {
		return Refuse("%s It seems to hold the line numbers that are shown, which are not part of the file.", base)
	}
	if at := sameButSpace(all, want); at >= 0 {
		return Refuse("%s Lines %d to %d differ from it only in white space (%s):\n%s", base, at+1, at+len(want),
			spaceKind(all[at:at+len(want)], want), quoteLines(all, at, len(want)))
	}
	if !strings.Contains(old, "\n") && strings.Contains(old, `\n`) &&
		strings.Contains(text, strings.ReplaceAll(old, `\n`, "\n")) {
		return Refuse(`%s It holds \n as two characters where the file has a line break.`, base)
	}
	if at := nearest(all, want); at >= 0 {
		return Refuse("%s The nearest is at line %d:\n%s", base, at+1, quoteLines(all, at, len(want)))
	}
	return Refuse("%s View the file to see what is there.", base)
}

var lineNumber = lazyregexp.New(`^\s*\d+\t`)

func numbered(want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !lineNumber().MatchString(w) })
}

// squeeze removes all white space, so that lines compare by the rest.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// sameButSpace finds the lines that equal want apart from white space, or -1.
func sameButSpace(all, want []string) int {
	key := make([]string, len(want))
	blank := true
	for i, w := range want {
		key[i] = squeeze(w)
		blank = blank && key[i] == ""
	}
	if blank || len(want) > len(all) {
		return -1
	}
	squeezed := make([]string, len(all))
	for i, a := range all {
		squeezed[i] = squeeze(a)
	}
	for i := 0; i+len(key) <= len(squeezed); i++ {
		if squeezed[i] == key[0] && slices.Equal(squeezed[i:i+len(key)], key) {
			return i
		}
	}
	return -1
}

// spaceKind names the difference in white space.
func spaceKind(have, want []string) string {
	for i := range want {
		h, w := have[i], want[i]
		if h == w {
			continue
		}
		indentH, indentW := h[:len(h)-len(strings.TrimLeft(h, " \t"))], w[:len(w)-len(strings.TrimLeft(w, " \t"))]
		switch {
		case strings.Contains(indentH, "\t") != strings.Contains(indentW, "\t"):
			return "tabs and spaces"
		case indentH != indentW:
			return "indentation"
		case strings.TrimRight(h, " \t") == strings.TrimRight(w, " \t"):
			return "spaces at the end of a line"
		}
		return "spaces within a line"
	}
	return "blank lines around it"
}

// nearest finds the line most similar to the longest line of want, and returns
// where want would start then; -1 if no line is similar.
func nearest(all, want []string) int {
	longest := 0
	for i, w := range want {
		if len(strings.TrimSpace(w)) > len(strings.TrimSpace(want[longest])) {
			longest = i
		}
	}
	target := strings.TrimSpace(want[longest])
	if len(target) < 4 {
		return -1
	}
	best, score := -1, 0.5
	for i, a := range all {
		if s := similarity(strings.TrimSpace(a), target); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return -1
	}
	return max(0, best-longest)
}

// similarity is the share of the longer line that both have in common at their
// ends: cheap, and good for the usual mistakes in the middle.
func similarity(a, b string) float64 {
	short := min(len(a), len(b))
	if short == 0 {
		return 0
	}
	head, tail := 0, 0
	for head < short && a[head] == b[head] {
		head++
	}
	for tail < short-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return float64(head+tail) / float64(max(len(a), len(b)))
}

// quoteLines shows n lines from index at on, with their numbers.
func quoteLines(all []string, at, n int) string {
	var b strings.Builder
	end := min(at+n, len(all))
	for i := at; i < min(end, at+maxHintShow); i++ {
		line := all[i]
		if len(line) > 300 {
			line = line[:300] + " [clipped]"
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	if end > at+maxHintShow {
		fmt.Fprintf(&b, "[and %d more lines]\n", end-at-maxHintShow)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
