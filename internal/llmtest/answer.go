package llmtest

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"
)

// answer is a reply ready to be encoded in a protocol.
type answer struct {
	req       *Request
	id        string
	created   int64
	text      string
	reasoning string
	redacted  string
	calls     []madeCall
	usage     Usage
	finish    string // neutral or the script's own word
	chunk     int    // characters per delta
	empty     bool
	ids       *idMaker
}

type madeCall struct{ id, name, args string }

// render executes the templates of t for req.
func (t *turn) render(req *Request, ids *idMaker, f *Fault) (*answer, error) {
	a := &answer{req: req, ids: ids, created: time.Now().Unix(), redacted: t.redacted, chunk: t.ChunkSize, finish: t.Reply.FinishReason}
	var err error
	if a.text, err = t.text.render(req); err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	if a.reasoning, err = t.reasoning.render(req); err != nil {
		return nil, fmt.Errorf("reasoning: %w", err)
	}
	for i := range t.calls {
		c, err := t.calls[i].render(req, ids, a.reasoning != "" || a.redacted != "")
		if err != nil {
			return nil, fmt.Errorf("tool call %d: %w", i+1, err)
		}
		a.calls = append(a.calls, c)
	}
	if f != nil {
		a.prepare(f)
	}
	a.complete(t.Reply.Usage)
	return a, nil
}

// prepare changes the answer as its fault requires.
func (a *answer) prepare(f *Fault) {
	switch f.Kind {
	case HalfToolCall:
		// At least two fragments, so that the fault can stop between them.
		n := len([]rune(a.calls[len(a.calls)-1].args))
		a.chunk = min(a.chunk, max(1, n/2))
	case Empty:
		a.empty, a.text, a.reasoning, a.redacted, a.calls = true, "", "", "", nil
	}
}

// complete sets the finish reason and the token counts.
func (a *answer) complete(u *Usage) {
	if a.finish == "" {
		a.finish = "stop"
		if len(a.calls) > 0 {
			a.finish = "tool_calls"
		}
	}
	if u != nil {
		a.usage = *u
		return
	}
	bytes := len(a.text) + len(a.reasoning)
	for _, c := range a.calls {
		bytes += len(c.name) + len(c.args)
	}
	a.usage = Usage{Input: a.req.inputTokens, Output: (bytes + 3) / 4, Reasoning: len(a.reasoning) / 4}
}

func (c *callTemplate) render(req *Request, ids *idMaker, withReasoning bool) (madeCall, error) {
	m := madeCall{name: c.name}
	var err error
	if m.id, err = c.idText.render(req); err != nil {
		return m, fmt.Errorf("id: %w", err)
	}
	if m.id == "" {
		m.id = ids.call(req.Protocol, withReasoning)
	}
	if c.tree == nil {
		m.args, err = c.arguments.render(req)
		return m, err
	}
	tree, err := renderTree(c.tree, req)
	if err != nil {
		return m, fmt.Errorf("arguments: %w", err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return m, fmt.Errorf("arguments: %w", err)
	}
	m.args = string(raw)
	return m, nil
}

// pieces splits s into deltas of n characters, or of one UTF-16 unit. Half a character is
// the rune of its surrogate as three bytes, which q understands.
func pieces(s string, n int) []string {
	if n == UTF16Units {
		return units(s)
	}
	out := make([]string, 0, len(s)/n+1)
	start, count := 0, 0
	for i := range s {
		if count == n {
			out = append(out, s[start:i])
			start, count = i, 0
		}
		count++
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func units(s string) (out []string) {
	for _, unit := range utf16.Encode([]rune(s)) {
		if r := rune(unit); utf16.IsSurrogate(r) {
			out = append(out, string([]byte{0xed, 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f}))
		} else {
			out = append(out, string(r))
		}
	}
	return out
}
