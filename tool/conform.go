package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// maxConformDepth bounds how deep arguments are compared with their schema.
const maxConformDepth = 32

// conform converts the arguments to their declared types. An argument that
// cannot be converted is an error.
func (a *Arguments) conform(tool string, s Schema) error {
	if err := a.known(s, tool+" has"); err != nil {
		return err
	}
	for _, p := range s.Properties {
		v, ok := a.values[p.Name]
		if !ok {
			if p.Required {
				return fault.New(fault.Invalid, fmt.Sprintf("%s needs the argument %q (%s); given: %s",
					tool, p.Name, p.expected(), list(a.order)))
			}
			continue
		}
		fixed, err := p.convert(v, strconv.Quote(p.Name), 0)
		if err != nil {
			return err
		}
		if p.Enum != nil && !slices.Contains(p.Enum, text(fixed)) {
			return fault.New(fault.Invalid, fmt.Sprintf("%s: argument %q must be one of %s, not %s",
				tool, p.Name, list(p.Enum), clip(string(v), 80)))
		}
		a.values[p.Name] = fixed
	}
	return nil
}

// known returns an error for an argument that the schema does not have.
func (a *Arguments) known(s Schema, owner string) error {
	if s.open {
		return nil
	}
	for _, name := range a.order {
		if _, ok := s.find(name); !ok {
			return fault.New(fault.Invalid, fmt.Sprintf("%s no argument %q%s; the arguments are %s",
				owner, clip(name, 80), didYouMean(name, s.names()), list(s.names())))
		}
	}
	return nil
}

// convert returns v in the declared type. where names the value in errors.
func (p Property) convert(v json.RawMessage, where string, depth int) (json.RawMessage, error) {
	if depth > maxConformDepth {
		return v, nil // the tool's own decoder decides
	}
	if p.Type != "string" && p.Type != "" && len(v) > 0 && v[0] == '"' {
		v = p.fromText(v)
	}
	ok := true
	switch p.Type {
	case "string":
		ok = v[0] == '"'
		if ok && p.Enum != nil {
			v = p.enumValue(v)
		} else if v[0] != '{' && v[0] != '[' && !ok {
			v, ok = strconv.AppendQuote(nil, string(v)), true // a number or boolean written bare
		}
	case "integer":
		v, ok = integer(v)
	case "number":
		ok = isNumber(v)
	case "boolean":
		ok = string(v) == "true" || string(v) == "false"
	case "array":
		if ok = v[0] == '['; ok && p.Items != nil {
			return p.convertItems(v, where, depth)
		}
	case "object":
		if ok = v[0] == '{'; ok && p.Object != nil {
			return p.convertMembers(v, where, depth)
		}
	}
	if !ok {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("argument %s must be %s, not %s",
			where, p.expected(), clip(string(v), 80)))
	}
	return v, nil
}

// fromText decodes a value that was written inside a string, when it then
// has the declared type.
func (p Property) fromText(v json.RawMessage) json.RawMessage {
	s := strings.TrimSpace(text(v))
	if p.Type == "boolean" {
		s = strings.ToLower(s)
	}
	inner := json.RawMessage(s)
	if !json.Valid(inner) {
		inner = escapeControls(inner)
	}
	var b bytes.Buffer
	if json.Compact(&b, inner) != nil || b.Len() == 0 {
		return v
	}
	return b.Bytes()
}

// enumValue ignores a difference in case.
func (p Property) enumValue(v json.RawMessage) json.RawMessage {
	s := strings.TrimSpace(text(v))
	for _, e := range p.Enum {
		if strings.EqualFold(e, s) {
			if b, err := encode(e); err == nil {
				return b
			}
		}
	}
	return v
}

func (p Property) convertItems(v json.RawMessage, where string, depth int) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "argument "+where)
	}
	for i, item := range items {
		fixed, err := p.Items.convert(item, fmt.Sprintf("%s[%d]", where, i), depth+1)
		if err != nil {
			return nil, err
		}
		items[i] = fixed
	}
	return encode(items)
}

func (p Property) convertMembers(v json.RawMessage, where string, depth int) (json.RawMessage, error) {
	members, err := object(v)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "argument "+where)
	}
	a := &Arguments{order: keys(v), values: members}
	a.dropNulls()
	if err := a.known(*p.Object, "argument "+where+" has"); err != nil {
		return nil, err
	}
	for _, q := range p.Object.Properties {
		m, ok := members[q.Name]
		if !ok && q.Required {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("argument %s needs %q (%s)", where, q.Name, q.expected()))
		}
		if !ok {
			continue
		}
		if members[q.Name], err = q.convert(m, where+"."+q.Name, depth+1); err != nil {
			return nil, err
		}
	}
	return a.JSON(), nil
}

// expected describes the expected argument in words.
func (p Property) expected() string {
	switch {
	case p.Type == "":
		return "any value"
	case p.Enum != nil:
		return "one of " + list(p.Enum)
	case p.Type == "array" && p.Items != nil && p.Items.Type != "" && p.Items.Object == nil:
		return "a list of " + p.Items.Type + "s"
	case p.Type == "array":
		return "a list of objects"
	case p.Type == "integer" || p.Type == "object":
		return "an " + p.Type
	}
	return "a " + p.Type
}

// integer accepts 3 and 3.0, within the range that an int64 and a float64 both
// hold.
func integer(v json.RawMessage) (json.RawMessage, bool) {
	if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if !isNumber(v) || err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return v, false
	}
	return strconv.AppendInt(nil, int64(f), 10), true
}

func isNumber(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
