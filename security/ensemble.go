package security

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Ensemble is the EnsembleSecurityAnalyzer: it returns the highest rating of
// several analyzers. One that fails rates HIGH; a [Service] that fails makes the result
// UNKNOWN, unless another one rates HIGH.
type Ensemble struct {
	Analyzers []Analyzer
	// PropagateUnknown makes the result UNKNOWN if any rating is. Otherwise the
	// result is UNKNOWN only if all ratings are.
	PropagateUnknown bool
}

// Name implements [Analyzer].
func (Ensemble) Name() string { return "EnsembleSecurityAnalyzer" }

// Assess implements [Analyzer]. Details holds the members' assessments by name.
func (e Ensemble) Assess(ctx context.Context, a *event.ActionEvent) (Assessment, error) {
	worst, unknown, failed := event.RiskUnknown, false, false
	details := map[string]any{}
	for i, member := range e.Analyzers {
		got := guarded(ctx, member, a)
		if got.Details != nil {
			name := member.Name()
			if _, taken := details[name]; taken {
				name = fmt.Sprintf("%s %d", name, i+1)
			}
			details[name] = got.Details
		}
		unknown, failed = unknown || got.Risk == event.RiskUnknown, failed || got.Failed
		if slices.Index(levels, got.Risk) > slices.Index(levels, worst) {
			worst = got.Risk
		}
	}
	if unknown && e.PropagateUnknown || failed && worst != event.RiskHigh {
		worst = event.RiskUnknown
	}
	if len(details) == 0 {
		details = nil
	}
	return Assessment{worst, details, failed}, nil
}

// MarshalJSON implements [Analyzer].
func (e Ensemble) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Analyzers        []Analyzer `json:"analyzers"`
		PropagateUnknown bool       `json:"propagate_unknown"`
		Kind             string     `json:"kind"`
	}{e.Analyzers, e.PropagateUnknown, e.Name()})
}

// maxEnsembles is how deeply ensembles may be nested.
const maxEnsembles = 16

func parseEnsemble(raw []byte, depth int) (Analyzer, error) {
	var in struct {
		Analyzers        *[]json.RawMessage `json:"analyzers"`
		PropagateUnknown bool               `json:"propagate_unknown"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fault.New(fault.Invalid, "analyzers: Input should be a valid list")
	}
	switch {
	case in.Analyzers == nil:
		return nil, fault.New(fault.Invalid, "analyzers: Field required")
	case len(*in.Analyzers) == 0:
		return nil, fault.New(fault.Invalid, "analyzers: List should have at least 1 item after validation, not 0")
	case depth >= maxEnsembles:
		return nil, fault.New(fault.Invalid, "analyzers: ensembles are nested too deeply")
	}
	e := Ensemble{PropagateUnknown: in.PropagateUnknown}
	for i, one := range *in.Analyzers {
		a, err := parseAnalyzer(one, depth+1)
		if err != nil {
			return nil, fmt.Errorf("analyzers.%d: %w", i, err)
		}
		e.Analyzers = append(e.Analyzers, a)
	}
	return e, nil
}
