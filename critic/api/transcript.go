package api

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

// transcript writes a conversation as the chat template of the critic's tokenizer does: as ChatML, as
// Qwen's models know it. Calls are left out and only their results are in it, as in the reference.
// Unsupported for another tokenizer, whose template this program does not have.
func transcript(of *spec.Critic, about critic.Case) (string, error) {
	if of.TokenizerName != spec.DefaultTokenizer {
		return "", fault.New(fault.Unsupported, "conversations are not written for the tokenizer "+of.TokenizerName).
			Hint("tokenizer_name is " + spec.DefaultTokenizer)
	}
	var b strings.Builder
	system, rest := systemText(about)
	tools := ""
	if of.PassTools {
		var err error
		if tools, err = toolText(about.Tools); err != nil {
			return "", err
		}
	}
	if system != "" || tools != "" {
		turn(&b, "system", strings.TrimPrefix(strings.TrimSuffix(system+"\n\n"+tools, "\n\n"), "\n\n"))
	}
	results := "" // of the calls of one answer, in one turn
	flush := func() {
		if results != "" {
			turn(&b, "user", strings.TrimPrefix(results, "\n"))
			results = ""
		}
	}
	for _, ev := range rest {
		role, text := said(ev)
		text = inside.Replace(about.Text(text))
		switch role {
		case "":
		case "tool":
			results += "\n<tool_response>\n" + text + "\n</tool_response>"
		default:
			flush()
			turn(&b, role, text)
		}
	}
	flush()
	return b.String(), nil
}

// inside escapes text that looks like the border of a turn.
var inside = strings.NewReplacer("<|im_start|>", "<| im_start|>", "<|im_end|>", "<| im_end|>", "<|endoftext|>", "<| endoftext|>")

func turn(b *strings.Builder, role, text string) {
	b.WriteString("<|im_start|>" + role + "\n" + text + "<|im_end|>\n")
}

// systemText returns the system prompt at the beginning of a view, and the rest.
func systemText(about critic.Case) (text string, rest []event.Event) {
	if len(about.View) == 0 {
		return "", nil
	}
	first, ok := about.View[0].(*event.SystemPromptEvent)
	if !ok {
		return "", about.View
	}
	parts := []event.Content{first.SystemPrompt}
	if first.DynamicContext != nil {
		parts = append(parts, *first.DynamicContext)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return inside.Replace(about.Text(strings.Join(texts, "\n"))), about.View[1:]
}

// said returns the role and the text of an event; no role for one that is not part of the chat.
func said(ev event.Event) (role, text string) {
	switch e := ev.(type) {
	case *event.MessageEvent:
		if e.Source == event.SourceAgent {
			return "assistant", event.JoinText(e.LLMMessage.Content)
		}
		return "user", event.JoinText(append(e.LLMMessage.Content[:len(e.LLMMessage.Content):len(e.LLMMessage.Content)], e.ExtendedContent...))
	case *event.ActionEvent:
		text := event.JoinText(e.Thought)
		if f, ok := e.Action.(*event.FinishAction); ok && text == "" {
			text = f.Message
		}
		return "assistant", text
	case *event.ObservationEvent:
		text := event.JoinText(e.Observation.Result().Content)
		if t, ok := e.Observation.(*event.TerminalObservation); ok {
			text = t.Metadata.Prefix + text + t.Metadata.Suffix
		}
		return "tool", text
	case *event.AgentErrorEvent:
		return "tool", e.Error
	case *event.UserRejectObservation:
		return "tool", "The action was rejected. " + e.RejectionReason
	case *event.CondensationSummaryEvent:
		return "user", e.Summary
	}
	return "", ""
}

// The words of the template around the tools.
const (
	toolsBefore = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	toolsAfter = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
)

// toolText describes tools; "" for none.
func toolText(offers []tool.Offer) (string, error) {
	if len(offers) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString(toolsBefore)
	for _, o := range offers {
		raw, err := json.Marshal(function{Type: "function", Function: definition{o.Name, o.Description, o.Parameters}})
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + inside.Replace(string(raw)))
	}
	return b.String() + toolsAfter, nil
}

type function struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}
