package runcommand

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

func says(text string) *event.MessageEvent {
	return &event.MessageEvent{Base: event.Base{Source: event.SourceAgent}, LLMMessage: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}}
}

// TestAskBack asks the user the agent's question.
func TestAskBack(t *testing.T) {
	t.Parallel()
	finished := &event.ActionEvent{Action: &event.FinishAction{Message: "Done?"}}
	for name, tt := range map[string]struct {
		view     []event.Event
		answers  []string
		nobody   bool
		asked    bool
		answered bool
	}{
		"a question":         {view: []event.Event{says("There are two.\n**Which one?**")}, answers: []string{"the first"}, asked: true, answered: true},
		"with choices":       {view: []event.Event{says("Which one?\n\n1. a\n2. b\n")}, answers: []string{"a"}, asked: true, answered: true},
		"choices beside it":  {view: []event.Event{says("Which one? (a) this\nb) that")}, answers: []string{"a"}, asked: true, answered: true},
		"a request after it": {view: []event.Event{says("Shall I go on? Please tell me which file you mean.")}, answers: []string{"a"}, asked: true, answered: true},
		"no answer":          {view: []event.Event{says("Which one?")}, answers: []string{" "}, asked: true},
		"end of input":       {view: []event.Event{says("Which one?")}, asked: true},
		"nobody":             {view: []event.Event{says("Which one?")}, nobody: true},
		"a statement":        {view: []event.Event{says("Why? Because.\n- a\n- b")}},
		"an address":         {view: []event.Event{says("It is at http://localhost:8000/?say=x a) now.")}},
		"a question before":  {view: []event.Event{says("Which one?"), finished}},
		"finished":           {view: []event.Event{finished}},
		"nothing":            {},
		"in another writing": {view: []event.Event{says("どれですか？")}, answers: []string{"a"}, asked: true, answered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &script{answers: tt.answers}
			var out bytes.Buffer
			r := &runner{view: NewView(ViewOptions{Out: io.Discard, Err: &out, Quiet: true})}
			if !tt.nobody {
				r.Prompter = p
			}
			answered := r.askBack(t.Context(), &state.State{Status: state.Finished, View: tt.view})
			if answered != tt.answered || len(p.asked) > 0 != tt.asked || r.unanswered != tt.nobody {
				t.Errorf("answered %v, asked %q, unanswered %v", answered, p.asked, r.unanswered)
			}
			if answered && r.Task.Text != tt.answers[0] || tt.asked && !strings.Contains(out.String(), strings.TrimSpace(event.JoinText(tt.view[0].(*event.MessageEvent).LLMMessage.Content))) {
				t.Errorf("task %q, shown %q", r.Task.Text, out.String())
			}
		})
	}
}
