package responses

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

// readStream reads server-sent events until the response's final event. Errors are
// *llm.Error, except errors of the connection.
func (m *Model) readStream(res *http.Response, watch *exchange.Watch, a *accumulator) error {
	events := exchange.NewEvents(res.Body)
	for !a.ended {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		watch.Progress()
		data = bytes.TrimSpace(data)
		if len(data) == 0 || data[0] == '[' && bytes.Equal(data, []byte("[DONE]")) {
			continue
		}
		var e streamEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return m.end.Malformed(err, a.HandedOut)
		}
		if err := m.take(a, &e, data, res.Header); err != nil {
			return err
		}
		if a.size > exchange.MaxAnswer {
			return m.end.Malformed(exchange.ErrTooLarge, a.HandedOut)
		}
	}
	return m.complete(a)
}

// take handles one event. Other kinds repeat the content of these, or belong to
// tools that are not requested.
func (m *Model) take(a *accumulator, e *streamEvent, data []byte, h http.Header) error {
	switch e.Type {
	case "response.output_text.delta":
		a.addText(a.open(e.ItemID, e.OutputIndex, kindMessage), string(e.Delta))
	case "response.refusal.delta":
		a.refused = true
		a.addText(a.open(e.ItemID, e.OutputIndex, kindMessage), string(e.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it := a.open(e.ItemID, e.OutputIndex, kindReasoning)
		if e.SummaryIndex > it.summary && it.delivered > 0 {
			a.addReasoning(it, "\n\n")
		}
		it.summary = max(it.summary, e.SummaryIndex)
		a.addReasoning(it, string(e.Delta))
	case "response.function_call_arguments.delta":
		a.addArguments(a.open(e.ItemID, e.OutputIndex, kindCall), string(e.Delta))
	case "response.output_item.added":
		a.added(e)
	case "response.output_item.done":
		if e.Item != nil {
			a.finish(e.OutputIndex, e.Item)
		}
	case "error":
		return m.end.StatusError(0, h, data)
	case "response.created", "response.in_progress", "response.queued",
		"response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if e.Response == nil {
			return nil
		}
		return m.body(a, e.Response, h)
	}
	return nil
}

func (a *accumulator) added(e *streamEvent) {
	if e.Item == nil {
		return
	}
	if e.Item.ID != "" && a.byID[e.Item.ID] != nil {
		return // a repeated announcement
	}
	switch e.Item.Type {
	case kindMessage, kindReasoning:
		a.fresh(e.Item.ID, e.OutputIndex, e.Item.Type)
	case kindCall:
		a.name(a.fresh(e.Item.ID, e.OutputIndex, kindCall), e.Item)
	}
}

// body adds a response object. Before the end it has only id and model.
func (m *Model) body(a *accumulator, b *wireBody, h http.Header) error {
	a.id = cmp.Or(b.ID, a.id)
	a.model = cmp.Or(b.Model, a.model)
	if len(b.Error) > 0 && !bytes.Equal(b.Error, []byte("null")) {
		return m.end.StatusError(0, h, append(append([]byte(`{"error":`), b.Error...), '}'))
	}
	switch b.Status {
	case "failed":
		return m.end.StatusError(0, h, []byte(`{"error":{"type":"server_error","message":"the response failed"}}`))
	case "cancelled":
		return m.end.Fail(fault.Unavailable, "the provider cancelled the response")
	case "completed", "incomplete":
	default:
		return nil
	}
	a.ended, a.status, a.usage = true, b.Status, b.Usage
	if b.IncompleteDetails != nil {
		a.reason = b.IncompleteDetails.Reason
	}
	if a.anyDone {
		return nil // the items were already delivered
	}
	for i := range b.Output {
		a.finish(i, &b.Output[i])
	}
	return nil
}

// readWhole reads an answer that is one JSON document.
func (m *Model) readWhole(res *http.Response, a *accumulator) error {
	var b wireBody
	if _, err := m.end.ReadJSON(res.Body, &b); err != nil {
		return err
	}
	if b.Status == "" && len(b.Output) > 0 {
		b.Status = "completed" // servers that omit the status send complete answers
	}
	if err := m.body(a, &b, res.Header); err != nil {
		return err
	}
	return m.complete(a)
}

// complete reports whether the answer is complete.
func (m *Model) complete(a *accumulator) error {
	switch {
	case !a.ended:
		return m.end.Truncated(a.HandedOut)
	case a.empty() && a.status != "incomplete":
		return m.end.Empty()
	}
	// A call without a name cannot be answered.
	for _, it := range a.items {
		if it.kind == kindCall && it.id == "" {
			return m.end.Truncated(a.HandedOut)
		}
	}
	return nil
}
