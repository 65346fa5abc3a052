package secret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
)

// MaskObservation returns o with every known value replaced in every string
// field, whatever its kind; o itself if there is none. Exempt are base64 data:
// URLs of images and screenshots (docs/openhands/sdk-wire-1.58.md section B.5).
func (r *Registry) MaskObservation(o event.Observation) event.Observation {
	m := r.matcher()
	if m == nil || o == nil {
		return o
	}
	raw, err := event.MarshalObservation(o)
	if err != nil {
		return o // it cannot be stored either, which reports the error
	}
	masked := maskJSON(m, raw, observationFields)
	if masked == nil {
		return o
	}
	out, err := event.UnmarshalObservation(masked)
	if err != nil { // a value was a part of something other than text
		return &event.UnknownObservation{KindName: o.Kind(), Raw: masked}
	}
	return out
}

// MaskEvent returns ev with every known value replaced in its texts; ev itself if
// there is none. Messages of the user, prompts and updates of the state are left alone: a
// person wrote them, or they have their own masks. Ids and other names are left alone as
// well. In actions the secrets' names are in place of values; see [Registry.RestoreAction].
func (r *Registry) MaskEvent(ev event.Event) event.Event {
	m := r.matcher()
	if m == nil || ev == nil {
		return ev
	}
	switch ev := ev.(type) {
	case *event.ActionEvent:
		return r.maskAction(ev)
	case *event.SystemPromptEvent, *event.ConversationStateUpdateEvent:
		return ev
	case *event.MessageEvent:
		if ev.Meta().Source == event.SourceUser {
			return ev
		}
	}
	raw, err := event.Marshal(ev)
	if err != nil {
		return ev
	}
	masked := maskJSON(m, raw, eventFields)
	if masked == nil {
		return ev
	}
	out, err := event.Unmarshal(masked)
	if err != nil {
		return &event.Unknown{Base: *ev.Meta(), KindName: ev.Kind(), Raw: masked}
	}
	return out
}

// MaskJSON replaces known values in the string values of a JSON document, but
// not in its keys.
func (r *Registry) MaskJSON(raw []byte) []byte {
	m := r.matcher()
	if m == nil || !json.Valid(raw) {
		return raw
	}
	if masked := maskJSON(m, raw, nil); masked != nil {
		return masked
	}
	return raw
}

// Fields of the outermost object that name things.
var (
	observationFields = []string{"kind"}
	eventFields       = []string{"kind", "id", "timestamp", "source", "parent_id",
		"tool_name", "tool_call_id", "action_id", "llm_response_id"}
)

// freeFields hold documents of strangers, whose keys are masked as well: arguments of MCP calls, and
// calls of agent programs.
var freeFields = []string{"raw_input", "raw_output", "data", "hook_input"}

// structural are values that give parts of documents their meaning. They have
// a fixed vocabulary, so that they are no secret.
var structural = map[string][]string{
	"type": {"text", "image", "image_url", "thinking", "redacted_thinking"},
	"role": {"user", "assistant", "system", "tool"},
}

// position is where in a document the walk is.
type position struct {
	object bool
	free   bool // the keys are a stranger's
	keep   keep // for the strings of an array
	key    []byte
}

// keep says which strings are exempt.
type keep int

const (
	nothing keep = iota
	dataURLs
	all
)

// masker replaces parts of texts.
type masker interface {
	// has reports whether there may be something to replace.
	has(text []byte) bool
	mask(text string) string
}

// maskJSON masks the string values of valid JSON and returns nil if there was
// nothing to mask. fixed are fields of the outermost object to leave alone; free are further
// fields below which keys are masked as well.
func maskJSON(m masker, raw []byte, fixed []string, free ...string) []byte {
	var out []byte
	done := 0 // how much of raw is in out
	stack := make([]position, 1, 16)
	isKey := false
	for i := 0; i < len(raw); i++ {
		top := &stack[len(stack)-1]
		switch raw[i] {
		case '{':
			stack = append(stack, position{object: true, free: fixed != nil && top.foreign(free), keep: exemption(top)})
			isKey = true
		case '[':
			stack = append(stack, position{free: fixed != nil && top.foreign(free), keep: exemption(top)})
			isKey = false
		case '}', ']':
			stack = stack[:len(stack)-1]
			isKey = false
		case ',':
			isKey = top.object
		case '"':
			end := stringEnd(raw, i)
			token := raw[i:end]
			i = end - 1
			if isKey {
				top.key, isKey = token[1:len(token)-1], false
				if masked := maskKey(m, token, top); masked != nil {
					out = append(append(out, raw[done:end-len(token)]...), masked...)
					done = end
				}
				continue
			}
			if len(stack) == 2 && slices.Contains(fixed, string(top.key)) ||
				len(stack) == 3 && fixed != nil && string(top.key) == "kind" {
				continue
			}
			if masked := maskToken(m, token, top); masked != nil {
				out = append(append(out, raw[done:end-len(token)]...), masked...)
				done = end
			}
		}
	}
	if out == nil {
		return nil
	}
	return append(out, raw[done:]...)
}

// foreign reports whether the keys below the current key are a stranger's.
func (p *position) foreign(more []string) bool {
	return p.free || p.object && (slices.Contains(freeFields, string(p.key)) || slices.Contains(more, string(p.key)))
}

// maskKey masks a stranger's key; nil if there is nothing to mask.
func maskKey(m masker, token []byte, p *position) []byte {
	if !p.free {
		return nil
	}
	return maskToken(m, token, &position{})
}

// exemption holds for everything below the current key.
func exemption(p *position) keep {
	if p.keep != nothing || !p.object {
		return p.keep
	}
	switch string(p.key) {
	case "screenshot_data":
		return all
	case "image_urls":
		return dataURLs
	}
	return nothing
}

// maskToken masks a JSON string; nil if there is nothing to mask.
func maskToken(m masker, token []byte, p *position) []byte {
	how := exemption(p)
	if how == all {
		return nil
	}
	body := token[1 : len(token)-1]
	plain := bytes.IndexByte(body, '\\') < 0
	if plain && !m.has(body) {
		return nil
	}
	text := string(body)
	if !plain {
		if json.Unmarshal(token, &text) != nil {
			return nil
		}
	}
	if how == dataURLs && strings.HasPrefix(text, "data:") && strings.Contains(text, ";base64,") {
		return nil
	}
	if slices.Contains(structural[string(p.key)], text) {
		return nil
	}
	masked := m.mask(text)
	if masked == text {
		return nil
	}
	return appendText(nil, masked)
}

// stringEnd returns where the string that begins at i ends, behind its quote.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(raw))
}
