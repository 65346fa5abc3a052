package schema

import (
	"maps"
	"slices"
)

// Map is a JSON object that keeps the order of its keys. The zero value and
// nil are empty objects; nil cannot be written to.
type Map struct {
	keys   []string
	values []any
	index  map[string]int // of the keys, where there are more than fewKeys
}

// fewKeys is the number of keys up to which a linear search is used: it takes
// about as long as a hash, and a fraction of the memory. The largest object that the
// server itself makes, an LLM, has 75.
const fewKeys = 128

// NewMap returns an empty object.
func NewMap() *Map { return &Map{} }

// sized returns an empty object with room for n keys.
func sized(n int) *Map {
	return &Map{keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Of returns an object of keys and values that follow one another.
func Of(pairs ...any) *Map {
	m := sized(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			m.Set(key, pairs[i+1])
		}
	}
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// Keys returns the keys in their order. Callers must not change the slice.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// find returns the index of a key, -1 if it is absent.
func (m *Map) find(key string) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.Index(m.keys, key)
}

// Lookup returns a value and whether it is there; null is there.
func (m *Map) Lookup(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	if i := m.find(key); i >= 0 {
		return m.values[i], true
	}
	return nil, false
}

// Get returns a value, nil if it is absent.
func (m *Map) Get(key string) any {
	v, _ := m.Lookup(key)
	return v
}

// Text returns a value that is a string, else "".
func (m *Map) Text(key string) string {
	s, _ := m.Get(key).(string)
	return s
}

// Pointer returns a value that is a string, else nil.
func (m *Map) Pointer(key string) *string {
	if s, ok := m.Get(key).(string); ok {
		return &s
	}
	return nil
}

// Object returns a value that is an object, else nil.
func (m *Map) Object(key string) *Map {
	o, _ := m.Get(key).(*Map)
	return o
}

// Set writes a value. A new key comes last, an existing one keeps its position.
func (m *Map) Set(key string, v any) {
	if i := m.find(key); i >= 0 {
		m.values[i] = v
		return
	}
	m.keys, m.values = append(m.keys, key), append(m.values, v)
	switch {
	case m.index != nil:
		m.index[key] = len(m.keys) - 1
	case len(m.keys) > fewKeys:
		m.reindex()
	}
}

// Delete removes a key, if it is there.
func (m *Map) Delete(key string) {
	if m == nil {
		return
	}
	i := m.find(key)
	if i < 0 {
		return
	}
	// Slices that Keys returned must not change.
	m.keys = append(m.keys[:i:i], m.keys[i+1:]...)
	m.values = slices.Delete(m.values, i, i+1)
	if m.index != nil {
		m.reindex()
	}
}

func (m *Map) reindex() {
	m.index = make(map[string]int, 2*len(m.keys))
	for i, k := range m.keys {
		m.index[k] = i
	}
}

// Copy returns an object with the same keys and the same values.
func (m *Map) Copy() *Map {
	if m == nil {
		return NewMap()
	}
	return &Map{keys: slices.Clone(m.keys), values: slices.Clone(m.values), index: maps.Clone(m.index)}
}
