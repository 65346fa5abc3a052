package gemini

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// wireAnswer is a GenerateContentResponse: a whole answer, or a piece of one.
type wireAnswer struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback feedback        `json:"promptFeedback"`
	UsageMetadata  *wireUsage      `json:"usageMetadata"`
	ModelVersion   string          `json:"modelVersion"`
	ResponseID     string          `json:"responseId"`
	Error          json.RawMessage `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []answerPart `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
	Index         int    `json:"index"`
}

type answerPart struct {
	Text             pieces.Piece  `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

type functionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type feedback struct {
	BlockReason        string `json:"blockReason"`
	BlockReasonMessage string `json:"blockReasonMessage"`
}

// wireUsage counts reasoning separately from the rest of the answer, and cached
// tokens as part of the prompt.
type wireUsage struct {
	Prompt     int `json:"promptTokenCount"`
	ToolPrompt int `json:"toolUsePromptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
}

// accumulator assembles an answer, in time linear in its size, and delivers its
// pieces.
type accumulator struct {
	exchange.Deltas

	id, model           string
	finish, finishWords string
	blocked             feedback
	text, reasoning     pieces.Text
	signature           string // of the text
	calls               []event.ToolCall
	ids                 exchange.CallIDs
	usage               llm.Usage
	usageSeen           bool
	size                int
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Deltas: exchange.To(onDelta)}
}

// add adds a piece of an answer, or the whole of it.
func (a *accumulator) add(w *wireAnswer) error {
	a.id = cmp.Or(w.ResponseID, a.id)
	a.model = cmp.Or(w.ModelVersion, a.model)
	if w.PromptFeedback.BlockReason != "" {
		a.blocked = w.PromptFeedback
	}
	a.count(w.UsageMetadata)
	for i := range w.Candidates {
		c := &w.Candidates[i]
		if c.Index != 0 {
			continue // one answer was requested
		}
		for j := range c.Content.Parts {
			if err := a.part(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			a.finish, a.finishWords = c.FinishReason, c.FinishMessage
		}
	}
	return nil
}

func (a *accumulator) part(p *answerPart) error {
	a.size += len(p.Text) + len(p.ThoughtSignature) + 32
	if p.FunctionCall != nil {
		a.size += len(p.FunctionCall.Args)
	}
	if a.size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	switch {
	case p.FunctionCall != nil:
		a.call(p)
		return nil
	case p.Thought && p.Text != "":
		if s := a.reasoning.Add(string(p.Text)); s != "" {
			a.Emit(llm.Delta{Reasoning: s})
		}
	case p.Text != "":
		if s := a.text.Add(string(p.Text)); s != "" {
			a.Emit(llm.Delta{Text: s})
		}
	}
	a.signature = cmp.Or(p.ThoughtSignature, a.signature)
	return nil
}

// call adds a function call, which is always complete.
func (a *accumulator) call(p *answerPart) {
	f := p.FunctionCall
	args := strings.TrimSpace(string(f.Args))
	if args == "" || args == "null" {
		args = "{}"
	}
	id := f.ID
	if id == "" { // older models send none; a random one is unique in the conversation
		id = "call_" + rand.Text()
	}
	c := event.ToolCall{ID: a.ids.Unique(id), Name: f.Name, Arguments: args, Origin: event.OriginCompletion}
	if p.ThoughtSignature != "" {
		c.ResponsesItemID = SignaturePrefix + p.ThoughtSignature
	}
	a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: len(a.calls), ID: c.ID, Name: c.Name, Arguments: args}})
	a.calls = append(a.calls, c)
}

// count records the usage. Each piece of a stream repeats it; the last one
// counts.
func (a *accumulator) count(u *wireUsage) {
	if u == nil {
		return
	}
	a.usageSeen = true
	a.usage = llm.Usage{
		Prompt:    max(u.Prompt, 0) + max(u.ToolPrompt, 0),
		Output:    max(u.Candidates, 0) + max(u.Thoughts, 0),
		CacheRead: max(u.Cached, 0),
		Reasoning: max(u.Thoughts, 0),
	}
}

// empty reports whether the answer has no content.
func (a *accumulator) empty() bool {
	return len(a.calls) == 0 && a.reasoning.Len() == 0 && strings.TrimSpace(a.text.String()) == ""
}

func (a *accumulator) response() *llm.Response {
	msg := event.Message{Role: event.RoleAssistant, ToolCalls: a.calls, ReasoningContent: a.reasoning.String()}
	if a.text.Len() > 0 {
		msg.Content = event.Texts(a.text.String())
	}
	if a.signature != "" {
		msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: event.TypeThinking, Thinking: SignaturePrefix + a.signature})
	}
	return &llm.Response{ID: a.id, Model: a.model, Message: msg, Finish: a.finished(), Usage: a.usage}
}

func (a *accumulator) finished() llm.Finish {
	switch {
	case a.finish == "MAX_TOKENS":
		return llm.FinishLength
	case filtered(a.finish):
		return llm.FinishContent
	case len(a.calls) > 0:
		return llm.FinishTools
	}
	return llm.FinishStop
}

// filtered reports whether a finish reason is a refusal
// (https://ai.google.dev/api/generate-content#FinishReason).
func filtered(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return true
	}
	return false
}
