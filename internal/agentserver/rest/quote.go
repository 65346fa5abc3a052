package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// kept is a body that was read, for violations that quote it.
type kept struct {
	io.ReadCloser
	raw []byte
}

// quotable bounds a body that is quoted: it is decoded once more for that.
const quotable = 64 << 10

// quoted returns the violations with what stood at their places in the body,
// where they do not say it themselves. A value whose name could be that of a
// secret is hidden.
func (v Violations) quoted(r *http.Request) Violations {
	body, ok := r.Body.(*kept)
	bare := func(one Violation) bool { return one.Input == nil && len(one.Loc) > 0 && one.Loc[0] == "body" }
	if !ok || len(body.raw) > quotable || !slices.ContainsFunc(v, bare) {
		return v
	}
	d := json.NewDecoder(bytes.NewReader(body.raw))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil {
		return v
	}
	out := slices.Clone(v)
	for i, one := range out {
		if !bare(one) {
			continue
		}
		place, missing := one.Loc[1:], one.Type == "missing"
		value := at(doc, place, missing)
		if missing && len(place) > 0 {
			place = place[:len(place)-1]
		}
		out[i].Input = careful(place, value)
	}
	return out
}

// at returns the value at a place of a document, or nil; of what is missing
// the object that lacks it. Parts of the place that name one of several forms
// of a value are not in the document.
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

// careful hides what is below a name of secrets, and texts called a value.
func careful(loc []any, v any) any {
	if v != nil && amongSecrets(append([]any{"body"}, loc...)) {
		return hide(v)
	}
	return withoutValues(v)
}

func withoutValues(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if _, ok := inner.(string); ok && name == "value" {
				v[name] = redacted
			} else {
				v[name] = withoutValues(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutValues(v[i])
		}
	}
	return v
}
