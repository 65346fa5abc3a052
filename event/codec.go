package event

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/event/internal/wire"
	"github.com/deft-dev/deft/fault"
)

func init() {
	wire.Union(decodeAction)
	wire.Union(decodeObservation)
}

// Marshal returns the wire form of an event: absent values left out (the
// reference's exclude_none), "kind" last. An [Unknown] is returned verbatim.
// The error, for raw JSON inside the event that is not JSON, is of kind
// fault.Internal.
func Marshal(ev Event) ([]byte, error) {
	if o, ok := ev.(*ObservationEvent); ok {
		if err := o.missing(); err != nil {
			return nil, fmt.Errorf("encode %s: %w", o.Kind(), err)
		}
	}
	return marshal(ev, wire.AppendFields)
}

// MarshalAction returns the wire form of an action, like [Marshal].
func MarshalAction(a Action) ([]byte, error) {
	return marshal(a, wire.AppendMember)
}

// MarshalObservation returns the wire form of an observation, like [Marshal].
func MarshalObservation(o Observation) ([]byte, error) {
	return marshal(o, wire.AppendMember)
}

// scratch holds buffers to encode into, so that one event costs one
// allocation of its exact size.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// scratchMax is the capacity in bytes above which a buffer is not kept.
const scratchMax = 1 << 20

func marshal(v wire.Kinder, write func([]byte, wire.Kinder) ([]byte, error)) ([]byte, error) {
	if v == nil {
		return nil, errors.New("encode nothing")
	}
	if a, ok := v.(wire.Appender); ok {
		return a.AppendJSON(nil)
	}
	buf := scratch.Get().(*[]byte)
	b, err := write((*buf)[:0], v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", v.Kind(), err)
	}
	out := bytes.Clone(b)
	if cap(b) <= scratchMax {
		*buf = b
		scratch.Put(buf)
	}
	return out, nil
}

// Unmarshal decodes an event. An unregistered kind gives *[Unknown]. The
// error is of kind fault.Invalid.
func Unmarshal(b []byte) (Event, error) {
	ev, err := checked(b, decodeEvent)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an event")
	}
	return ev, nil
}

// UnmarshalAction decodes an action; null gives nil. An unregistered kind gives
// *[UnknownAction]. The error is of kind fault.Invalid.
func UnmarshalAction(b []byte) (Action, error) {
	if RawOrNil(b) == nil {
		return nil, nil
	}
	a, err := checked(b, decodeAction)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an action")
	}
	return a, nil
}

// UnmarshalObservation decodes an observation. An unregistered kind gives
// *[UnknownObservation]. The error is of kind fault.Invalid.
func UnmarshalObservation(b []byte) (Observation, error) {
	o, err := checked(b, decodeObservation)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an observation")
	}
	return o, nil
}

func checked[T any](b []byte, decode func([]byte) (T, error)) (T, error) {
	if err := wire.Check(b); err != nil {
		var none T
		return none, err
	}
	return decode(b)
}

func decodeEvent(b []byte) (Event, error) {
	var some [24]wire.Member
	kind, members, err := open(b, some[:0])
	if err != nil {
		return nil, err
	}
	mk := events.get(kind)
	if mk == nil {
		u := &Unknown{KindName: kind, Raw: bytes.Clone(b)}
		return u, wire.DecodeMembers(members, &u.Base)
	}
	ev := mk()
	if err := fillEvent(members, ev); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return ev, nil
}

func decodeAction(b []byte) (Action, error) {
	var some [16]wire.Member
	kind, members, err := open(b, some[:0])
	if err != nil {
		return nil, err
	}
	mk := actions.get(kind)
	if mk == nil {
		return &UnknownAction{KindName: kind, Raw: bytes.Clone(b)}, nil
	}
	a := mk()
	if err := wire.DecodeMember(b, members, a); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return a, nil
}

func decodeObservation(b []byte) (Observation, error) {
	var some [16]wire.Member
	kind, members, err := open(b, some[:0])
	if err != nil {
		return nil, err
	}
	mk := observations.get(kind)
	if mk == nil {
		u := &UnknownObservation{KindName: kind, Raw: bytes.Clone(b)}
		if wire.DecodeMembers(members, &u.ObservationBase) != nil {
			u.ObservationBase = ObservationBase{} // of an unknown schema; Raw holds it
		}
		return u, nil
	}
	o := mk()
	if err := wire.DecodeMember(b, members, o); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return o, nil
}

// open splits a checked object and returns its kind.
func open(b []byte, into []wire.Member) (string, []wire.Member, error) {
	members, err := wire.Members(b, into)
	if err != nil {
		return "", nil, err
	}
	kind := wire.String(members, "kind")
	if kind == "" {
		return "", nil, errors.New("no kind")
	}
	return kind, members, nil
}

func fillEvent(members []wire.Member, ev Event) error {
	if err := wire.DecodeMembers(members, ev); err != nil {
		return err
	}
	if o, ok := ev.(*ObservationEvent); ok {
		return o.missing()
	}
	return nil
}

// unmarshalInto reads an event of a known type for its UnmarshalJSON.
func unmarshalInto(b []byte, ev Event) error {
	if err := wire.Check(b); err != nil {
		return err
	}
	members, err := wire.Members(b, nil)
	if err != nil {
		return err
	}
	return fillEvent(members, ev)
}
