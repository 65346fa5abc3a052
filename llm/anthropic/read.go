package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// readStream reads events until message_stop. Errors are *llm.Error, except errors
// of the connection.
func (m *Model) readStream(res *http.Response, watch *exchange.Watch, a *accumulator) error {
	events := exchange.NewEvents(res.Body)
	for {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return m.end.Truncated(a.HandedOut)
		}
		if err != nil {
			return err
		}
		watch.Progress()
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var e streamEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return m.end.Malformed(err, a.HandedOut)
		}
		ended, err := m.take(&e, data, res.Header, a)
		if err != nil {
			return err
		}
		if ended {
			return m.complete(a)
		}
	}
}

// take adds one event. Pings and unknown kinds are ignored, as the protocol
// requires.
func (m *Model) take(e *streamEvent, data []byte, h http.Header, a *accumulator) (ended bool, err error) {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			a.begin(e.Message)
		}
	case "content_block_start":
		if e.ContentBlock != nil {
			a.open(e.Index, e.ContentBlock)
		}
	case "content_block_delta":
		if err := a.addDelta(e); err != nil {
			return false, m.end.Malformed(err, a.HandedOut)
		}
	case "message_delta":
		a.count(e.Usage)
		a.Stop = cmp.Or(e.Delta.StopReason, a.Stop)
	case "error":
		return false, m.end.StatusError(0, h, data)
	case "message_stop":
		return true, nil
	}
	return false, nil
}

// complete checks the content of an answer that reached its end.
func (m *Model) complete(a *accumulator) error {
	switch {
	case a.Stop == "":
		return m.end.Truncated(a.HandedOut)
	case a.Empty() && a.Stop == "refusal":
		return m.end.Fail(fault.Content, "the model refused to answer")
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
	data, err := m.end.ReadJSON(body, &w)
	if err != nil {
		return err
	}
	if w.Type == "error" || len(w.Error) > 0 && string(w.Error) != "null" {
		return m.end.StatusError(0, nil, data)
	}
	a.begin(&w)
	for i := range w.Content {
		a.open(i, &w.Content[i])
	}
	return m.complete(a)
}
