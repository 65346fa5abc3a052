package runcommand

import (
	"context"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/state"
)

// question returns the question with which the agent has ended its turn, or "". An agent
// that is done calls finish; one that only speaks may ask.
func question(s *state.State) string {
	if s.Status != state.Finished {
		return ""
	}
	for _, ev := range slices.Backward(s.View) {
		switch e := ev.(type) {
		case *event.ActionEvent:
			return ""
		case *event.MessageEvent:
			if text := event.JoinText(e.LLMMessage.Content); e.Source == event.SourceAgent && asks(text) {
				return text
			}
			return ""
		}
	}
	return ""
}

// choice matches a line of a list, which may follow a question.
var choice = lazyregexp.New(`^\s*(?:[-*•]|\(?[0-9A-Za-z]{1,2}[.)])\s`)

// asked matches a line whose question has nothing after it but choices, or a request to answer.
var asked = lazyregexp.New(`[?？؟][*_"')]*(?:$|\s+\(?[0-9A-Za-z][.)]\s|\s+(?i:please\s+)?(?i:let me know|tell me|say|reply|answer|choose|pick|confirm|specify)\b)`)

// asks reports whether a text ends with a question, perhaps with choices after it.
func asks(text string) bool {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimRight(line, " \t\r*_`\"')")
		if line == "" {
			continue
		}
		if asked().MatchString(line) {
			return true
		}
		if !choice().MatchString(line) {
			return false
		}
	}
	return false
}

// askBack asks the user the agent's question. It reports whether there is an answer, which
// is the next task then.
func (r *runner) askBack(ctx context.Context, s *state.State) bool {
	text := question(s)
	ctx, end, stopping := r.prompting(ctx)
	defer end()
	switch {
	case text == "" || stopping:
		return false
	case r.Prompter == nil:
		r.unanswered = true
		return false
	case r.view.printer == nil: // the question was not shown
		r.view.Warn(safeText(text))
	}
	line, err := r.ask(ctx, "Your answer (Enter for none): ")
	if err != nil || strings.TrimSpace(line) == "" {
		return false // the run has ended, in any case
	}
	r.Task = Task{Text: line}
	return true
}
