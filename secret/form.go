package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/deft-dev/deft/fault"
)

// Form is how a document shows values (docs/openhands/sdk-wire.md section 0.8).
type Form int

// The forms.
const (
	// Masked shows the mask: event dumps with every field.
	Masked Form = iota
	// Event is Masked without absent fields, for events.
	Event
	// Null shows null, and drops sensitive headers: REST answers.
	Null
	// Sealed encrypts, for storage and for X-Expose-Secrets: encrypted.
	Sealed
	// Plain shows the value: X-Expose-Secrets: plaintext.
	Plain
)

// Sealer encrypts values that are stored. Its errors hold no value.
type Sealer interface {
	// Looks reports whether a text begins as an encrypted value does.
	Looks(text string) bool
	// Seal encrypts a value. Without a key the error is of kind
	// fault.Unsupported.
	Seal(value []byte) (string, error)
	// Open decrypts a value. If no key does, the error is of kind fault.Denied.
	Open(sealed string) ([]byte, error)
	// Renew encrypts a value with the current key if an older one opens it, and
	// returns it unchanged otherwise. If no key opens it, the error is of kind
	// fault.Denied.
	Renew(sealed string) (string, error)
}

// Append writes the source's JSON to dst, with its kind last. Only the form
// Sealed needs a ring; without one it is an error of kind fault.Unsupported. A
// value that the ring has encrypted already is not encrypted twice.
func (s Source) Append(dst []byte, f Form, ring Sealer) ([]byte, error) {
	w := writer{b: append(dst, '{'), form: f, ring: ring}
	if s.Description != "" {
		w.field("description", s.Description)
	} else if f != Event {
		w.null("description")
	}
	if s.Kind == KindLookup {
		w.field("url", s.URL)
		w.headers(s.Headers)
	} else {
		w.value(s.Value, s.Sealed)
	}
	w.field("kind", s.Kind)
	if w.err != nil {
		return nil, w.err
	}
	return append(w.b, '}'), nil
}

// AppendMap writes sources by name.
func AppendMap(dst []byte, all []Named, f Form, ring Sealer) ([]byte, error) {
	dst = append(dst, '{')
	for i, n := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = n.Append(append(appendText(dst, n.Name), ':'), f, ring); err != nil {
			return nil, fmt.Errorf("secret %s: %w", n.Name, err)
		}
	}
	return append(dst, '}'), nil
}

// writer appends the members of an object.
type writer struct {
	b    []byte
	form Form
	ring Sealer
	err  error
}

func (w *writer) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(appendText(w.b, name), ':')
}

func (w *writer) field(name, text string) {
	w.key(name)
	w.b = appendText(w.b, text)
}

func (w *writer) null(name string) {
	w.key(name)
	w.b = append(w.b, "null"...)
}

func (w *writer) value(v, sealed string) {
	if v == "" && sealed != "" && w.form == Sealed {
		w.field("value", sealed)
		return
	}
	if v == "" || w.form == Null {
		if w.form != Event {
			w.null("value")
		}
		return
	}
	w.field("value", w.shown(v))
}

func (w *writer) headers(all map[string]string) {
	w.key("headers")
	w.b = append(w.b, '{')
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name]; {
		case !Sensitive(name):
			w.field(name, v)
		case v != "" && w.form != Null:
			w.field(name, w.shown(v))
		}
	}
	w.b = append(w.b, '}')
}

// shown is how a value appears in the form.
func (w *writer) shown(v string) string {
	switch w.form {
	case Plain:
		return v
	case Sealed:
		if w.ring == nil {
			w.err = fault.New(fault.Unsupported, "cannot encrypt a secret: there is no secret key").Hint("set OH_SECRET_KEY")
			return ""
		}
		if w.ring.Looks(v) {
			if renewed, err := w.ring.Renew(v); err == nil {
				return renewed
			}
		}
		sealed, err := w.ring.Seal([]byte(v))
		if err != nil {
			w.err = err
		}
		return sealed
	}
	return Redacted
}

// appendText appends a JSON string.
func appendText(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes, into memory
	return append(dst, b.Bytes()[:b.Len()-1]...)
}
