package texttools

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// markKind is the kind of markup at a position in the text.
type markKind int

const (
	markNone     markKind = iota
	markMaybe             // more text decides
	markWrapper           // a tag around calls, which is ignored
	markCall              // the head of a call
	markJSON              // a JSON object that may be a call
	markInvented          // a result that the model invented
)

type mark struct {
	kind   markKind
	length int    // of the markup, or of the text before the JSON
	name   string // of a call
	fence  string // closing mark of the JSON
}

// longestHead is the maximum length of the head of a call, in bytes.
const longestHead = 128

const (
	toolCall    = "<tool_call>"
	toolCallEnd = "</tool_call>"
	codeFence   = "```"
)

var (
	wrappers = []string{toolCallEnd, "<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>"}
	heads    = []string{"<function=", "<function name=", "<invoke name="}
)

// markAt returns the markup at the beginning of text. final reports that no
// more text follows.
func markAt(text string, final bool) mark {
	switch text[0] {
	case '`':
		return fenceAt(text, final)
	case resultOf[0]:
		if strings.HasPrefix(text, resultOf) {
			return mark{kind: markInvented}
		}
		return maybe(!final && strings.HasPrefix(resultOf, text))
	}
	if strings.HasPrefix(text, toolCall) {
		return toolCallAt(text, final)
	}
	open := strings.HasPrefix(toolCall, text)
	for _, w := range wrappers {
		if strings.HasPrefix(text, w) {
			return mark{kind: markWrapper, length: len(w)}
		}
		open = open || strings.HasPrefix(w, text)
	}
	for _, h := range heads {
		if strings.HasPrefix(text, h) {
			return headAt(text, h, final)
		}
		open = open || strings.HasPrefix(h, text)
	}
	return maybe(!final && open)
}

func maybe(yes bool) mark {
	if yes {
		return mark{kind: markMaybe}
	}
	return mark{}
}

// headAt reads the head of a call.
func headAt(text, prefix string, final bool) mark {
	rest := text[len(prefix):]
	end := strings.IndexAny(rest, ">\n<")
	if end < 0 {
		return maybe(!final && len(rest) <= longestHead)
	}
	if end > longestHead || rest[end] != '>' {
		return mark{}
	}
	name := strings.Trim(rest[:end], " \t\r\"'")
	if name == "" {
		return mark{}
	}
	return mark{kind: markCall, length: len(prefix) + end + 1, name: name}
}

// toolCallAt reads <tool_call>, which contains JSON or wraps a call.
func toolCallAt(text string, final bool) mark {
	rest := strings.TrimLeft(text[len(toolCall):], spaces)
	switch {
	case rest == "" && !final:
		return mark{kind: markMaybe}
	case strings.HasPrefix(rest, "{"):
		return mark{kind: markJSON, length: len(text) - len(rest), fence: toolCallEnd}
	}
	return mark{kind: markWrapper, length: len(toolCall)}
}

var (
	fenceHead  = lazyregexp.New("^```[a-z_]{0,16}[ \t\r\n]{0,8}\\{")
	fenceMaybe = lazyregexp.New("^`{1,3}$|^```[a-z_]{0,16}[ \t\r\n]{0,8}$")
)

// fenceAt reads the beginning of a code fence with a JSON object.
func fenceAt(text string, final bool) mark {
	head := text[:min(len(text), 32)]
	if loc := fenceHead().FindStringIndex(head); loc != nil {
		return mark{kind: markJSON, length: loc[1] - 1, fence: codeFence}
	}
	return maybe(!final && fenceMaybe().MatchString(head))
}
