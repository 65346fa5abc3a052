package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
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

func observed(obs event.Observation) result {
	raw, err := event.MarshalObservation(obs)
	if err != nil {
		return failed(fmt.Errorf("encode the observation: %w", err))
	}
	return result{json: raw}
}

func failed(err error) result {
	raw, jsonErr := json.Marshal(failure{fault.KindOf(err), err.Error(), fault.HintOf(err)})
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
