package console

import (
	"fmt"
	"strings"
)

// lineWindow keeps the first and the last lines of a text of any length.
type lineWindow struct {
	max   int
	head  []string
	tail  []string
	cut   int    // lines between the two
	part  string // an unfinished line
	shown int    // lines that feed has returned
}

// maxLine bounds a line; a program may print gigabytes without a break.
const maxLine = 400

func (w *lineWindow) add(l string) {
	if len(l) > maxLine {
		l = l[:maxLine] + "…"
	}
	if len(w.head) < (w.max+1)/2 {
		w.head = append(w.head, l)
		return
	}
	w.tail = append(w.tail, l)
	if len(w.tail) > w.max/2 {
		w.tail = w.tail[1:]
		w.cut++
	}
}

// lines returns what is kept, with a notice about what is not.
func (w *lineWindow) lines() []string {
	out := append([]string{}, w.head...)
	if w.cut > 0 {
		out = append(out, fmt.Sprintf("… %d more lines", w.cut))
	}
	return append(out, w.tail...)
}

// feed takes text as it comes and returns the lines to show at once: those of
// the head. The tail is shown by finish.
func (w *lineWindow) feed(text string) []string {
	if len(w.part) < maxLine {
		w.part += text
	} else if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		w.part += text[i:]
	}
	for {
		l, rest, ok := strings.Cut(w.part, "\n")
		if !ok {
			break
		}
		w.part = rest
		w.add(strings.TrimRight(l, "\r"))
	}
	fresh := w.head[w.shown:]
	w.shown = len(w.head)
	return fresh
}

// finish returns the lines that feed has not, and starts anew. any says
// whether there was output at all.
func (w *lineWindow) finish() (rest []string, any bool) {
	if w.part != "" {
		w.add(w.part)
	}
	any = len(w.head) > 0
	rest = w.lines()[w.shown:]
	*w = lineWindow{max: w.max}
	return rest, any
}
