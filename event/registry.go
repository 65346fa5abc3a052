package event

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// registry maps the kinds of one union to constructors.
type registry[T any] struct {
	mu   sync.RWMutex
	make map[string]func() T
	own  []string // kinds that are not the reference's
}

func (r *registry[T]) add(kind string, own bool, mk func() T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.make == nil {
		r.make = make(map[string]func() T)
	}
	if own {
		r.own = append(r.own, kind)
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

// owns reports whether a kind is not the reference's.
func (r *registry[T]) owns(kind string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Contains(r.own, kind)
}

// mayHaveOwn reports whether JSON has the name of a kind that is not the reference's.
func (r *registry[T]) mayHaveOwn(raw []byte) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(r.own, func(kind string) bool { return bytes.Contains(raw, []byte(kind)) })
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
	events.add(P(new(T)).Kind(), false, func() Event { return P(new(T)) })
}

// RegisterAction makes an Action type of another package known to the
// decoder. Call it from an init function; registering a kind twice panics.
// Clients of OpenHands do not know the kind; see [WithoutOwnKinds].
func RegisterAction[T any, P interface {
	*T
	Action
}]() {
	actions.add(P(new(T)).Kind(), true, func() Action { return P(new(T)) })
}

// RegisterObservation makes an Observation type of another package known to
// the decoder, as [RegisterAction] does.
func RegisterObservation[T any, P interface {
	*T
	Observation
}]() {
	observations.add(P(new(T)).Kind(), true, func() Observation { return P(new(T)) })
}

// registerAction and registerObservation register the reference's kinds.
func registerAction[T any, P interface {
	*T
	Action
}]() {
	actions.add(P(new(T)).Kind(), false, func() Action { return P(new(T)) })
}

func registerObservation[T any, P interface {
	*T
	Observation
}]() {
	observations.add(P(new(T)).Kind(), false, func() Observation { return P(new(T)) })
}

// Defaulter is an Action, an Observation or a part of one whose absent fields
// do not all mean zero. SetDefaults is called on a new value before its JSON
// is decoded.
type Defaulter interface {
	SetDefaults()
}
