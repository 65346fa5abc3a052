package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// readStream reads events to the end of the stream, which the protocol marks only
// by a finish reason. Errors are *llm.Error, except errors of the connection.
func (m *Model) readStream(body io.Reader, watch *exchange.Watch, a *accumulator) error {
	events := exchange.NewEvents(body)
	for {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return m.complete(a)
		}
		if err != nil {
			return err
		}
		watch.Progress()
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		if err := m.take(data, a); err != nil {
			return err
		}
	}
}

// take adds one document.
func (m *Model) take(data []byte, a *accumulator) error {
	var w wireAnswer
	if err := json.Unmarshal(data, &w); err != nil {
		if cutOff(err, len(data)) {
			return m.end.Truncated(a.HandedOut)
		}
		return m.end.Malformed(err, a.HandedOut)
	}
	if len(w.Error) > 0 && string(w.Error) != "null" {
		return m.statusError(0, nil, data)
	}
	if err := a.add(&w); err != nil {
		return m.end.Malformed(err, a.HandedOut)
	}
	return nil
}

// cutOff reports whether JSON of n bytes is valid up to its end.
func cutOff(err error, n int) bool {
	s, ok := errors.AsType[*json.SyntaxError](err)
	return ok && s.Offset >= int64(n) && strings.Contains(s.Error(), "unexpected end")
}

// complete checks the content of an answer that reached its end.
func (m *Model) complete(a *accumulator) error {
	switch a.finish {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS":
		return m.malformedCall(a)
	case "MISSING_THOUGHT_SIGNATURE":
		f := m.end.Fail(fault.Invalid, "a function call of the history has no thought signature")
		f.Code = a.finish
		return f
	}
	switch {
	case a.blocked.BlockReason != "" && a.empty():
		f := m.end.Fail(fault.Content, "the prompt was refused"+because(a.blocked.BlockReasonMessage))
		f.Code = a.blocked.BlockReason
		return f
	case a.empty() && filtered(a.finish):
		f := m.end.Fail(fault.Content, "the model refused to answer"+because(a.finishWords))
		f.Code = a.finish
		return f
	case a.finish == "" && (a.HandedOut || !a.usageSeen):
		return m.end.Truncated(a.HandedOut)
	case a.empty() && a.finish != "MAX_TOKENS":
		return m.end.Empty()
	}
	return nil
}

// malformedCall is the error of a malformed call written by the model. Its
// content is lost; a retry may help.
func (m *Model) malformedCall(a *accumulator) *llm.Error {
	f := m.end.Fail(fault.Unavailable, "the model wrote a malformed tool call"+because(a.finishWords))
	f.Code, f.Retryable, f.Partial = a.finish, true, a.HandedOut
	return f
}

func because(words string) string {
	const longest = 300
	words = strings.Join(strings.Fields(words), " ")
	if words == "" {
		return ""
	}
	if len(words) > longest {
		words = strings.ToValidUTF8(words[:longest], "") + "…"
	}
	return ": " + words
}

// readWhole reads an answer that is one JSON document, or an array of pieces
// from a server that streams without events.
func (m *Model) readWhole(body io.Reader, a *accumulator) error {
	data, err := m.end.ReadWhole(body)
	if err != nil {
		return err
	}
	pieces := []json.RawMessage{data}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &pieces); err != nil {
			return m.end.Malformed(err, false)
		}
	}
	for _, p := range pieces {
		if err := m.take(p, a); err != nil {
			return err
		}
	}
	return m.complete(a)
}
