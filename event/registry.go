package event

import (
	"maps"
	"slices"
	"sync"
)

// registry maps the kinds of one union to constructors.
type registry[T any] struct {
	mu   sync.RWMutex
	make map[string]func() T
}

func (r *registry[T]) add(kind string, mk func() T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.make == nil {
		r.make = make(map[string]func() T)
	}
	if _, taken := r.make[kind]; taken {
		panic("event: kind " + kind + " registered twice") // a defect of the program, found at its start
	}
	r.make[kind] = mk
}

func (r *registry[T]) get(kind string) func() T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.make[kind]
}

func (r *registry[T]) kinds() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.make))
}

var (
	events       registry[Event]
	actions      registry[Action]
	observations registry[Observation]
)

func register[T any, P interface {
	*T
	Event
}]() {
	events.add(P(new(T)).Kind(), func() Event { return P(new(T)) })
}

// RegisterAction makes an Action type of another package known to the
// decoder. Call it from an init function; registering a kind twice panics.
func RegisterAction[T any, P interface {
	*T
	Action
}]() {
	actions.add(P(new(T)).Kind(), func() Action { return P(new(T)) })
}

// RegisterObservation makes an Observation type of another package known to
// the decoder. Call it from an init function; registering a kind twice panics.
func RegisterObservation[T any, P interface {
	*T
	Observation
}]() {
	observations.add(P(new(T)).Kind(), func() Observation { return P(new(T)) })
}

// Defaulter is an Action, an Observation or a part of one whose absent fields
// do not all mean zero. SetDefaults is called on a new value before its JSON
// is decoded.
type Defaulter interface {
	SetDefaults()
}
