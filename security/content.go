package security

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/deft-dev/deft/event"
)

// maxContent is the largest action that is analyzed, in bytes; a larger one is
// UNKNOWN.
const maxContent = 4 << 20

// segments are the texts that an action would do something with, apart from
// each other, so that two of them never make one match.
type segments struct {
	command string   // text that a shell would run; empty for none
	others  []string // all other texts of the arguments
	size    int      // bytes of all of them
}

// segmentsOf collects the texts of an action: text that would be run, and every
// text in the arguments as the model wrote them.
func segmentsOf(a *event.ActionEvent) segments {
	var s segments
	if t, ok := a.Action.(*event.TerminalAction); ok {
		s.command = t.Command
		s.size = len(t.Command)
	}
	s.add(a.ToolName)
	if a.ToolCall.Name != a.ToolName {
		s.add(a.ToolCall.Name)
	}
	args := a.ToolCall.Arguments
	var v any
	if json.Unmarshal([]byte(args), &v) == nil {
		s.walk(v)
	} else {
		s.add(args)
	}
	return s
}

func (s *segments) add(text string) {
	if text != "" && text != s.command {
		s.others = append(s.others, text)
		s.size += len(text)
	}
}

// walk adds the texts of a JSON value. encoding/json bounds how deep it is.
func (s *segments) walk(v any) {
	switch v := v.(type) {
	case string:
		s.add(v)
	case []any:
		for _, e := range v {
			s.walk(e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.walk(v[key])
		}
	}
}

// executable is all of it as one text.
func (s *segments) executable() string {
	return strings.Join(append([]string{s.command}, s.others...), " ")
}

// spoken is the model's text about an action, which may try to persuade, and which
// runs nothing.
func spoken(a *event.ActionEvent) string {
	parts := []string{a.Summary, a.ReasoningContent}
	for _, block := range a.ThinkingBlocks {
		parts = append(parts, block.Thinking)
	}
	return strings.Join(append(parts, event.JoinText(a.Thought)), " ")
}

// normalize undoes differences between a pattern's and a reader's view of a text:
// invisible characters, wide and decorated letters, accents, letters of other
// alphabets that look Latin. Space becomes one blank.
func normalize(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case r == 0, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), blank[r]:
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if like, ok := latin[r]; ok {
			r = like
		}
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
	return b.String()
}

// blank are letters and symbols that show nothing.
var blank = map[rune]bool{'\u2800': true, '\u115f': true, '\u1160': true, '\u3164': true, '\uffa0': true, '\ufffc': true}

// latin are letters that look like Latin ones.
var latin = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o',
	'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'Х': 'X',
	'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', 'υ': 'u', 'ɡ': 'g', 'ı': 'i', 'ℓ': 'l',
}
