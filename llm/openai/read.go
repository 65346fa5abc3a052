package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/deft-dev/deft/llm/internal/exchange"
)

var done = []byte("[DONE]")

// readStream reads server-sent events until the stream's end mark. Errors are
// *llm.Error, except errors of the connection.
func (m *Model) readStream(res *http.Response, watch *exchange.Watch, a *accumulator) error {
	events := exchange.NewEvents(res.Body)
	var c chunk
	for {
		data, err := events.Next()
		if err != nil {
			// After the finish reason, a broken connection loses only the
			// usage.
			if !errors.Is(err, io.EOF) && a.finish == "" {
				return err
			}
			break
		}
		watch.Progress()
		data = bytes.TrimSpace(data)
		if bytes.Equal(data, done) {
			break
		}
		if len(data) == 0 {
			continue
		}
		c = chunk{}
		if err := json.Unmarshal(data, &c); err != nil {
			return m.end.Malformed(err, a.HandedOut)
		}
		if isSet(c.Error) {
			return m.end.StatusError(0, res.Header, data)
		}
		if err := a.add(&c); err != nil {
			return m.end.Malformed(err, a.HandedOut)
		}
	}
	return m.complete(a)
}

// complete reports whether the answer is complete.
func (m *Model) complete(a *accumulator) error {
	a.emit(a.tags.flush())
	switch {
	case a.finish == "error": // OpenRouter's, for a provider that broke off
		return m.end.Truncated(a.HandedOut)
	case a.finish == "" && (a.choices || a.usage == nil):
		return m.end.Truncated(a.HandedOut)
	case a.empty() && a.finish != "length" && a.finish != "content_filter":
		return m.end.Empty()
	}
	return nil
}

// readWhole reads an answer that is one JSON document.
func (m *Model) readWhole(body io.Reader, a *accumulator) error {
	var c chunk
	data, err := m.end.ReadJSON(body, &c)
	if err != nil {
		return err
	}
	if isSet(c.Error) {
		return m.end.StatusError(0, nil, data)
	}
	if err := a.add(&c); err != nil {
		return m.end.Malformed(err, a.HandedOut)
	}
	// Some servers give no finish reason outside streams: the document was
	// complete, or it would not have parsed.
	if a.choices && a.finish == "" {
		a.finish = "stop"
	}
	return m.complete(a)
}

func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}
