package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	segmentio "github.com/segmentio/encoding/json"
)

// maxNesting bounds how far values may be nested.
const maxNesting = 128

var errNesting = errors.New("the JSON is nested too deeply")

// Parse reads one JSON value: objects as *Map, arrays as []any, numbers as
// json.Number. Values that are nested too deeply are an error. Of two keys that
// are the same, the last one counts.
func Parse(raw []byte) (any, error) {
	if !json.Valid(raw) {
		var v any
		err := json.Unmarshal(raw, &v) // for its error
		if err == nil {
			err = errors.New("invalid JSON")
		}
		return nil, err
	}
	t := segmentio.NewTokenizer(raw) // which relies on valid JSON
	t.Next()
	return parse(t, 0)
}

// parse reads the value that begins with the current token.
func parse(t *segmentio.Tokenizer, depth int) (any, error) {
	switch {
	case t.Err != nil:
		return nil, t.Err
	case depth > maxNesting:
		return nil, errNesting
	case len(t.Value) == 0:
		return nil, io.ErrUnexpectedEOF
	}
	switch t.Delim {
	case '{':
		m := NewMap()
		for t.Next() && t.Delim != '}' {
			if t.Delim == ',' {
				t.Next()
			}
			key, err := parseString(t.Value)
			if err != nil {
				return nil, err
			}
			t.Next() // the colon
			t.Next()
			v, err := parse(t, depth+1)
			if err != nil {
				return nil, err
			}
			m.Set(key, v)
		}
		return m, t.Err
	case '[':
		list := []any{}
		for t.Next() && t.Delim != ']' {
			if t.Delim == ',' {
				t.Next()
			}
			v, err := parse(t, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, t.Err
	}
	return parseScalar(t.Value)
}

func parseScalar(raw []byte) (any, error) {
	switch raw[0] {
	case '"':
		return parseString(raw)
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case 'n':
		return nil, nil
	}
	return json.Number(raw), nil
}

// parseString leaves a string with escapes or with bad UTF-8 to encoding/json.
func parseString(raw []byte) (s string, err error) {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}
