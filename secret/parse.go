package secret

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
)

// DefaultServer is the server of relative URLs of lookups, unless
// OH_INTERNAL_SERVER_URL or [ParseOptions.Server] names another.
const DefaultServer = "http://127.0.0.1:8000"

// ParseOptions say how sources are read.
type ParseOptions struct {
	// Server is the base of relative URLs; empty for DefaultServer.
	Server string
	// Ring decrypts values; nil leaves them as they are. A sealed value that no key opens
	// counts as none, and [Source.Sealed] keeps it, so that it is not lost when the source is
	// stored again.
	Ring Sealer
}

// wireSource is the union StaticSecret | LookupSecret.
type wireSource struct {
	Kind        string            `json:"kind"`
	Description *string           `json:"description"`
	Value       *string           `json:"value"`
	URL         *string           `json:"url"`
	Headers     map[string]string `json:"headers"`
}

// Parse reads a source: a plain string, {"value": …}, StaticSecret or
// LookupSecret. The mask, a blank text and null are no value, and headers that
// should hold a secret and hold none are dropped. Errors are of kind
// fault.Invalid, in the reference's words where it has some.
func Parse(raw []byte, o ParseOptions) (Source, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return Source{}, fault.New(fault.Invalid, "not JSON")
		}
		return o.static(text, ""), nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		return Source{}, fault.New(fault.Invalid, "Input should be an object")
	}
	var w wireSource
	if err := json.Unmarshal(raw, &w); err != nil {
		return Source{}, fault.New(fault.Invalid, wrongType(err))
	}
	if w.Kind == "" && has(raw, "value") && !has(raw, "kind") {
		w = wireSource{Kind: KindStatic, Value: w.Value}
	}
	s := Source{Kind: w.Kind, Description: optional.Value(w.Description)}
	switch w.Kind {
	case KindStatic:
		s = o.static(optional.Value(w.Value), s.Description)
	case KindLookup:
		if w.URL == nil {
			return Source{}, fault.New(fault.Invalid, "url: Field required")
		}
		s.URL, s.Headers = o.absolute(*w.URL), o.headers(w.Headers)
	default:
		return Source{}, fault.New(fault.Invalid, fmt.Sprintf("Unknown kind '%s' for openhands.sdk.secret.secrets.SecretSource; "+
			"Expected one of: ['LookupSecret', 'StaticSecret']", w.Kind))
	}
	return s, nil
}

// ParseMap reads an object of sources by name and keeps its order. null is an
// empty one.
func ParseMap(raw []byte, o ParseOptions) ([]Named, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	first, err := dec.Token()
	switch {
	case err == nil && first == nil:
		return nil, nil
	case err != nil || first != json.Delim('{'):
		return nil, fault.New(fault.Invalid, "Input should be a valid dictionary")
	}
	var all []Named
	at := map[string]int{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fault.New(fault.Invalid, "not JSON")
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fault.New(fault.Invalid, "not JSON")
		}
		s, err := Parse(value, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if i, twice := at[name]; twice {
			all[i].Source = s
			continue
		}
		at[name] = len(all)
		all = append(all, Named{name, s})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fault.New(fault.Invalid, "not JSON")
	}
	return all, nil
}

// static makes a static source of the text that stands for its value.
func (o ParseOptions) static(text, description string) Source {
	s := Static(o.open(text), description)
	if s.Value == "" && o.Ring != nil && o.Ring.Looks(text) {
		s.Sealed = text
	}
	return s
}

// open returns the value that a text stands for.
func (o ParseOptions) open(text string) string {
	if NoValue(text) {
		return ""
	}
	if o.Ring == nil || !o.Ring.Looks(text) {
		return text
	}
	if value, err := o.Ring.Open(text); err == nil {
		return string(value)
	}
	return ""
}

// headers drops sensitive ones without a value. One that looks sealed and is
// not stays as it is: a client means its headers as they are.
func (o ParseOptions) headers(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for name, text := range in {
		switch {
		case !Sensitive(name):
			out[name] = text
		case NoValue(text):
		default:
			out[name] = cmp.Or(o.open(text), text)
		}
	}
	return out
}

func (o ParseOptions) absolute(text string) string {
	ref, err := url.Parse(text)
	if err != nil || ref.Scheme != "" || ref.Host != "" {
		return text
	}
	server := o.Server
	server = cmp.Or(server, DefaultServer)
	base, err := url.Parse(strings.TrimRight(server, "/") + "/")
	if err != nil {
		return text
	}
	return base.ResolveReference(ref).String()
}

// wrongType names the field with the wrong type, without its value.
func wrongType(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "headers" && wrong.Type.Kind().String() == "map" {
			return "headers: Input should be a valid dictionary"
		}
		return wrong.Field + ": Input should be a valid string"
	}
	return "not JSON"
}

func has(raw []byte, field string) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return false
	}
	_, ok := m[field]
	return ok
}
