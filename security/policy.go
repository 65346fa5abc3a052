package security

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Policy decides which risks the user must confirm. Its JSON is the reference's
// confirmation_policy.
type Policy interface {
	json.Marshaler
	// Name is the kind, the reference's class name.
	Name() string
	// Confirms reports whether an action of this risk must be confirmed.
	Confirms(event.Risk) bool
}

// The policies.
type (
	// AlwaysConfirm confirms every action.
	AlwaysConfirm struct{}
	// NeverConfirm confirms no action; it is the default.
	NeverConfirm struct{}
	// ConfirmRisky confirms actions whose risk reaches the threshold.
	ConfirmRisky struct {
		Threshold      event.Risk // LOW, MEDIUM or HIGH; empty for HIGH
		ConfirmUnknown bool       // whether UNKNOWN is confirmed
	}
)

// DefaultRisky returns ConfirmRisky with the reference's defaults: HIGH and
// UNKNOWN are confirmed.
func DefaultRisky() ConfirmRisky {
	return ConfirmRisky{Threshold: event.RiskHigh, ConfirmUnknown: true}
}

// Name implements [Policy].
func (AlwaysConfirm) Name() string { return "AlwaysConfirm" }

// Name implements [Policy].
func (NeverConfirm) Name() string { return "NeverConfirm" }

// Name implements [Policy].
func (ConfirmRisky) Name() string { return "ConfirmRisky" }

// Confirms implements [Policy].
func (AlwaysConfirm) Confirms(event.Risk) bool { return true }

// Confirms implements [Policy].
func (NeverConfirm) Confirms(event.Risk) bool { return false }

// Confirms implements [Policy]. An invalid risk counts as UNKNOWN.
func (p ConfirmRisky) Confirms(r event.Risk) bool {
	level := slices.Index(levels, r)
	if level <= 0 {
		return p.ConfirmUnknown
	}
	return level >= slices.Index(levels, p.threshold())
}

// levels are the risks in ascending order; UNKNOWN is not comparable.
var levels = []event.Risk{event.RiskUnknown, event.RiskLow, event.RiskMedium, event.RiskHigh}

func (p ConfirmRisky) threshold() event.Risk {
	if p.Threshold == "" {
		return event.RiskHigh
	}
	return p.Threshold
}

// MarshalJSON implements [Policy].
func (p AlwaysConfirm) MarshalJSON() ([]byte, error) { return bare(p.Name()) }

// MarshalJSON implements [Policy].
func (p NeverConfirm) MarshalJSON() ([]byte, error) { return bare(p.Name()) }

// MarshalJSON implements [Policy].
func (p ConfirmRisky) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Threshold      event.Risk `json:"threshold"`
		ConfirmUnknown bool       `json:"confirm_unknown"`
		Kind           string     `json:"kind"`
	}{p.threshold(), p.ConfirmUnknown, p.Name()})
}

// bare returns the JSON of a kind without fields.
func bare(kind string) ([]byte, error) { return json.Marshal(map[string]string{"kind": kind}) }

// ParsePolicy reads a policy by its kind. Errors are of kind fault.Invalid.
func ParsePolicy(raw []byte) (Policy, error) {
	kind, err := kindOf(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "AlwaysConfirm":
		return AlwaysConfirm{}, nil
	case "NeverConfirm":
		return NeverConfirm{}, nil
	case "ConfirmRisky":
		return parseRisky(raw)
	}
	return nil, unknownKind(kind, "confirmation_policy.ConfirmationPolicyBase", "'AlwaysConfirm', 'ConfirmRisky', 'NeverConfirm'")
}

func parseRisky(raw []byte) (Policy, error) {
	p := DefaultRisky()
	in := struct {
		Threshold      *json.RawMessage `json:"threshold"`
		ConfirmUnknown *bool            `json:"confirm_unknown"`
	}{nil, &p.ConfirmUnknown}
	if err := json.Unmarshal(raw, &in); err != nil || in.ConfirmUnknown == nil {
		return nil, fault.New(fault.Invalid, "confirm_unknown: Input should be a valid boolean")
	}
	if in.Threshold == nil {
		return p, nil
	}
	if json.Unmarshal(*in.Threshold, &p.Threshold) != nil || !slices.Contains(levels, p.Threshold) {
		return nil, fault.New(fault.Invalid, "threshold: Input should be 'UNKNOWN', 'LOW', 'MEDIUM' or 'HIGH'")
	}
	if p.Threshold == event.RiskUnknown {
		return nil, fault.New(fault.Invalid, "threshold: Value error, Threshold cannot be UNKNOWN")
	}
	return p, nil
}

// kindOf returns the kind of a document; empty if it has none.
func kindOf(raw []byte) (string, error) {
	var in *struct {
		Kind json.RawMessage `json:"kind"`
	}
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		return "", fault.New(fault.Invalid, "Input should be an object")
	}
	var kind string
	if json.Unmarshal(in.Kind, &kind) != nil {
		return "", nil //nolint:nilerr // a kind that is not a string counts as none
	}
	return kind, nil
}

func unknownKind(kind, union, members string) error {
	return fault.New(fault.Invalid, fmt.Sprintf("Unknown kind '%s' for openhands.sdk.security.%s; Expected one of: [%s]", kind, union, members))
}
