package console

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// lineWindow keeps the first and the last lines of a text of any length, in
// memory that depends on neither the text nor its lines, unless it is whole.
type lineWindow struct {
	max   int
	whole bool // keep everything
	head  []string
	tail  []string
	cut   int    // lines between the two
	part  []byte // the beginning of an unfinished line
	off   int    // where in it the next character is written
	lost  int    // characters between its end and that place, which are not kept
	shown int    // lines of the head that feed has returned
	// returned says that the unfinished line begins anew with the next character, progress that
	// it has done so.
	returned, progress bool
}

// maxLine bounds a line, in bytes; a program may print gigabytes without a
// break.
const maxLine = 400

// add takes a whole line, without its break.
func (w *lineWindow) add(l string) {
	if l = strings.TrimRight(l, "\r"); w.whole {
		w.head = append(w.head, l)
		return
	}
	if len(l) > maxLine {
		end := maxLine
		for end > maxLine-utf8.UTFMax && !utf8.RuneStart(l[end]) {
			end--
		}
		l = l[:end] + "…"
	} else {
		l = strings.Clone(l) // a short line must not keep a long text
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

// lines returns the kept lines, with a notice about the others.
func (w *lineWindow) lines() []string {
	out := append([]string{}, w.head...)
	switch {
	case w.cut == 1:
		out = append(out, "… 1 more line")
	case w.cut > 1:
		out = append(out, fmt.Sprintf("… %d more lines", w.cut))
	}
	return append(out, w.tail...)
}

// feed takes text as it comes and returns the lines to show at once: the head's.
// The tail is shown by finish. A line begins anew after a carriage return, and what follows a
// backspace is written over the character before, as on a terminal.
func (w *lineWindow) feed(text string) []string {
	for {
		l, rest, ended := strings.Cut(text, "\n")
		if ended && len(w.part) == 0 && !w.returned && !strings.ContainsAny(l, "\r\b") {
			w.add(l)
			text = rest
			continue
		}
		w.write(l)
		if !ended {
			break
		}
		w.add(string(w.part))
		w.part, w.off, w.lost, w.returned, w.progress = w.part[:0], 0, 0, false, false
		text = rest
	}
	fresh := w.head[w.shown:]
	w.shown = len(w.head)
	return fresh
}

// write adds to the unfinished line.
func (w *lineWindow) write(l string) {
	for l != "" {
		end := strings.IndexAny(l, "\r\b")
		if end < 0 {
			end = len(l)
		}
		if end > 0 && w.returned {
			w.part, w.off, w.lost, w.returned, w.progress = w.part[:0], 0, 0, false, true
		}
		w.put(l[:end])
		if l = l[end:]; l == "" {
			return
		}
		switch {
		case l[0] == '\r':
			w.returned = true
		case w.lost > 0:
			w.lost--
		default:
			_, size := utf8.DecodeLastRune(w.part[:w.off])
			w.off, w.progress = w.off-size, true
		}
		l = l[1:]
	}
}

// put writes text at its place in the unfinished line, over as many characters.
func (w *lineWindow) put(text string) {
	if w.lost > 0 {
		w.lost += utf8.RuneCountInString(text)
		return
	}
	end := w.off
	for n := utf8.RuneCountInString(text); n > 0 && end < len(w.part); n-- {
		_, size := utf8.DecodeRune(w.part[end:])
		end += size
	}
	kept := text
	if space := maxLine + 1 - w.off; !w.whole && len(kept) > space {
		kept = kept[:max(space, 0)]
		w.lost = utf8.RuneCountInString(text[len(kept):])
	}
	w.part = slices.Replace(w.part, w.off, end, []byte(kept)...)
	w.off += len(kept)
}

// bar is the unfinished line if it is written again and again, as by a progress bar; else "".
func (w *lineWindow) bar() string {
	if !w.progress {
		return ""
	}
	return string(w.part)
}

// finish returns the lines that feed has not, and starts anew. any says
// whether there was output at all.
func (w *lineWindow) finish() (rest []string, any bool) {
	if len(w.part) > 0 {
		w.add(string(w.part))
	}
	any = len(w.head) > 0
	rest = w.lines()[w.shown:]
	*w = lineWindow{max: w.max, whole: w.whole, part: w.part[:0]}
	return rest, any
}
