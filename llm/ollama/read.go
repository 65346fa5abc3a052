package ollama

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// maxLine is the maximum length of one line of an answer: 32 MiB.
const maxLine = 32 << 20

// chunk is a line of a stream, or a whole answer.
type chunk struct {
	Model   string `json:"model"`
	Message struct {
		Content   pieces.Piece `json:"content"`
		Thinking  pieces.Piece `json:"thinking"`
		ToolCalls []callPiece  `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Prompt     *int            `json:"prompt_eval_count"`
	Output     *int            `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

// callPiece is a complete call: the server does not stream arguments.
type callPiece struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// accumulator assembles an answer and delivers its pieces.
type accumulator struct {
	exchange.Deltas

	model, reason   string
	done, counted   bool
	text, reasoning pieces.Text
	calls           []event.ToolCall
	ids             exchange.CallIDs
	usage           llm.Usage
	size            int
}

// readStream reads JSON objects, one per line, until the one with done.
func (m *Model) readStream(body io.Reader, watch *exchange.Watch, a *accumulator) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	for !a.done && lines.Scan() {
		watch.Progress()
		line := bytes.TrimSpace(exchange.WithoutMark(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		if err := m.take(a, line); err != nil {
			if lines.Err() != nil { // the connection broke inside the line
				return lines.Err()
			}
			return err
		}
	}
	if err := lines.Err(); err != nil && !a.done {
		if errors.Is(err, bufio.ErrTooLong) {
			return m.end.Malformed(err, a.HandedOut)
		}
		return err
	}
	return m.complete(a)
}

// readWhole reads an answer that is one JSON document.
func (m *Model) readWhole(body io.Reader, a *accumulator) error {
	data, err := m.end.ReadWhole(body)
	if err != nil {
		return err
	}
	if err := m.take(a, data); err != nil {
		return err
	}
	return m.complete(a)
}

// take reads one object.
func (m *Model) take(a *accumulator, data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return m.end.Malformed(err, a.HandedOut)
	}
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
		return m.explain(m.end.StatusError(0, nil, data))
	}
	if a.add(&c); a.size > exchange.MaxAnswer {
		return m.end.Malformed(exchange.ErrTooLarge, a.HandedOut)
	}
	return nil
}

func (a *accumulator) add(c *chunk) {
	a.model = cmp.Or(c.Model, a.model)
	a.size += len(c.Message.Thinking) + len(c.Message.Content)
	if t := a.reasoning.Add(string(c.Message.Thinking)); t != "" {
		a.Emit(llm.Delta{Reasoning: t})
	}
	if t := a.text.Add(string(c.Message.Content)); t != "" {
		a.Emit(llm.Delta{Text: t})
	}
	for i := range c.Message.ToolCalls {
		a.call(&c.Message.ToolCalls[i])
	}
	if !c.Done {
		return
	}
	a.done, a.reason = true, c.DoneReason
	// Some versions do not count a prompt that is still cached; then only the
	// output is known.
	if c.Prompt != nil || c.Output != nil {
		a.counted = true
		a.usage = llm.Usage{Prompt: count(c.Prompt), Output: count(c.Output)}
	}
}

func count(n *int) int {
	if n == nil {
		return 0
	}
	return max(0, *n)
}

func (a *accumulator) call(p *callPiece) {
	args := string(p.Function.Arguments)
	switch {
	case args == "null":
		args = ""
	case strings.HasPrefix(args, `"`): // as a string, from compatible servers
		var s string
		if json.Unmarshal(p.Function.Arguments, &s) == nil {
			args = s
		}
	}
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	id := p.ID
	if id == "" {
		id = "call_" + random()
	}
	c := event.ToolCall{ID: a.ids.Unique(id), Name: p.Function.Name, Arguments: args, Origin: event.OriginCompletion}
	a.size += len(c.ID) + len(c.Name) + len(args) + 64
	a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: len(a.calls), ID: c.ID, Name: c.Name, Arguments: args}})
	a.calls = append(a.calls, c)
}

func random() string { return strings.ToLower(rand.Text()[:20]) }

// complete reports whether the answer is complete.
func (m *Model) complete(a *accumulator) error {
	switch {
	case !a.done:
		return m.end.Truncated(a.HandedOut)
	case len(a.calls) == 0 && a.reasoning.Len() == 0 && strings.TrimSpace(a.text.String()) == "" && a.reason != "length":
		return m.end.Empty()
	}
	return nil
}

// response returns the answer. The server has no ids for answers.
func (a *accumulator) response(model string) *llm.Response {
	finish := llm.FinishStop
	switch {
	case a.reason == "length":
		finish = llm.FinishLength
	case len(a.calls) > 0:
		finish = llm.FinishTools
	}
	return &llm.Response{
		ID: "chat_" + random(), Model: cmp.Or(a.model, model), Finish: finish, Usage: a.usage,
		Message: event.Message{
			Role: event.RoleAssistant, Content: event.Texts(a.text.String()), ReasoningContent: a.reasoning.String(), ToolCalls: a.calls,
		},
	}
}
