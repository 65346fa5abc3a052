package event

import "github.com/deft-dev/deft/event/internal/wire"

// List is a slice that is written as [] when it is nil, because the wire
// contract has no null lists.
type List[T any] []T

// AppendJSON appends the list's JSON to dst.
func (l List[T]) AppendJSON(dst []byte) ([]byte, error) {
	if l == nil {
		return append(dst, "[]"...), nil
	}
	return wire.Append(dst, []T(l))
}

// MarshalJSON implements [json.Marshaler].
func (l List[T]) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil) }

// Map is a map that is written as {} when it is nil, and sorted by key.
type Map[V any] map[string]V

// AppendJSON appends the map's JSON to dst.
func (m Map[V]) AppendJSON(dst []byte) ([]byte, error) {
	if m == nil {
		return append(dst, "{}"...), nil
	}
	return wire.Append(dst, map[string]V(m))
}

// MarshalJSON implements [json.Marshaler].
func (m Map[V]) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }
