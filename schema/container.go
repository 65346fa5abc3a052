package schema

// List is a list of one type.
type List struct{ Of Type }

func (t List) check(r *reader, v any, loc []any) any {
	list, ok := v.([]any)
	if !ok {
		r.add("list_type", "Input should be a valid list", v, loc)
		return []any{}
	}
	out := make([]any, len(list))
	for i, e := range list {
		if len(r.wrong) >= MostViolations {
			break
		}
		out[i] = t.Of.check(r, e, at(loc, i))
	}
	return out
}

func (t List) dump(w *writer, v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = w.dump(t.Of, e)
	}
	return out
}

// Dict is an object with keys of the user's own and values of one type.
type Dict struct{ Of Type }

func (t Dict) check(r *reader, v any, loc []any) any {
	return r.dict(v, loc, func(_ string, v any, loc []any) (any, bool) { return t.Of.check(r, v, loc), true })
}

func (t Dict) dump(w *writer, v any) any {
	return dumpDict(v, func(_ string, v any) (any, bool) { return w.dump(t.Of, v), true })
}

// dict checks that a value is an object, and keeps the function's results for its
// values.
func (r *reader) dict(v any, loc []any, one func(key string, v any, loc []any) (checked any, keep bool)) any {
	m, ok := v.(*Map)
	if !ok {
		r.add("dict_type", "Input should be a valid dictionary", v, loc)
		return NewMap()
	}
	out := NewMap()
	for _, k := range m.Keys() {
		if len(r.wrong) >= MostViolations {
			break
		}
		if checked, keep := one(k, m.Get(k), at(loc, k)); keep {
			out.Set(k, checked)
		}
	}
	return out
}

// dumpDict writes an object with one's results for its values; anything else stays
// unchanged.
func dumpDict(v any, one func(key string, v any) (written any, keep bool)) any {
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	out := NewMap()
	for _, k := range m.Keys() {
		if written, keep := one(k, m.Get(k)); keep {
			out.Set(k, written)
		}
	}
	return out
}

type optional struct{ of Type }

// Opt is a type or null.
func Opt(t Type) Type { return optional{t} }

func (t optional) check(r *reader, v any, loc []any) any {
	if v == nil {
		return nil
	}
	return t.of.check(r, v, loc)
}

func (t optional) dump(w *writer, v any) any {
	if v == nil {
		return nil
	}
	return w.dump(t.of, v)
}

func at(loc []any, part any) []any { return append(loc[:len(loc):len(loc)], part) }
