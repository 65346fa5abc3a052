package event

import "encoding/json"

// List is a slice that is written as [] when it is nil, because the wire
// contract has no null lists.
type List[T any] []T

// MarshalJSON implements [json.Marshaler].
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Map is a map that is written as {} when it is nil.
type Map[V any] map[string]V

// MarshalJSON implements [json.Marshaler].
func (m Map[V]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]V(m))
}
