package responses

import (
	"encoding/json"
	"github.com/deft-dev/deft/internal/pieces"
)

// streamEvent is an event of a stream, with the fields of all kinds in use
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string    `json:"type"`
	ItemID       string    `json:"item_id"`
	OutputIndex  int       `json:"output_index"`
	SummaryIndex int       `json:"summary_index"`
	Delta        flexText  `json:"delta"`
	Item         *wireItem `json:"item"`
	Response     *wireBody `json:"response"`
}

// wireBody is the response object.
type wireBody struct {
	ID                string          `json:"id"`
	Model             string          `json:"model"`
	Status            string          `json:"status"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []wireItem `json:"output"`
	Usage  *wireUsage `json:"usage"`
}

// wireItem is an item of the output.
type wireItem struct {
	ID               string     `json:"id"`
	Type             string     `json:"type"`
	Status           string     `json:"status"`
	Content          []wirePart `json:"content"`
	Summary          []wirePart `json:"summary"`
	EncryptedContent string     `json:"encrypted_content"`
	CallID           string     `json:"call_id"`
	Name             string     `json:"name"`
	Arguments        flexText   `json:"arguments"`
}

type wirePart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type wireUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	InputDetails *struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails *struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// flexText is a string; any other value is kept as its JSON text, as from
// servers that write arguments as an object.
type flexText string

// UnmarshalJSON implements json.Unmarshaler.
func (f *flexText) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		return (*pieces.Piece)(f).UnmarshalJSON(b)
	case string(b) != "null":
		*f = flexText(b)
	}
	return nil
}
