package critic

import (
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
)

// Result is the result of a critic, in the JSON of the field critic_result of events.
type Result struct {
	Score    float64   `json:"score"` // the likelihood of success, from 0 to 1
	Message  *string   `json:"message"`
	Metadata *Metadata `json:"metadata"`
}

// Metadata is the part of a result that an API critic gives.
type Metadata struct {
	EventIDs []event.ID `json:"event_ids"` // that were judged
	Features Features   `json:"categorized_features"`
}

// Features are the labels that an API critic finds likely, the likeliest first.
type Features struct {
	Sentiment      *Sentiment `json:"sentiment"`
	AgentIssues    []Feature  `json:"agent_behavioral_issues"`
	FollowUps      []Feature  `json:"user_followup_patterns"`
	Infrastructure []Feature  `json:"infrastructure_issues"`
	Other          []Feature  `json:"other"`
}

// Feature is a label with its likelihood.
type Feature struct {
	Name        string  `json:"name"`
	DisplayName string  `json:"display_name"`
	Probability float64 `json:"probability"`
}

// Sentiment is the mood that the user is expected to have.
type Sentiment struct {
	Predicted   string             `json:"predicted"`
	Probability float64            `json:"probability"`
	All         map[string]float64 `json:"all"`
}

// lines are the reasons of a result, for the agent.
func (r Result) lines() (all []string) {
	if r.Metadata == nil {
		if r.Message != nil {
			all = append(all, *r.Message)
		}
		return all
	}
	for _, part := range r.Metadata.Features.named() {
		if len(part.features) > 0 {
			all = append(all, part.name+": "+features(part.features))
		}
	}
	return all
}

type namedFeatures struct {
	name     string
	features []Feature
}

func (f Features) named() []namedFeatures {
	return []namedFeatures{
		{"Likely faults of the agent", f.AgentIssues}, {"Likely answers of the user", f.FollowUps},
		{"Faults of the environment", f.Infrastructure}, {"Other observations", f.Other},
	}
}

func features(list []Feature) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = fmt.Sprintf("%s (%.0f %%)", f.DisplayName, 100*f.Probability)
	}
	return strings.Join(texts, ", ")
}

// Summary is a result in one line, for people.
func (r Result) Summary() string {
	text := fmt.Sprintf("success %.0f %% likely", 100*r.Score)
	if lines := r.lines(); len(lines) > 0 {
		text += "; " + strings.Join(lines, "; ")
	}
	return text
}
