package ipython

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/tool"
)

// result gathers the output of a cell in bounded memory.
type result struct {
	progress func(tool.Chunk)
	failed   bool
	timedOut bool
	images   []event.Content
	tables   []string
	markdown []string

	head, tail []byte
	left       int // characters between head and tail
	hidden     int // images that are not shown
}

// bundle is the content of a message with output.
type bundle struct {
	Name      string                     `json:"name"`
	Text      string                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Error     string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// take takes a message with output.
func (r *result) take(m message) {
	var b bundle
	if json.Unmarshal(m.content, &b) != nil {
		return
	}
	switch m.kind {
	case "stream":
		r.write(b.Text)
	case "display_data", "update_display_data", "execute_result":
		r.show(b.Data)
	case "error":
		r.failed = true
		text := strings.Join(b.Traceback, "\n")
		if text == "" {
			text = b.Error + ": " + b.Value
		}
		r.line(text)
		if b.Error == "StdinNotImplementedError" {
			r.line("[Nobody answers input(). Put the values into the code.]")
		}
	}
}

// textForms are the forms of a value that are shown as text, the best one first.
var textForms = []string{"text/plain", "text/markdown", "text/latex", "application/json", "text/html", "image/svg+xml"}

// show shows a value: its picture, or its text.
func (r *result) show(data map[string]json.RawMessage) {
	for _, form := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		var base64 string
		if raw, ok := data[form]; ok && json.Unmarshal(raw, &base64) == nil {
			base64 = strings.ReplaceAll(base64, "\n", "")
			if len(r.images) >= maxImages || base64 == "" || len(base64) > maxImage { // kernel.py empties what is too large
				r.hidden++
				return
			}
			r.images = append(r.images, event.Image("data:"+form+";base64,"+base64))
			return
		}
	}
	if !r.keepTable(data["text/html"]) {
		r.keepMarkdown(data["text/markdown"])
	}
	var named string
	for _, form := range textForms {
		raw, ok := data[form]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if form == "text/plain" && unspoken().MatchString(text) { // its other forms say more
			named = text
			continue
		}
		r.line(text)
		return
	}
	if named != "" {
		r.line(named)
	}
}

// keepTable keeps the HTML of a value that is a table, such as a DataFrame of pandas, beside its text.
func (r *result) keepTable(raw json.RawMessage) bool {
	var html string
	if json.Unmarshal(raw, &html) != nil || !strings.Contains(html, "<table") || !r.room(html) {
		return false
	}
	r.tables = append(r.tables, strings.ToValidUTF8(html, "\uFFFD"))
	return true
}

// keepMarkdown keeps the Markdown of a value that has a table, beside its text.
func (r *result) keepMarkdown(raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil && tableRule().MatchString(text) && r.room(text) {
		r.markdown = append(r.markdown, strings.ToValidUTF8(text, "\uFFFD"))
	}
}

// room reports whether another table may be kept.
func (r *result) room(table string) bool {
	return len(table) <= maxTable && len(r.tables)+len(r.markdown) < maxTables
}

// tableRule is the line below the heads of a table in Markdown.
var tableRule = lazyregexp.New(`(?m)\S[ \t]*\r?\n[ \t]*(\|[ \t]*:?-+:?[ \t]*\|?|:?-+:?[ \t]*\|)[-:| \t]*\r?$`)

// unspoken is the text of an object that is meant for a notebook, such as a table in HTML.
var unspoken = lazyregexp.New(`^<IPython\.core\.display\.\w+ object>$`)

// escapes are sequences with which programs colour text.
var escapes = lazyregexp.New("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")

// line writes a text as lines of its own.
func (r *result) line(text string) {
	if n := len(r.tail); n > 0 && r.tail[n-1] != '\n' || n == 0 && len(r.head) > 0 && r.head[len(r.head)-1] != '\n' {
		r.write("\n")
	}
	r.write(strings.TrimRight(text, "\n") + "\n")
}

// write takes a text. Of more than MaxOutput characters, the middle is left out.
func (r *result) write(text string) {
	text = strings.ToValidUTF8(escapes().ReplaceAllString(text, ""), "\uFFFD")
	if r.progress != nil {
		r.progress(tool.Chunk{Text: text})
	}
	const half = MaxOutput / 2
	if room := half - utf8.RuneCount(r.head); len(r.tail) == 0 && room > 0 {
		n := 0
		for i := range text {
			if n++; n > room {
				r.head, text = append(r.head, text[:i]...), text[i:]
				break
			}
		}
		if n <= room {
			r.head = append(r.head, text...)
			return
		}
	}
	r.tail = append(r.tail, text...)
	if len(r.tail) > 16*half {
		r.trim(half)
	}
}

// trim keeps the last characters of the tail.
func (r *result) trim(keep int) {
	for over := utf8.RuneCount(r.tail) - keep; over > 0; over-- {
		_, size := utf8.DecodeRune(r.tail)
		r.tail = r.tail[size:]
		r.left++
	}
	r.tail = append([]byte(nil), r.tail...)
}

// fail adds why the cell has ended without success.
func (r *result) fail(why string) {
	r.failed = true
	r.line(why)
}

// drainTime is how long the messages of a kernel that has ended may take on their way.
const drainTime = 200 * time.Millisecond

// drain takes the messages of a cell whose kernel has ended.
func (r *result) drain(messages <-chan message, id string) {
	quiet := time.After(drainTime)
	for {
		select {
		case m := <-messages:
			if m.parent == id {
				r.take(m)
			}
		case <-quiet:
			return
		}
	}
}

// text is the whole text.
func (r *result) text() string {
	r.trim(MaxOutput / 2)
	text := string(r.head)
	if r.left > 0 {
		text += fmt.Sprintf("\n[… %d characters left out here …]\n", r.left)
	}
	text += string(r.tail)
	if r.hidden > 0 {
		text = strings.TrimRight(text, "\n") + fmt.Sprintf("\n[%d more images are not shown: a cell shows %d, of up to %d MB each.]", r.hidden, maxImages, maxImage>>20)
	}
	return overwritten(text)
}

// overwritten is a text in which the ends of lines behind a carriage return have replaced what
// was before it, as progress bars do.
func overwritten(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		if at := strings.LastIndexByte(line, '\r'); at >= 0 {
			line = line[at+1:]
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
