package security

import (
	"context"
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

//go:embed guardrail.md
var guardrail string

// maxArguments bounds one action's arguments in the question to a guardrail, in characters.
const maxArguments = 20_000

// verdict is the line with the risk. Of several ones the last counts.
var verdict = lazyregexp.New(`(?im)^\s*RISK:\s*(LOW|MEDIUM|HIGH)\s*$`)

// Rate has a model rate an action in the light of the actions before it. ask asks the model
// with a system prompt. An answer without a rating is an error.
func (t ToolShield) Rate(ctx context.Context, c Case, ask func(ctx context.Context, system, question string) (string, error)) (Assessment, error) {
	guidelines := strings.TrimSpace(t.SafetyExperiences)
	if guidelines == "" {
		guidelines = "None are given: use your own judgement."
	}
	var b strings.Builder
	b.WriteString("## Earlier actions\n\n")
	earlier := slices.DeleteFunc(slices.Clone(c.History), func(ev event.Event) bool {
		_, is := ev.(*event.ActionEvent)
		return !is
	})
	earlier = earlier[max(0, len(earlier)-t.HistoryWindow):]
	for i, ev := range earlier {
		b.WriteString(strconv.Itoa(i+1) + ". " + describe(ev.(*event.ActionEvent)) + "\n")
	}
	if len(earlier) == 0 {
		b.WriteString("There are none.\n")
	}
	b.WriteString("\n## The action to rate\n\n" + describe(c.Action) + "\n")
	text, err := ask(ctx, strings.Replace(guardrail, "{{guidelines}}", guidelines, 1), c.Text(b.String()))
	if err != nil {
		return Assessment{}, err
	}
	found := verdictOf(verdict(), text)
	if found == "" {
		return Assessment{}, fault.New(fault.Unavailable, "the model's answer has no line with a rating")
	}
	return Rated(event.Risk(found), strings.TrimSpace(verdict().ReplaceAllString(text, ""))), nil
}

// maxReason bounds a service's reasons in an event, in characters.
const maxReason = 2000

// Rated is the assessment of a service with its reason, "" for none.
func Rated(risk event.Risk, reason string) Assessment {
	a := Assessment{Risk: risk}
	if reason != "" {
		a.Details = map[string]any{"reason": clip(reason, maxReason)}
	}
	return a
}

func verdictOf(pattern *regexp.Regexp, text string) string {
	all := pattern.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.ToUpper(all[len(all)-1][1])
}

// describe is an action as one JSON object on a line, so that no text of it can pass for
// another part of the question.
func describe(a *event.ActionEvent) string {
	raw, err := json.Marshal(struct {
		Tool      string `json:"tool"`
		Summary   string `json:"summary,omitempty"`
		Thought   string `json:"thought,omitempty"`
		Arguments string `json:"arguments"`
	}{a.ToolName, a.Summary, clip(event.JoinText(a.Thought), maxReason), clip(a.ToolCall.Arguments, maxArguments)})
	if err != nil {
		return a.ToolName
	}
	return string(raw)
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
