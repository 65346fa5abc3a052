package security

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/event"
)

// Assessment is an analyzer's rating of one action.
type Assessment struct {
	Risk event.Risk
	// Details explain the rating; nil for none. Each analyzer has its own keys.
	Details map[string]any
	// Failed says that the risk is unknown because a service could not rate the action.
	Failed bool
}

// Analyzer rates actions. Its JSON is the reference's security_analyzer; keys of
// services are masked in it.
type Analyzer interface {
	json.Marshaler
	// Name is the kind, the reference's class name.
	Name() string
	// Assess rates one action.
	Assess(ctx context.Context, a *event.ActionEvent) (Assessment, error)
}

// Model is the LLMSecurityAnalyzer: the model's own rating.
type Model struct{}

// Name implements [Analyzer].
func (Model) Name() string { return "LLMSecurityAnalyzer" }

// Assess implements [Analyzer].
func (Model) Assess(_ context.Context, a *event.ActionEvent) (Assessment, error) {
	if !slices.Contains(levels, a.SecurityRisk) {
		return Assessment{Risk: event.RiskUnknown}, nil
	}
	return Assessment{Risk: a.SecurityRisk}, nil
}

// MarshalJSON implements [Analyzer].
func (m Model) MarshalJSON() ([]byte, error) { return bare(m.Name()) }

// ratedAtOnce is how many actions of a batch services rate at the same time.
const ratedAtOnce = 8

// Analyze rates each action of a batch. An action that cannot be rated is HIGH, or UNKNOWN if a
// [Service] has failed, with the error in Details. Without an analyzer all actions are UNKNOWN.
func Analyze(ctx context.Context, a Analyzer, batch []*event.ActionEvent) []Assessment {
	out := make([]Assessment, len(batch))
	var g errgroup.Group
	g.SetLimit(ratedAtOnce)
	waits := len(batch) > 1 && hasService(a)
	for i, action := range batch {
		switch {
		case a == nil:
			out[i].Risk = event.RiskUnknown
		case waits:
			g.Go(func() error {
				out[i] = guarded(ctx, a, action)
				return nil
			})
		default:
			out[i] = guarded(ctx, a, action)
		}
	}
	_ = g.Wait() // none fails
	return out
}

// guarded rates one action; a panic of the analyzer becomes an error.
func guarded(ctx context.Context, a Analyzer, action *event.ActionEvent) (got Assessment) {
	defer func() {
		if p := recover(); p != nil {
			got = failed(fmt.Errorf("%s panicked: %v", a.Name(), p))
		}
	}()
	got, err := a.Assess(ctx, action)
	switch {
	case err != nil:
		return failed(err)
	case !slices.Contains(levels, got.Risk):
		return failed(fmt.Errorf("%s returned the unknown risk %q", a.Name(), got.Risk))
	}
	return got
}

func failed(err error) Assessment {
	return Assessment{Risk: event.RiskHigh, Details: map[string]any{"error": err.Error()}}
}

// Exempt reports whether a batch is neither rated nor confirmed: it is empty or
// a single finish or think action.
func Exempt(batch []*event.ActionEvent) bool {
	if len(batch) != 1 {
		return len(batch) == 0
	}
	switch batch[0].Action.(type) {
	case *event.FinishAction, *event.ThinkAction:
		return true
	}
	return false
}

// Decide reports whether a batch waits for the user: it does if the policy
// confirms any of its actions. A nil policy confirms none.
func Decide(p Policy, batch []*event.ActionEvent, ratings []Assessment) bool {
	if Exempt(batch) || p == nil {
		return false
	}
	return slices.ContainsFunc(ratings, func(a Assessment) bool { return p.Confirms(a.Risk) })
}

// Review rates a batch and decides whether it waits for the user. The event
// records the ratings and is stored after the batch; it is nil without an
// analyzer and for an exempt batch
// (docs/openhands/sdk-wire-1.58.md section B.5). A nil policy is NeverConfirm.
func Review(ctx context.Context, a Analyzer, p Policy, batch []*event.ActionEvent) (ev *event.SecurityAnalysisEvent, wait bool) {
	if Exempt(batch) {
		return nil, false
	}
	if p == nil {
		p = NeverConfirm{}
	}
	ratings := Analyze(ctx, a, batch)
	wait = Decide(p, batch, ratings)
	if a == nil {
		return nil, wait
	}
	ev = &event.SecurityAnalysisEvent{
		Base: event.NewBase(event.SourceEnvironment), Analyzer: a.Name(), Policy: p.Name(),
		Risks: event.Map[event.Risk]{}, Details: event.Map[json.RawMessage]{},
	}
	for i, action := range batch {
		ev.Risks[string(action.ID)] = ratings[i].Risk
		if ratings[i].Details == nil {
			continue
		}
		raw, err := json.Marshal(ratings[i].Details)
		if err != nil {
			raw = []byte(`{"error":"the details cannot be encoded as JSON"}`)
		}
		ev.Details[string(action.ID)] = raw
	}
	return ev, wait
}
