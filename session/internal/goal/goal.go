// Package goal judges whether an agent has reached an objective.
//
// # Usage
//
//	v, err := goal.Ask(ctx, model, id, status, state)
//	…
//	prompt := status.Continue()
//
// # Concurrency
//
// The functions may be called from any goroutine.
//
// # Failure
//
// Errors are the model's, or of kind Invalid for an answer of another form.
package goal

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/structured"
	"github.com/deft-dev/deft/state"
)

// The states of a goal.
const (
	Running     = "running"
	Complete    = "complete"
	Capped      = "capped"
	Interrupted = "interrupted"
)

// Status is the value of the state update with the key "goal"
// (docs/openhands/sdk-wire.md section 7.2).
type Status struct {
	Active        bool     `json:"active"`
	Status        string   `json:"status"`
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Objective     string   `json:"objective"`
	Verdict       *Verdict `json:"verdict"`
}

// Verdict is the judge's opinion of the work.
type Verdict struct {
	Score    float64 `json:"score"`
	Complete bool    `json:"complete"`
	Missing  string  `json:"missing"`
}

var verdictSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"score":{"type":"number","description":"how much of the objective is reached, from 0 to 1"},` +
	`"complete":{"type":"boolean","description":"whether all of it is reached"},` +
	`"missing":{"type":"string","description":"what is still missing, empty if nothing"}},` +
	`"required":["score","complete","missing"]}`)

const judgeSystem = `You judge whether an objective has been reached. You see the objective and what a
software engineer did and reported. Trust what commands printed more than what was
claimed. Something that was not checked is not done.`

// maxEvidence bounds the part of a conversation that the judge sees, in characters.
const maxEvidence = 30_000

// Begin is the prompt that gives an agent an objective.
func Begin(objective string) string {
	return "Work towards this objective until all of it is reached, and check your work:\n\n" + objective
}

// Continue is the prompt for the next round.
func (g Status) Continue() string {
	text := "The objective is not reached yet: " + g.Objective
	if g.Verdict != nil && g.Verdict.Missing != "" {
		text += "\n\nStill missing: " + g.Verdict.Missing
	}
	return text + "\n\nGo on until all of it is reached, and check your work."
}

// Ask asks a model whether a goal is reached in the state of a conversation.
func Ask(ctx context.Context, m llm.Model, session string, g Status, s *state.State) (Verdict, error) {
	v, _, err := structured.Ask[Verdict](ctx, m, llm.Request{
		Session: session, Schema: verdictSchema, Messages: []event.Message{
			{Role: event.RoleSystem, Content: []event.Content{event.Text(judgeSystem)}},
			{Role: event.RoleUser, Content: []event.Content{event.Text(
				"OBJECTIVE\n" + g.Objective + "\n\nWHAT WAS DONE\n" + evidence(s))}},
		},
	})
	return v, err
}

// evidence is the end of the conversation as text.
func evidence(s *state.State) string {
	var parts []string
	size := 0
	for i := len(s.View) - 1; i >= 0 && size < maxEvidence; i-- {
		text := ""
		switch e := s.View[i].(type) {
		case *event.MessageEvent:
			text = string(e.Source) + ": " + event.JoinText(e.LLMMessage.Content)
		case *event.ActionEvent:
			text = "call: " + e.ToolName + " " + e.ToolCall.Arguments
		case *event.ObservationEvent:
			text = "result: " + event.JoinText(e.Observation.Result().Content)
		case *event.AgentErrorEvent:
			text = "error: " + e.Error
		default:
			continue
		}
		if r := []rune(text); len(r) > 4000 {
			text = string(r[:2000]) + "\n…\n" + string(r[len(r)-2000:])
		}
		size += len(text)
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\n\n")
}
