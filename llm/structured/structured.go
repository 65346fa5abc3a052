// Package structured requests answers that are JSON of a schema, and validates
// them.
//
// # Usage
//
//	type verdict struct { Risk string `json:"risk"`; Why string `json:"why"` }
//	v, resp, err := structured.Ask[verdict](ctx, model, llm.Request{Messages: msgs, Schema: schema})
//
// The schema is sent in the provider's own mode if it has one (adapters do
// that) and always in the prompt, so it works with any model. Code fences and
// text around the JSON are removed, and the answer is validated; an invalid one
// is sent back once with the reason.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Errors of the model are returned
// unchanged; after two invalid answers the error is of kind Invalid, with the
// last response.
package structured

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// tries is how often a model is called.
const tries = 2

const (
	wanted = "Answer with one JSON value of the following JSON schema and with nothing else: no words before or after it, no code fence.\n\n"
	wrong  = "That answer does not fit: %s. Answer again with one JSON value of the schema, complete and corrected, and with nothing else."
)

// Ask makes a call whose answer is JSON of r.Schema, and decodes it into T. It
// makes a second call if the answer is invalid. The response belongs to the last
// call, nil only if there was none.
func Ask[T any](ctx context.Context, m llm.Model, r llm.Request) (T, *llm.Response, error) {
	var value, none T
	schema, err := compile(r.Schema)
	if err != nil {
		return none, nil, fault.New(fault.Invalid, "the schema of the answer is not a JSON schema").Because(err)
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
		if doc, misfit = check(schema, text); misfit == nil {
			value = none
			if misfit = json.Unmarshal(doc, &value); misfit == nil {
				return value, resp, nil
			}
		}
		answer := event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}
		if strings.TrimSpace(text) == "" {
			answer.Content = event.Texts("(no answer)")
		}
		r.Messages = append(r.Messages, answer, user(fmt.Sprintf(wrong, misfit)))
	}
	return none, last, fault.New(fault.Invalid, fmt.Sprintf("%s did not answer with JSON of the schema", m.Info().Name)).
		Because(misfit).Hint("choose a model with structured output for this task")
}

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

func compile(text json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// check finds the JSON in an answer's text and validates it. The error describes the
// mistake for the model.
func check(schema *jsonschema.Resolved, text string) (json.RawMessage, error) {
	doc := find(text)
	if doc == nil {
		return nil, fault.New(fault.Invalid, "it contains no complete JSON value")
	}
	var value any
	if err := json.Unmarshal(doc, &value); err != nil {
		return nil, err
	}
	return doc, schema.Validate(value)
}

// find returns the JSON value of a text: the text itself, the contents of a
// code fence, or else the first complete object or array in it; nil if there is none.
func find(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
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
			return raw
		}
		at++
	}
	return nil
}
