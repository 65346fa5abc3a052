package schema

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// maxNesting bounds how far values may be nested.
const maxNesting = 128

var errNesting = errors.New("the JSON is nested too deeply")

// Parse reads one JSON value: objects as *Map, arrays as []any, numbers as
// json.Number. What is nested too deeply is an error. Of two keys that are the
// same, the last one counts.
func Parse(raw []byte) (any, error) {
	if !json.Valid(raw) {
		var v any
		err := json.Unmarshal(raw, &v) // for its error
		if err == nil {
			err = errors.New("invalid JSON")
		}
		return nil, err
	}
	p := parser{raw: raw}
	return p.value(0)
}

// parser walks through JSON that is known to be valid.
type parser struct {
	raw []byte
	at  int
}

// next skips blanks, commas and colons, and returns what stands there.
func (p *parser) next() byte {
	for {
		switch c := p.raw[p.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			p.at++
		default:
			return c
		}
	}
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, errNesting
	}
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		return p.text()
	case 't':
		p.at += len("true")
		return true, nil
	case 'f':
		p.at += len("false")
		return false, nil
	case 'n':
		p.at += len("null")
		return nil, nil
	}
	from := p.at
	for p.at < len(p.raw) && isNumber(p.raw[p.at]) {
		p.at++
	}
	return json.Number(p.raw[from:p.at]), nil
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (p *parser) object(depth int) (any, error) {
	m := NewMap()
	for p.at++; p.next() != '}'; {
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
	}
	p.at++
	return m, nil
}

func (p *parser) list(depth int) (any, error) {
	list := []any{}
	for p.at++; p.next() != ']'; {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	p.at++
	return list, nil
}

// text reads a string, whose quotation mark is where the parser is.
func (p *parser) text() (string, error) {
	from, plain := p.at, true
	for p.at++; p.raw[p.at] != '"'; p.at++ {
		if p.raw[p.at] == '\\' {
			plain = false
			p.at++
		}
	}
	p.at++
	if inner := p.raw[from+1 : p.at-1]; plain && utf8.Valid(inner) {
		return string(inner), nil
	}
	var s string
	err := json.Unmarshal(p.raw[from:p.at], &s)
	return s, err
}
