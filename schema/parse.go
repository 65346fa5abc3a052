package schema

import (
	"bytes"
	"encoding/json"
	"errors"
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
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return parse(d, 0)
}

func parse(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case depth > maxNesting:
		return nil, errNesting
	case token == json.Delim('{'):
		m := NewMap()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parse(d, depth+1)
			if err != nil {
				return nil, err
			}
			m.Set(key.(string), v)
		}
		_, err = d.Token()
		return m, err
	case token == json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parse(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}
