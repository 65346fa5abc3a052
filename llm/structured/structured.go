// Package structured asks models for answers that are JSON of a schema, and
// holds them to it.
//
// # Usage
//
//	type verdict struct { Risk string `json:"risk"`; Why string `json:"why"` }
//	v, resp, err := structured.Ask[verdict](ctx, model, llm.Request{Messages: msgs, Schema: schema})
//
// The schema goes to the provider where it has a mode for it (adapters see to
// that) and into the prompt everywhere, so any model can be asked. The answer
// is cleaned of code fences and words around it, and checked; a wrong one is
// sent back once with what is wrong with it.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Errors of the model are returned as
// they are; an answer that is wrong twice gives an error of kind Invalid, with
// the last response besides it.
package structured

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// tries is how often a model is asked.
const tries = 2

const (
	wanted = "Answer with one JSON value of the following JSON schema and with nothing else: no words before or after it, no code fence.\n\n"
	wrong  = "That answer does not fit: %s. Answer again with one JSON value of the schema, complete and corrected, and with nothing else."
)

// Ask makes a call whose answer is JSON of r.Schema, and decodes it into T. It
// asks a second time if the answer does not fit. The response is that of the
// last call; it is nil only if there was none.
func Ask[T any](ctx context.Context, m llm.Model, r llm.Request) (T, *llm.Response, error) {
	var value, none T
	if !gjson.ValidBytes(r.Schema) || !gjson.ParseBytes(r.Schema).IsObject() {
		return none, nil, fault.New(fault.Invalid, "the schema of the answer is not a JSON object")
	}
	r.Messages = append(slices.Clip(r.Messages), user(wanted+string(r.Schema)))
	var last *llm.Response
	var misfit error
	for range tries {
		resp, err := llm.Complete(ctx, m, r, nil)
		if err != nil {
			return none, last, err
		}
		last = resp
		text := event.JoinText(resp.Message.Content)
		var doc json.RawMessage
		if doc, misfit = Check(r.Schema, text); misfit == nil {
			value = none
			if misfit = json.Unmarshal(doc, &value); misfit == nil {
				return value, resp, nil
			}
		}
		said := event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}
		if strings.TrimSpace(text) == "" {
			said.Content = event.Texts("(no answer)")
		}
		r.Messages = append(r.Messages, said, user(fmt.Sprintf(wrong, misfit)))
	}
	return none, last, fault.New(fault.Invalid, fmt.Sprintf("%s did not answer with JSON of the schema", m.Info().Name)).
		Because(misfit).Hint("choose a model with structured output for this task")
}

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

// Check finds the JSON in an answer's text and holds it to the schema. What
// strict modes write for optional properties that are not there, null, is
// taken out. The error says where and what is wrong, in words for the model.
func Check(schema json.RawMessage, text string) (json.RawMessage, error) {
	doc, ok := find(text)
	if !ok {
		return nil, fault.New(fault.Invalid, "it holds no complete JSON value")
	}
	s := gjson.ParseBytes(schema)
	v := &checker{root: s}
	clean := v.withoutNulls(nil, s, doc, 0)
	if err := v.check(s, gjson.ParseBytes(clean), "the answer", 0); err != nil {
		return nil, err
	}
	return clean, nil
}

// find returns the JSON value of a text: the text itself, the contents of a
// code fence, or else the first whole object or array in it.
func find(text string) (gjson.Result, bool) {
	text = strings.TrimSpace(text)
	if text != "" && gjson.Valid(text) {
		return gjson.Parse(text), true
	}
	for at, tried := 0, 0; tried < 64; tried++ {
		i := strings.IndexAny(text[at:], "{[")
		if i < 0 {
			break
		}
		at += i
		// A decoder stops at the value's end, whatever follows.
		var raw json.RawMessage
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw) == nil {
			return gjson.ParseBytes(raw), true
		}
		at++
	}
	return gjson.Result{}, false
}
