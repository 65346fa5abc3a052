// Package optional converts between values and pointers to them, where nil stands for
// none.
//
// # Usage
//
//	view.Title = optional.Of(title)         // null where it is empty
//	name := optional.Value(action.ToolName) // "" where it is null
//
// # Concurrency and failure
//
// The functions keep nothing and cannot fail.
package optional

// Of returns a pointer to a value, nil for the zero value.
func Of[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Value returns what a pointer points to, the zero value for nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
