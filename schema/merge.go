package schema

// Merge applies a JSON merge patch (RFC 7386): objects merge key by key, null
// removes a key, everything else replaces.
func Merge(base, patch *Map) *Map {
	out := sized(base.Len())
	for i, k := range base.Keys() {
		old := base.values[i]
		switch v, given := patch.Lookup(k); {
		case !given:
			out.Set(k, old)
		case v != nil:
			out.Set(k, merged(old, v))
		}
	}
	for i, k := range patch.Keys() {
		if _, known := base.Lookup(k); !known && patch.values[i] != nil {
			out.Set(k, patch.values[i])
		}
	}
	return out
}

func merged(old, v any) any {
	was, isMap := old.(*Map)
	patch, patches := v.(*Map)
	if isMap && patches {
		return Merge(was, patch)
	}
	return v
}

// MergeFields is [Merge], except that null on the first level is a value like
// any other: the types of the fields decide whether it fits.
func MergeFields(base, patch *Map) *Map {
	out := base.Copy()
	for i, k := range patch.Keys() {
		out.Set(k, merged(out.Get(k), patch.values[i]))
	}
	return out
}

// WithoutNulls returns a value without the members of objects that are null,
// at any depth.
func WithoutNulls(v any) any {
	switch v := v.(type) {
	case *Map:
		out := sized(v.Len())
		for i, k := range v.Keys() {
			if v.values[i] != nil {
				out.Set(k, WithoutNulls(v.values[i]))
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = WithoutNulls(v[i])
		}
		return out
	}
	return v
}

// each returns a value with all texts in it replaced, but for keys.
func each(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = each(e, f)
		}
		return out
	case *Map:
		out := v.Copy()
		for i, e := range v.values {
			out.values[i] = each(e, f)
		}
		return out
	}
	return v
}
