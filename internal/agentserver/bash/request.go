package bash

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// ParseRequest reads a request from JSON, as the REST routes and the socket
// get it. What is wrong is told as [rest.Violations], all at once.
func ParseRequest(raw []byte) (Request, error) {
	req := Request{Timeout: DefaultTimeout}
	if len(bytes.TrimSpace(raw)) == 0 {
		return req, rest.Missing("body")
	}
	var all map[string]json.RawMessage
	if err := rest.Decode(raw, &all, "body"); err != nil {
		return req, err
	}
	if all == nil { // null
		return req, rest.Missing("body")
	}
	var wrong rest.Violations
	if v, ok := all["command"]; !ok {
		missing := rest.Missing("body", "command")
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

func text(raw json.RawMessage, out *string, field string) rest.Violations {
	if raw[0] == '"' && json.Unmarshal(raw, out) == nil {
		return nil
	}
	return rest.Violations{{
		Type: "string_type", Loc: []any{"body", field}, Msg: "Input should be a valid string", Input: raw,
	}}
}

// seconds reads an integer as leniently as the reference: from a string, a
// float without fraction, or a boolean too.
func seconds(raw json.RawMessage, out *int) rest.Violations {
	wrong := func(typ, msg string) rest.Violations {
		return rest.Violations{{Type: typ, Loc: []any{"body", "timeout"}, Msg: msg, Input: raw}}
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
