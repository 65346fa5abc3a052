package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

// result is how an action ended, in the form in which it is recorded. It is
// decoded for each caller, so that no two share an observation and a repeated
// request gets exactly the same result.
type result struct {
	failed bool   // payload is a failure, not an observation
	json   []byte // event.MarshalObservation, or a failure
}

// failure is the recorded form of an error.
type failure struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// masked is an observation without the values that r knows.
func masked(obs event.Observation, r *secret.Registry) result {
	out := r.MaskObservation(obs)
	res := observed(out)
	if out == obs || res.failed {
		return res
	}
	if _, err := event.UnmarshalObservation(res.json); err != nil {
		return failed(fault.New(fault.Internal, "the result holds a secret where nothing can take its place"), r)
	}
	return res
}

func observed(obs event.Observation) result {
	raw, err := event.MarshalObservation(obs)
	if err != nil {
		return failed(fmt.Errorf("encode the observation: %w", err), nil)
	}
	return result{json: raw}
}

// failed is an error without the values that r knows; r may be nil.
func failed(err error, r *secret.Registry) result {
	raw, jsonErr := json.Marshal(failure{fault.KindOf(err), r.Mask(err.Error()), r.Mask(fault.HintOf(err))})
	if jsonErr != nil { // strings always encode; kept so that nothing is lost if that changes
		raw = []byte(`{"kind":"internal","message":"the tool failed, and its error cannot be encoded"}`)
	}
	return result{failed: true, json: raw}
}

// open returns the observation's JSON, or the failure as an error.
func (r result) open() (json.RawMessage, error) {
	if !r.failed {
		return r.json, nil
	}
	var f failure
	if err := json.Unmarshal(r.json, &f); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "the recorded failure cannot be read")
	}
	err := fault.New(f.Kind, f.Message)
	if f.Hint != "" {
		err = err.Hint(f.Hint)
	}
	return nil, err
}
