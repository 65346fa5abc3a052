package event

import (
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event/internal/wire"
	"github.com/deft-dev/deft/internal/rawjson"
)

// Unknown is an event of an unregistered kind, kept verbatim: changes to
// its Base are not written back.
type Unknown struct {
	Base
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Event].
func (u *Unknown) Kind() string { return u.KindName }

// AppendJSON appends the JSON that was decoded.
func (u *Unknown) AppendJSON(dst []byte) ([]byte, error) { return appendVerbatim(dst, u.Raw) }

// MarshalJSON returns the JSON that was decoded.
func (u *Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// UnknownAction is an action of an unregistered kind, kept verbatim. The
// actions of client tools, ClientAction_<name>, are always such.
type UnknownAction struct {
	ActionBase
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Action].
func (a *UnknownAction) Kind() string { return a.KindName }

// AppendJSON appends the JSON that was decoded.
func (a *UnknownAction) AppendJSON(dst []byte) ([]byte, error) { return appendVerbatim(dst, a.Raw) }

// MarshalJSON returns the JSON that was decoded.
func (a *UnknownAction) MarshalJSON() ([]byte, error) { return a.Raw, nil }

// UnknownObservation is an observation of an unregistered kind, kept
// verbatim; its content and error mark are still readable when they have the
// usual schema.
type UnknownObservation struct {
	ObservationBase
	KindName string
	Raw      json.RawMessage
}

// Kind implements [Observation].
func (o *UnknownObservation) Kind() string { return o.KindName }

// AppendJSON appends the JSON that was decoded.
func (o *UnknownObservation) AppendJSON(dst []byte) ([]byte, error) {
	return appendVerbatim(dst, o.Raw)
}

// MarshalJSON returns the JSON that was decoded.
func (o *UnknownObservation) MarshalJSON() ([]byte, error) { return o.Raw, nil }

// appendVerbatim checks raw as well: it need not come from the decoder.
func appendVerbatim(dst []byte, raw json.RawMessage) ([]byte, error) {
	if err := wire.Check(raw); err != nil {
		return nil, fmt.Errorf("encode an unknown kind: %w", err)
	}
	return append(dst, rawjson.WellFormed(raw)...), nil
}
