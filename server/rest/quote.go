package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/deft-dev/deft/schema"
)

// readBody is a body that was read, for violations that quote it.
type readBody struct {
	io.ReadCloser
	raw   []byte
	freed bool // it was decoded, and is too long to be quoted
}

// maxQuoted bounds a body that is quoted, in bytes: quoting decodes it again.
const maxQuoted = 64 << 10

// Quoted returns the violations of a request as its answer has them: with the
// values that they are about, without secrets, at most [schema.MostViolations].
func Quoted(v schema.Violations, r *http.Request) schema.Violations {
	return sanitized(withInput(v, r))
}

// withInput adds to violations the values at their places in the body.
func withInput(v schema.Violations, r *http.Request) schema.Violations {
	body, ok := r.Body.(*readBody)
	bare := func(one schema.Violation) bool { return one.Input == nil && len(one.Loc) > 0 && one.Loc[0] == "body" }
	if !ok || len(body.raw) > maxQuoted || !slices.ContainsFunc(v, bare) {
		return v
	}
	d := json.NewDecoder(bytes.NewReader(body.raw))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil {
		return v
	}
	out := slices.Clone(v[:min(len(v), schema.MostViolations)])
	for i, one := range out {
		if !bare(one) {
			continue
		}
		out[i].Input = at(doc, one.Loc[1:], one.Type == "missing")
	}
	return out
}

// at returns the value at a place of a document, or nil; for a missing field the
// object that lacks it. Parts of the place that name one of several forms of a
// value are not in the document.
func at(doc any, loc []any, missing bool) any {
	if missing && len(loc) == 0 {
		return nil // the body itself
	}
	for i, part := range loc {
		last := i == len(loc)-1
		if last && missing {
			return doc
		}
		switch v := doc.(type) {
		case map[string]any:
			name, _ := part.(string)
			inner, ok := v[name]
			switch {
			case ok:
				doc = inner
			case last:
				return nil
			}
		case []any:
			if n, ok := part.(int); ok && n >= 0 && n < len(v) {
				doc = v[n]
			} else if ok || last {
				return nil
			}
		}
	}
	return doc
}
