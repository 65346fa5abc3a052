package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/internal/fault"
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

// Marshal returns the wire form of an event: absent values left out (the
// reference's exclude_none), "kind" last.
func Marshal(ev Event) ([]byte, error) {
	if u, ok := ev.(*Unknown); ok {
		return u.Raw, nil
	}
	return marshalKind(ev, ev.Kind())
}

// MarshalAction returns the wire form of an action.
func MarshalAction(a Action) ([]byte, error) {
	if u, ok := a.(*UnknownAction); ok {
		return u.Raw, nil
	}
	return marshalKind(a, a.Kind())
}

// MarshalObservation returns the wire form of an observation.
func MarshalObservation(o Observation) ([]byte, error) {
	if u, ok := o.(*UnknownObservation); ok {
		return u.Raw, nil
	}
	return marshalKind(o, o.Kind())
}

func marshalKind(v any, kind string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("}\n"))
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(b, `"kind":"`...)
	b = append(b, kind...)
	return append(b, `"}`...), nil
}

// Unmarshal decodes an event. A kind nobody registered gives *[Unknown]. The
// error is of kind fault.Invalid.
func Unmarshal(b []byte) (Event, error) {
	ev, err := decode(b, &events, func(kind string) Event {
		return &Unknown{KindName: kind, Raw: bytes.Clone(b)}
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an event")
	}
	if u, ok := ev.(*Unknown); ok {
		if err := json.Unmarshal(b, &u.Base); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "not an event")
		}
	}
	return ev, nil
}

// UnmarshalAction decodes an action; null gives nil.
func UnmarshalAction(b []byte) (Action, error) {
	if RawOrNil(b) == nil {
		return nil, nil
	}
	a, err := decode(b, &actions, func(kind string) Action {
		return &UnknownAction{KindName: kind, Raw: bytes.Clone(b)}
	})
	return a, fault.Wrap(err, fault.Invalid, "not an action")
}

// UnmarshalObservation decodes an observation.
func UnmarshalObservation(b []byte) (Observation, error) {
	o, err := decode(b, &observations, func(kind string) Observation {
		return &UnknownObservation{KindName: kind, Raw: bytes.Clone(b)}
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an observation")
	}
	if u, ok := o.(*UnknownObservation); ok {
		if err := json.Unmarshal(b, &u.ObservationBase); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "not an observation")
		}
	}
	return o, nil
}

func decode[T any](b []byte, r *registry[T], unknown func(kind string) T) (v T, err error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return v, err
	}
	if head.Kind == "" {
		return v, fmt.Errorf("no kind")
	}
	mk := r.get(head.Kind)
	if mk == nil {
		return unknown(head.Kind), nil
	}
	v = mk()
	if err := json.Unmarshal(b, v); err != nil {
		return v, fmt.Errorf("decode %s: %w", head.Kind, err)
	}
	return v, nil
}

// MarshalJSON writes the action in its place.
func (e *ActionEvent) MarshalJSON() ([]byte, error) {
	type plain ActionEvent
	out := struct {
		*plain
		Action json.RawMessage `json:"action,omitempty"`
	}{plain: (*plain)(e)}
	if e.Action != nil {
		raw, err := MarshalAction(e.Action)
		if err != nil {
			return nil, err
		}
		out.Action = raw
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the action by its kind.
func (e *ActionEvent) UnmarshalJSON(b []byte) error {
	type plain ActionEvent
	in := struct {
		*plain
		Action json.RawMessage `json:"action"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	a, err := UnmarshalAction(in.Action)
	e.Action = a
	return err
}

// MarshalJSON writes the observation in its place.
func (e *ObservationEvent) MarshalJSON() ([]byte, error) {
	type plain ObservationEvent
	if e.Observation == nil {
		return nil, fmt.Errorf("observation event %s has no observation", e.ID)
	}
	raw, err := MarshalObservation(e.Observation)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		*plain
		Observation json.RawMessage `json:"observation"`
	}{(*plain)(e), raw})
}

// UnmarshalJSON reads the observation by its kind.
func (e *ObservationEvent) UnmarshalJSON(b []byte) error {
	type plain ObservationEvent
	in := struct {
		*plain
		Observation json.RawMessage `json:"observation"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	o, err := UnmarshalObservation(in.Observation)
	e.Observation = o
	return err
}
