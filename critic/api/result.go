package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
)

// shown is the likelihood from which a label is part of a result.
const shown = 0.2

// general are labels that describe the task and not the work.
var general = map[string]bool{"user_goal_summary": true, "overall_sentiment": true}

// success is the label whose likelihood is the score.
const success = "success"

// result makes a result of likelihoods, which are in the order of the labels.
func result(of *spec.Critic, about critic.Case, probs []float64) (critic.Result, error) {
	if !of.HasSuccessLabel {
		return critic.Result{}, fault.New(fault.Invalid, "a critic needs the label "+success).Hint("set has_success_label")
	}
	labels := slices.Concat([]string{success}, of.Sentiments, of.AgentIssues, of.Infrastructure, of.FollowUps)
	if len(probs) != len(labels) {
		return critic.Result{}, fault.New(fault.Unavailable, fmt.Sprintf("the critic has answered with %d likelihoods for %d labels", len(probs), len(labels)))
	}
	for _, p := range probs {
		if math.IsNaN(p) || math.IsInf(p, 0) {
			return critic.Result{}, fault.New(fault.Unavailable, "the critic has answered with a number that is no likelihood")
		}
	}
	score := probs[0]
	if score < 0 || score > 1 {
		return critic.Result{}, fault.New(fault.Unavailable, fmt.Sprintf("the critic has answered with the likelihood %g", score))
	}
	features := critic.Features{
		Sentiment:      sentiment(of.Sentiments, probs[1:]),
		AgentIssues:    []critic.Feature{},
		FollowUps:      []critic.Feature{},
		Infrastructure: []critic.Feature{},
		Other:          []critic.Feature{},
	}
	at := 1 + len(of.Sentiments)
	for _, part := range []struct {
		labels []string
		to     *[]critic.Feature
	}{{of.AgentIssues, &features.AgentIssues}, {of.Infrastructure, &features.Infrastructure}, {of.FollowUps, &features.FollowUps}} {
		for i, name := range part.labels {
			if p := probs[at+i]; p >= shown && !general[name] {
				*part.to = append(*part.to, critic.Feature{Name: name, DisplayName: title(name), Probability: p})
			}
		}
		at += len(part.labels)
		slices.SortStableFunc(*part.to, func(a, b critic.Feature) int { return cmp.Compare(b.Probability, a.Probability) })
	}
	message, err := explanation(labels, probs)
	if err != nil {
		return critic.Result{}, err
	}
	r := critic.Score(score, message)
	r.Metadata = &critic.Metadata{Features: features}
	for _, ev := range about.View {
		r.Metadata.EventIDs = append(r.Metadata.EventIDs, ev.Meta().ID)
	}
	return r, nil
}

// explanation has the score and all likelihoods, the largest first.
func explanation(labels []string, probs []float64) (string, error) {
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probs[b], probs[a]) })
	var b strings.Builder
	fmt.Fprintf(&b, "Success: %.2f; {", probs[0])
	for n, i := range order {
		if n > 0 {
			b.WriteString(", ")
		}
		raw, err := json.Marshal(probs[i])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q: %s", labels[i], raw)
	}
	return b.String() + "}", nil
}

// sentiment turns raw numbers into likelihoods; nil for no labels.
func sentiment(labels []string, raw []float64) *critic.Sentiment {
	if len(labels) == 0 {
		return nil
	}
	s := &critic.Sentiment{All: map[string]float64{}}
	sum, most := 0.0, slices.Max(raw[:len(labels)])
	for i := range labels {
		sum += math.Exp(raw[i] - most)
	}
	for i, label := range labels {
		name := strings.TrimPrefix(label, "sentiment_")
		p := math.Exp(raw[i]-most) / sum
		s.All[name] = p
		if p > s.Probability {
			s.Predicted, s.Probability = title(name), p
		}
	}
	return s
}

// title writes a label as people do.
func title(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
