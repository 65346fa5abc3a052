package bash

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// ParseRequest reads a request from JSON, as the REST routes and the socket
// get it. What is wrong is told as [schema.Violations], all at once.
func ParseRequest(raw []byte) (Request, error) {
	req := Request{Timeout: DefaultTimeout}
	if len(bytes.TrimSpace(raw)) == 0 {
		return req, schema.Missing("body")
	}
	var value json.RawMessage
	if err := rest.Decode(raw, &value, "body"); err != nil {
		return req, err
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(value, &all) != nil || all == nil {
		return req, schema.Violations{{
			Type: "model_attributes_type", Loc: []any{"body"}, Input: value,
			Msg: "Input should be a valid dictionary or object to extract fields from",
		}}
	}
	var wrong schema.Violations
	if v, ok := all["command"]; !ok {
		missing := schema.Missing("body", "command")
		missing[0].Input = all
		wrong = append(wrong, missing...)
	} else {
		wrong = append(wrong, text(v, &req.Command, "command")...)
	}
	if v, ok := all["cwd"]; ok && string(v) != "null" {
		wrong = append(wrong, text(v, &req.Cwd, "cwd")...)
	}
	if v, ok := all["timeout"]; ok {
		wrong = append(wrong, seconds(v, &req.Timeout)...)
	}
	if len(wrong) > 0 {
		return req, wrong
	}
	return req, nil
}

// parseNames reads the ids of a batch, of which any text is one.
func parseNames(r *http.Request) ([]string, error) {
	var value json.RawMessage
	if err := rest.Body(r, &value); err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil || items == nil {
		return nil, schema.Violations{{Type: "list_type", Loc: []any{"body"}, Msg: "Input should be a valid list", Input: value}}
	}
	names := make([]string, len(items))
	var wrong schema.Violations
	for i, item := range items {
		wrong = append(wrong, text(item, &names[i], i)...)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return names, nil
}

func text(raw json.RawMessage, out *string, field any) schema.Violations {
	if raw[0] == '"' && json.Unmarshal(raw, out) == nil {
		return nil
	}
	return schema.Violations{{
		Type: "string_type", Loc: []any{"body", field}, Msg: "Input should be a valid string", Input: raw,
	}}
}

// seconds reads an integer as leniently as the reference: from a string, a
// float without fraction, or a boolean too.
func seconds(raw json.RawMessage, out *int) schema.Violations {
	wrong := func(typ, msg string) schema.Violations {
		return schema.Violations{{Type: typ, Loc: []any{"body", "timeout"}, Msg: msg, Input: raw}}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return wrong("int_type", "Input should be a valid integer")
	}
	switch v := v.(type) {
	case bool:
		if *out = 0; v {
			*out = 1
		}
	case float64:
		if v != math.Trunc(v) {
			return wrong("int_from_float", "Input should be a valid integer, got a number with a fractional part")
		}
		*out = int(max(math.MinInt32, min(math.MaxInt32, v)))
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return wrong("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
		}
		*out = max(math.MinInt32, min(math.MaxInt32, n))
	default:
		return wrong("int_type", "Input should be a valid integer")
	}
	return nil
}
