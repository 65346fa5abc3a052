package exchange

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// reservedFields are the fields of a body, in any protocol, that extra fields
// do not replace: OpenHands reserves the model as well; without the others
// there would be no conversation.
var reservedFields = []string{
	"model", "stream", "tools", "messages", "system", "input", "instructions",
	"contents", "systemInstruction", "system_instruction",
}

// Extend adds the extra fields of the configuration to a JSON object: a body
// without its history, or a part of one.
func (e *Endpoint) Extend(object []byte) ([]byte, error) {
	if len(e.extra) == 0 {
		return object, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	for name, value := range e.extra {
		if !slices.Contains(reservedFields, name) {
			fields[name] = mergeJSON(fields[name], value)
		}
	}
	return historycache.AppendJSON(nil, fields)
}

// Head writes the beginning of a body: parameters, with the user's own, and tools. The history
// follows in the object.
func (e *Endpoint) Head(parameters any, list *historycache.Tools, tools []llm.Tool, write func(dst []byte, t *llm.Tool) ([]byte, error)) ([][]byte, error) {
	head, err := historycache.AppendJSON(nil, parameters)
	if err != nil {
		return nil, e.Unwritten("the request", err)
	}
	if head, err = e.Extend(head); err != nil {
		return nil, e.Unwritten("the extra body", err)
	}
	head[len(head)-1] = ','
	parts, err := list.Parts(head, `"tools":`, ",", tools, write)
	if err != nil {
		return nil, e.Unwritten("the tools", err)
	}
	return parts, nil
}

// Unwritten is the error of a part of a request that has no JSON.
func (e *Endpoint) Unwritten(what string, err error) error {
	return llm.NewError(fault.Invalid, e.Provider, e.Model, what+" cannot be written as JSON", err)
}

// mergeJSON returns base with the members of value, or value where one of them is
// not an object.
func mergeJSON(there, value json.RawMessage) json.RawMessage {
	var base, more map[string]json.RawMessage
	if !isObject(there) || !isObject(value) || json.Unmarshal(there, &base) != nil || json.Unmarshal(value, &more) != nil {
		return value
	}
	maps.Copy(base, more)
	joined, err := historycache.AppendJSON(nil, base)
	if err != nil {
		return value
	}
	return joined
}

func isObject(v json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(v), []byte("{")) }

// LeaveOut drops a parameter that the provider does not support; it returns an
// error if parameters must be kept (docs/openhands/sdk-features.md section 1,
// drop_params).
func (e *Endpoint) LeaveOut(name string) error {
	if !e.keep {
		return nil
	}
	return llm.NewError(fault.Invalid, e.Provider, e.Model, "the provider does not support "+name, nil).
		Hint("omit " + name + ", or allow it to be dropped (drop_params)")
}

// Finite drops numbers that JSON cannot represent.
func Finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// Unit limits a number to 0 to 1, the range of Anthropic's models; other providers allow
// up to 2.
func Unit(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) {
		return nil
	}
	return new(min(max(*f, 0), 1))
}
