package bedrock

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// readStream reads messages to the end of the stream. Errors are *llm.Error,
// except errors of the connection.
func (m *Model) readStream(body io.Reader, watch *exchange.Watch, a *accumulator) error {
	d := newDecoder(body)
	for {
		msg, err := d.next()
		switch {
		case errors.Is(err, io.EOF):
			return m.complete(a)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return m.end.Truncated(a.HandedOut)
		case errors.Is(err, errFraming):
			return m.end.Malformed(err, a.HandedOut)
		case err != nil:
			return err
		}
		watch.Progress()
		if err := m.take(&msg, a); err != nil {
			return err
		}
	}
}

// take adds one message. Unknown events are ignored.
func (m *Model) take(msg *message, a *accumulator) error {
	switch msg.kind {
	case "exception":
		return m.exception(msg.exception, gjson.GetBytes(msg.payload, "message").String(), 0, nil)
	case "error":
		return m.exception(msg.exception, msg.words, 0, nil)
	}
	switch msg.event {
	case "contentBlockStart", "contentBlockDelta", "messageStop", "metadata":
	default:
		return nil
	}
	var e streamEvent
	if err := json.Unmarshal(msg.payload, &e); err != nil {
		return m.end.Malformed(err, a.HandedOut)
	}
	switch msg.event {
	case "contentBlockStart":
		if e.Start.ToolUse != nil {
			a.open(e.Index, e.Start.ToolUse)
		}
	case "contentBlockDelta":
		if err := a.addDelta(&e); err != nil {
			return m.end.Malformed(err, a.HandedOut)
		}
	case "messageStop":
		a.Stop = e.StopReason
	case "metadata":
		a.count(e.Usage)
	}
	return nil
}

// complete checks the content of an answer that reached its end.
func (m *Model) complete(a *accumulator) error {
	switch {
	case a.Stop == "":
		return m.end.Truncated(a.HandedOut)
	case a.Stop == "malformed_model_output" || a.Stop == "malformed_tool_use":
		f := m.end.Fail(fault.Unavailable, "the model wrote a malformed answer")
		f.Code, f.Retryable, f.Partial = a.Stop, true, a.HandedOut
		return f
	case a.Empty() && (a.Stop == "guardrail_intervened" || a.Stop == "content_filtered"):
		f := m.end.Fail(fault.Content, "the answer was refused")
		f.Code = a.Stop
		return f
	case a.Empty() && a.Stop == "model_context_window_exceeded":
		return m.end.Fail(fault.Context, "the prompt leaves no space for an answer in the context window")
	case a.Empty() && a.Stop != "max_tokens":
		return m.end.Empty()
	}
	return nil
}

// readWhole reads an answer that is one JSON document.
func (m *Model) readWhole(body io.Reader, a *accumulator) error {
	var w wireAnswer
	if _, err := m.end.ReadJSON(body, &w); err != nil {
		return err
	}
	a.whole(&w)
	return m.complete(a)
}
