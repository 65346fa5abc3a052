package texttools

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
)

// reader splits an answer into text and calls while it arrives. It holds back text
// that may be the beginning of a call. The result does not depend on how the text
// is split into pieces.
type reader struct {
	tools   map[string]*signature
	onDelta func(llm.Delta)

	buf    string   // not decided yet
	unread []byte   // text behind it, not looked at yet
	tail   string   // the end of all that came
	ends   []string // of which one has to come before it is
	// next reads on in buf as far as possible and reports whether to call it
	// again; final reports that no more text follows.
	next      func(p *reader, final bool) bool
	seen      int    // of buf, searched for the end of a call in vain
	cut       bool   // the output limit ended the answer
	space     string // white space that is shown if more text follows
	afterCall bool   // the latest thing was a call
	json      jsonScan
	stream    *argumentStream // of the call under way
	sent      int             // bytes of its arguments that were handed out

	text      strings.Builder
	calls     []event.ToolCall
	handedOut bool
}

func newReader(tools []llm.Tool, onDelta func(llm.Delta)) *reader {
	p := &reader{tools: make(map[string]*signature, len(tools)), onDelta: onDelta, next: (*reader).readText}
	for i := range tools {
		p.tools[tools[i].Name] = readSignature(tools[i].Parameters)
	}
	return p
}

// feed takes a piece of text.
func (p *reader) feed(s string) {
	p.unread = append(p.unread, s...)
	p.streamArguments(s)
	// A call may be long: it is examined where it may end, not for each piece.
	near := p.tail + s
	p.tail = near[max(0, len(near)-len(callEnds[0])):]
	if len(p.ends) > 0 && !slices.ContainsFunc(p.ends, func(end string) bool { return strings.Contains(near, end) }) {
		return
	}
	p.run(false)
}

// Beginnings of the end of a call, and of a JSON object.
var (
	callEnds = []string{"</function", "</invoke"}
	jsonEnds = []string{"}"}
)

func (p *reader) run(final bool) {
	p.buf += string(p.unread)
	p.unread = p.unread[:0]
	for p.next(p, final) {
	}
}

// end handles the rest. cut reports that the output limit ended the answer.
func (p *reader) end(cut bool) {
	p.cut = cut
	p.run(true)
	if !p.afterCall {
		p.write(p.space)
	}
}

func (p *reader) handOut(d llm.Delta) {
	p.handedOut = true
	p.onDelta(d)
}

const spaces = " \t\r\n"

// show delivers text, except white space at its end, which may precede a call.
func (p *reader) show(s string) {
	if p.afterCall {
		if s = strings.TrimLeft(s, spaces); s == "" {
			return
		}
		if p.text.Len() > 0 {
			p.space = "\n\n"
		}
		p.afterCall = false
	}
	kept := strings.TrimRight(s, spaces)
	if kept == "" {
		p.space += s
		return
	}
	p.write(p.space + kept)
	p.space = s[len(kept):]
}

func (p *reader) write(s string) {
	if s == "" {
		return
	}
	p.text.WriteString(s)
	p.handOut(llm.Delta{Text: s})
}

// call begins a call; arguments gives it its arguments.
func (p *reader) call(id, name string) {
	if id == "" {
		id = "call_" + rand.Text()
	}
	p.space, p.afterCall = "", true
	p.calls = append(p.calls, event.ToolCall{ID: id, Name: name, Origin: event.OriginCompletion})
	p.handOut(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: len(p.calls) - 1, ID: id, Name: name}})
}

// streamArguments delivers the arguments that another piece of a call decides.
func (p *reader) streamArguments(s string) {
	if p.stream == nil {
		return
	}
	if more := p.stream.feed(s); more != "" {
		p.sent += len(more)
		p.handOut(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: len(p.calls) - 1, Arguments: more}})
	}
}

// arguments ends a call. Its arguments begin with the part already delivered.
func (p *reader) arguments(a string) {
	last := len(p.calls) - 1
	p.calls[last].Arguments = a
	rest := a[min(p.sent, len(a)):]
	p.stream, p.sent = nil, 0
	p.handOut(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: last, Arguments: rest}})
}

// readText handles text up to the next markup.
func (p *reader) readText(final bool) bool {
	for i := range len(p.buf) {
		c := p.buf[i]
		if c != '<' && c != '`' && c != resultOf[0] {
			continue
		}
		m := markAt(p.buf[i:], final)
		if m.kind == markNone || c == resultOf[0] && len(p.calls) == 0 {
			continue
		}
		p.show(p.buf[:i])
		p.buf = p.buf[i:]
		switch m.kind {
		case markMaybe:
			return false
		case markWrapper:
			p.buf = p.buf[m.length:]
		case markCall:
			p.buf, p.seen, p.next = p.buf[m.length:], 0, (*reader).readCall
			p.ends = callEnds
			p.call("", m.name)
			p.stream = newArgumentStream(p.signatureOf(m.name))
			p.streamArguments(p.buf)
		case markJSON:
			p.ends = jsonEnds
			p.json, p.next = jsonScan{at: m.length, start: m.length, fence: m.fence}, (*reader).readJSON
		case markInvented:
			p.next = (*reader).drop
		}
		return true
	}
	p.show(p.buf)
	p.buf = ""
	return false
}

// drop discards the rest, after a result that the model invented.
func (p *reader) drop(bool) bool {
	p.buf = ""
	return false
}

// readCall collects a call up to its end.
func (p *reader) readCall(final bool) bool {
	at, length := -1, 0
	for _, end := range callEnds {
		if i := strings.Index(p.buf[p.seen:], end); i >= 0 && (at < 0 || p.seen+i < at) {
			at, length = p.seen+i, len(end)
		}
	}
	body, rest := p.buf, ""
	switch {
	case at >= 0:
		body, rest = p.buf[:at], p.buf[at+length:]
		if rest == "" && !final {
			return false // a > may follow
		}
		rest = strings.TrimPrefix(rest, ">")
	case !final:
		p.seen = max(0, len(p.buf)-len(callEnds[0]))
		return false
	}
	p.buf, p.next, p.ends = rest, (*reader).readText, nil
	cut := at < 0 && p.cut
	if loc := inventedResult().FindStringIndex(body); loc != nil {
		body, cut, p.next = body[:loc[0]+len(paramEnd)], false, (*reader).drop
	}
	p.finishCall(body, cut)
	return true
}

// inventedResult matches a result that the model invented inside a call without
// an end.
var inventedResult = lazyregexp.New(paramEnd + `\s*` + regexp.QuoteMeta(resultOf))

// finishCall reads the body of a call, which contains further calls if its end
// is missing.
func (p *reader) finishCall(body string, cut bool) {
	for {
		here, name, rest := nextCall(body)
		p.arguments(p.signatureOf(p.calls[len(p.calls)-1].Name).arguments(here, cut && name == ""))
		if name == "" {
			return
		}
		p.call("", name)
		body = rest
	}
}

func (p *reader) signatureOf(name string) *signature {
	if s := p.tools[name]; s != nil {
		return s
	}
	return &signature{}
}
