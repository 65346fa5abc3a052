package openai

import (
	"bytes"
	"encoding/json"
	"github.com/deft-dev/deft/internal/pieces"
	"strings"
)

// chunk is a piece of a stream, or a whole answer: they differ in "delta" and
// "message" only.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int        `json:"index"`
	Delta        answer     `json:"delta"`
	Message      answer     `json:"message"`
	FinishReason string     `json:"finish_reason"`
	Usage        *wireUsage `json:"usage"` // Moonshot puts it here
}

type answer struct {
	Content          flexText     `json:"content"`
	ReasoningContent pieces.Piece `json:"reasoning_content"`
	Reasoning        flexText     `json:"reasoning"` // OpenRouter, Groq, vLLM
	Refusal          pieces.Piece `json:"refusal"`
	ToolCalls        []callPiece  `json:"tool_calls"`
	FunctionCall     *function    `json:"function_call"` // of servers older than tool_calls

	Thinking []thinkingPiece   `json:"thinking_blocks"`   // LiteLLM
	Details  []json.RawMessage `json:"reasoning_details"` // OpenRouter, MiniMax
}

// thinkingPiece is a piece of one of Anthropic's blocks.
type thinkingPiece struct {
	Type      string       `json:"type"`
	Thinking  pieces.Piece `json:"thinking"`
	Signature string       `json:"signature"`
	Data      string       `json:"data"`
}

type callPiece struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string        `json:"name"`
	Arguments flexArguments `json:"arguments"`
}

type wireUsage struct {
	PromptTokens     int      `json:"prompt_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	Cost             *float64 `json:"cost"` // OpenRouter, in dollars
	CachedTokens     int      `json:"cached_tokens"`
	CacheHitTokens   int      `json:"prompt_cache_hit_tokens"`     // DeepSeek
	CacheCreation    int      `json:"cache_creation_input_tokens"` // LiteLLM
	PromptDetails    *struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// flexText is a string, null, or the list of parts that Mistral's reasoning models
// send. Reasoning inside the parts is kept apart.
type flexText struct {
	text      string
	reasoning string
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *flexText) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		var s pieces.Piece
		if s.UnmarshalJSON(b) == nil {
			f.text = string(s)
		}
		return nil // other values are not text
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     pieces.Piece    `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return nil // an undocumented form: no text
	}
	var text, reasoning strings.Builder
	for _, p := range parts {
		text.WriteString(string(p.Text))
		var inner flexText
		if len(p.Thinking) > 0 && inner.UnmarshalJSON(p.Thinking) == nil {
			reasoning.WriteString(inner.text)
		}
	}
	f.text, f.reasoning = text.String(), reasoning.String()
	return nil
}

// flexArguments is a string, or a JSON object from servers that do not encode
// it as a string.
type flexArguments string

// UnmarshalJSON implements json.Unmarshaler.
func (f *flexArguments) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
	case len(b) > 0 && b[0] == '"':
		return (*pieces.Piece)(f).UnmarshalJSON(b)
	default:
		*f = flexArguments(b)
	}
	return nil
}
