package llmtest

import (
	"context"
	"time"
)

// Script defines the server's answers. The zero value has no turns, so every
// request is refused as unexpected.
type Script struct {
	// Models are the ids that GET …/models lists. When set, a request for
	// another model is refused with the provider's "model not found". Empty:
	// the list holds "scripted" and every model name is accepted.
	Models []string `yaml:"models"`
	// APIKey, when set, is the only accepted key; other requests get the
	// provider's authentication error. Empty: any key, or none.
	APIKey string `yaml:"api_key"`
	// PerSession runs the turns separately for each session. The session is the
	// header x-litellm-session-id, else the body's prompt_cache_key, else
	// metadata.user_id; requests with none of them share one session.
	PerSession bool `yaml:"per_session"`
	// ByHistory selects a turn by the request instead of by count: the turn
	// numbered k (from 0) answers a request with k assistant messages. Turns
	// with a Match are outside the numbering: they are tried first and answer
	// whenever they fit (without limit, unless Repeat is set).
	ByHistory bool `yaml:"by_history"`
	// Lenient disables the checks that real providers make on the history, the
	// tools and the parameters of a request.
	Lenient bool `yaml:"lenient"`
	// Defaults is the pacing of turns without their own.
	Defaults Pacing `yaml:"defaults"`
	// Turns are the answers, in order.
	Turns []Turn `yaml:"turns"`
	// Default answers when no turn is left or fits. Nil: such a request gets
	// status 500 "script exhausted" and is counted as an error.
	Default *Turn `yaml:"default"`
}

// Pacing spreads an answer over time. All fields are optional.
type Pacing struct {
	// Latency is the wait before the response headers.
	Latency time.Duration `yaml:"latency"`
	// ChunkSize is the number of characters per streamed delta. Default 24; [UTF16Units]
	// for one unit of UTF-16, so that some characters come in two deltas.
	ChunkSize int `yaml:"chunk_size"`
	// ChunkDelay is the wait between two streamed deltas.
	ChunkDelay time.Duration `yaml:"chunk_delay"`
}

// UTF16Units is a ChunkSize: servers in JavaScript or Java cut strings between the halves
// of a character.
const UTF16Units = -1

// Turn is one answer.
type Turn struct {
	// Name is used in error messages and in [Request.Turn]. Default: the
	// turn's number, from 1.
	Name string `yaml:"name"`
	// Match selects the requests that the turn answers. Nil: any.
	Match *Match `yaml:"match"`
	// Repeat is how many requests the turn answers before it is used up.
	// Default 1; [Forever] for no limit.
	Repeat Repeat `yaml:"repeat"`
	// Reply is the answer.
	Reply Reply `yaml:"reply"`
	// Fault makes the answer faulty. Nil: the answer is valid.
	Fault *Fault `yaml:"fault"`

	Pacing `yaml:",inline"`
}

// Match is a set of conditions that must all hold. Zero fields always hold.
type Match struct {
	Model          string            `yaml:"model"`           // glob over the model id, as in path.Match
	Protocol       Protocol          `yaml:"protocol"`        // one of the protocols of this package
	Session        string            `yaml:"session"`         // exact session key
	Stream         *bool             `yaml:"stream"`          // whether the client asked for a stream
	User           string            `yaml:"user"`            // the last user text contains it
	UserRegexp     string            `yaml:"user_regexp"`     // the last user text matches it
	ToolResult     string            `yaml:"tool_result"`     // the last tool result contains it
	System         string            `yaml:"system"`          // the system text contains it
	Tools          []string          `yaml:"tools"`           // all these tools are offered
	Headers        map[string]string `yaml:"headers"`         // the header is present and contains the value
	Call           *int              `yaml:"call"`            // n-th request of the session, from 1
	ToolResults    *int              `yaml:"tool_results"`    // number of tool results in the request
	AssistantTurns *int              `yaml:"assistant_turns"` // number of assistant messages in the request
}

// Reply is the model's answer. Text, Reasoning, and the strings in tool calls
// are templates if they contain "{{"; see [TemplateData].
type Reply struct {
	Text string `yaml:"text"`
	// Reasoning is sent in the protocol's form: reasoning_content, a reasoning
	// item, a signed thinking block, or a thought part.
	Reasoning string `yaml:"reasoning"`
	// RedactedReasoning is opaque data, sent as a redacted_thinking block in
	// Anthropic Messages and omitted in other protocols.
	RedactedReasoning string     `yaml:"redacted_reasoning"`
	ToolCalls         []ToolCall `yaml:"tool_calls"`
	// Usage overrides the token counts, which are otherwise estimated at four
	// bytes per token.
	Usage *Usage `yaml:"usage"`
	// FinishReason is "stop", "length", "tool_calls" or "content_filter",
	// converted to the protocol; any other value is sent unchanged. Default:
	// "tool_calls" if there are any, else "stop".
	FinishReason string `yaml:"finish_reason"`
}

// ToolCall is a call by the model.
type ToolCall struct {
	ID   string `yaml:"id"` // default: a fresh id in the provider's form
	Name string `yaml:"name"`
	// Arguments is the object of arguments.
	Arguments map[string]any `yaml:"arguments"`
	// RawArguments is sent instead of Arguments when set, and may be malformed
	// JSON. Gemini has no form for malformed arguments: there it makes the
	// frame itself malformed, unless it is valid JSON.
	RawArguments string `yaml:"raw_arguments"`
}

// Usage counts tokens. Input includes the cached and the cache-written ones,
// Output includes the reasoning ones; protocols that count them separately get
// them separately.
type Usage struct {
	Input      int `yaml:"input"`
	Output     int `yaml:"output"`
	Cached     int `yaml:"cached"`
	CacheWrite int `yaml:"cache_write"`
	Reasoning  int `yaml:"reasoning"`
}

// Repeat is how many requests a turn answers. In YAML: a number from 1, or
// "forever".
type Repeat int

// Forever is a Repeat without limit.
const Forever Repeat = -1

// UnmarshalYAML implements the decoder's interface.
func (r *Repeat) UnmarshalYAML(_ context.Context, decode func(any) error) error {
	var word string
	if err := decode(&word); err == nil && word == "forever" {
		*r = Forever
		return nil
	}
	var n int
	if err := decode(&n); err != nil {
		return err
	}
	if n < 1 {
		return errRepeat
	}
	*r = Repeat(n)
	return nil
}
