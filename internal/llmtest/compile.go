package llmtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

const defaultChunk = 24 // characters per delta

// program is a compiled script. It is immutable.
type program struct {
	Script
	turns    []*turn
	numbered []*turn // by history: the turn for each number of assistant messages
	onward   *turn   // by history: a last numbered turn that repeats forever
	matched  []*turn // by history: turns with a match
	fallback *turn   // nil if the script has no default
}

// turn is a compiled [Turn].
type turn struct {
	Turn
	index     int
	numbered  bool // selected by history, reusable
	match     *matcher
	text      *textTemplate
	reasoning *textTemplate
	redacted  string
	calls     []callTemplate
}

type callTemplate struct {
	id, name  string
	idText    *textTemplate
	arguments *textTemplate  // raw or constant arguments
	tree      map[string]any // arguments with templates inside
}

// turnError is an error in a turn of a script. index is -1 for the default
// turn.
type turnError struct {
	index int
	name  string
	err   error
}

func (e *turnError) Error() string { return fmt.Sprintf("turn %s: %v", e.name, e.err) }
func (e *turnError) Unwrap() error { return e.err }

func compile(s *Script) (*program, error) {
	p := &program{Script: *s}
	if err := checkPacing(s.Defaults); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	for i := range s.Turns {
		t, err := p.compileTurn(s.Turns[i], i)
		if err != nil {
			return nil, err
		}
		p.turns = append(p.turns, t)
	}
	if s.Default != nil {
		t, err := p.compileTurn(*s.Default, -1)
		if err != nil {
			return nil, err
		}
		p.fallback = t
	}
	if s.ByHistory {
		if err := p.number(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxNumbered is the maximum number of turns of a script by history, including
// repeats.
const maxNumbered = 1 << 20

// number arranges the turns by their number of assistant messages.
func (p *program) number() error {
	for _, t := range p.turns {
		if t.match != nil {
			p.matched = append(p.matched, t)
			continue
		}
		t.numbered = true
		if p.onward != nil {
			return t.fail(errors.New("comes after a turn that repeats forever, and so can never answer"))
		}
		if t.Repeat == Forever {
			p.onward = t
			continue
		}
		if len(p.numbered)+int(t.Repeat) > maxNumbered {
			return t.fail(fmt.Errorf("more than %d turns with their repeats", maxNumbered))
		}
		for range t.Repeat {
			p.numbered = append(p.numbered, t)
		}
	}
	return nil
}

func (t *turn) fail(err error) error { return &turnError{index: t.index, name: t.Name, err: err} }

func (p *program) compileTurn(src Turn, index int) (*turn, error) {
	t := &turn{Turn: src, index: index, redacted: src.Reply.RedactedReasoning}
	if t.Name == "" {
		t.Name = strconv.Itoa(index + 1)
		if index < 0 {
			t.Name = "default"
		}
	}
	t.inherit(p)
	if err := checkPacing(t.Pacing); err != nil {
		return nil, t.fail(err)
	}
	if t.Repeat < Forever {
		return nil, t.fail(errRepeat)
	}
	var err error
	if t.match, err = compileMatch(src.Match); err != nil {
		return nil, t.fail(fmt.Errorf("match: %w", err))
	}
	if err := t.compileReply(); err != nil {
		return nil, t.fail(fmt.Errorf("reply: %w", err))
	}
	if err := t.checkFault(); err != nil {
		return nil, t.fail(fmt.Errorf("fault: %w", err))
	}
	return t, nil
}

// inherit takes missing settings from the script.
func (t *turn) inherit(p *program) {
	t.Latency = cmp.Or(t.Latency, p.Defaults.Latency)
	t.ChunkDelay = cmp.Or(t.ChunkDelay, p.Defaults.ChunkDelay)
	t.ChunkSize = cmp.Or(t.ChunkSize, p.Defaults.ChunkSize)
	t.ChunkSize = cmp.Or(t.ChunkSize, defaultChunk)
	if t.Repeat == 0 {
		t.Repeat = 1
		if t.index < 0 || p.ByHistory && t.Match != nil {
			t.Repeat = Forever
		}
	}
}

func checkPacing(p Pacing) error {
	if p.Latency < 0 || p.ChunkDelay < 0 || p.ChunkSize < UTF16Units {
		return errors.New("latency, chunk_delay and chunk_size cannot be negative")
	}
	return nil
}

func (t *turn) compileReply() (err error) {
	r := &t.Reply
	if t.text, err = compileText(r.Text); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	if t.reasoning, err = compileText(r.Reasoning); err != nil {
		return fmt.Errorf("reasoning: %w", err)
	}
	for i := range r.ToolCalls {
		c, err := compileCall(&r.ToolCalls[i])
		if err != nil {
			return fmt.Errorf("tool call %d: %w", i+1, err)
		}
		t.calls = append(t.calls, c)
	}
	if u := r.Usage; u != nil {
		if u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.CacheWrite < 0 || u.Reasoning < 0 {
			return errors.New("usage: counts cannot be negative")
		}
		if u.Cached+u.CacheWrite > u.Input || u.Reasoning > u.Output {
			return errors.New("usage: input includes cached and cache_write, and output includes reasoning")
		}
	}
	return nil
}

func compileCall(tc *ToolCall) (c callTemplate, err error) {
	c.name, c.id = tc.Name, tc.ID
	if tc.Name == "" {
		return c, errors.New("name is missing")
	}
	if tc.RawArguments != "" && tc.Arguments != nil {
		return c, errors.New("arguments and raw_arguments exclude each other")
	}
	if c.idText, err = compileText(tc.ID); err != nil {
		return c, fmt.Errorf("id: %w", err)
	}
	if tc.RawArguments != "" {
		if c.arguments, err = compileText(tc.RawArguments); err != nil {
			return c, fmt.Errorf("raw_arguments: %w", err)
		}
		return c, nil
	}
	tree, dynamic, err := compileTree(tc.Arguments)
	if err != nil {
		return c, fmt.Errorf("arguments: %w", err)
	}
	if dynamic {
		c.tree = tree.(map[string]any)
		return c, nil
	}
	raw := []byte("{}")
	if tc.Arguments != nil {
		if raw, err = json.Marshal(tc.Arguments); err != nil {
			return c, fmt.Errorf("arguments: %w", err)
		}
	}
	c.arguments = &textTemplate{constant: string(raw)}
	return c, nil
}

func (t *turn) checkFault() error {
	f := t.Fault
	if f == nil {
		return nil
	}
	known := false
	for _, k := range faultKinds {
		known = known || k == f.Kind
	}
	switch {
	case !known:
		return fmt.Errorf("unknown kind %q; known are %v", f.Kind, faultKinds)
	case f.After < 0 || f.Times < 0 || f.RetryAfter < 0:
		return errors.New("after, times and retry_after cannot be negative")
	case f.After > 0 && !f.Kind.takesAfter():
		return fmt.Errorf("%s has no after", f.Kind)
	case f.Status != 0 && !f.Kind.isError() && f.Kind != HTML:
		return fmt.Errorf("%s has no status", f.Kind)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return errors.New("status must be from 200 to 599")
	case f.RetryAs != "" && f.RetryAs != RetrySeconds && f.RetryAs != RetryDate && f.RetryAs != RetryMillis:
		return fmt.Errorf("retry_as is %s, %s or %s", RetrySeconds, RetryDate, RetryMillis)
	case f.Kind == HalfToolCall && len(t.calls) == 0:
		return errors.New("half_tool_call needs a reply with tool_calls")
	}
	return nil
}
