package llmtest

import (
	"net/http"
	"slices"
	"time"
)

// Protocol names a provider's wire protocol.
type Protocol string

// The protocols the server speaks.
const (
	OpenAIChat      Protocol = "openai-chat"
	OpenAIResponses Protocol = "openai-responses"
	Anthropic       Protocol = "anthropic"
	Gemini          Protocol = "gemini"
)

// Roles of a [Message], in any protocol.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Request is a client's request independent of the protocol. It is immutable
// once returned by the server.
type Request struct {
	N         int // number of the request on this server, from 1
	Time      time.Time
	Protocol  Protocol
	Path      string
	Model     string
	Stream    bool
	Session   string // see [Script.PerSession]; "" if the client sent none
	Call      int    // number of the request in its session, from 1
	Turn      string // name of the turn that answers; "" if refused
	Fault     FaultKind
	Refused   string      // why the server refused the request; "" if it did not
	System    string      // all system and developer texts, joined by newlines
	Messages  []Message   // without system texts
	Tools     []Tool      // as offered
	Headers   http.Header // credentials are replaced by "[redacted]"
	Body      string      // as received
	MaxTokens int         // 0 if not given

	includeUsage     bool
	includeEncrypted bool
	toolResults      int
	assistantTurns   int
	inputTokens      int
}

// Message is one message of the history.
type Message struct {
	Role        string
	Text        string
	Reasoning   string
	Images      int // images, audio and files
	ToolCalls   []Call
	ToolResults []Result
	Cached      int // parts marked with cache_control
}

// Call is a tool call in a request's history.
type Call struct {
	ID        string // Gemini: "" unless the client sent one
	Name      string
	Arguments string // JSON, as sent
}

// Result is the answer to a tool call.
type Result struct {
	CallID string
	Name   string // Gemini only
	Text   string
	Error  bool // Anthropic only
}

// Tool is a tool offered to the model.
type Tool struct {
	Name        string
	Description string
	Schema      string // JSON Schema of the parameters, as sent
}

// LastUser returns the text of the last message that a user wrote.
func (r *Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == RoleUser && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// LastToolResult returns the text of the last tool result.
func (r *Request) LastToolResult() string {
	for _, v := range slices.Backward(r.Messages) {
		if res := v.ToolResults; len(res) > 0 {
			return res[len(res)-1].Text
		}
	}
	return ""
}

// AssistantTurns returns the number of assistant messages in the request. For
// OpenAI Responses, items that directly follow one another are one message.
func (r *Request) AssistantTurns() int { return r.assistantTurns }

// ToolResults returns the texts of all tool results, in order.
func (r *Request) ToolResults() []string {
	out := make([]string, 0, r.toolResults)
	for _, m := range r.Messages {
		for _, res := range m.ToolResults {
			out = append(out, res.Text)
		}
	}
	return out
}

// count sets the numbers for matching.
func (r *Request) count() {
	for i := range r.Messages {
		r.toolResults += len(r.Messages[i].ToolResults)
		if r.Messages[i].Role == RoleAssistant {
			r.assistantTurns++
		}
	}
	r.inputTokens = (len(r.Body) + 3) / 4
}

// secretHeaders hold credentials in one of the protocols.
var secretHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization"}

func redact(h http.Header) http.Header {
	c := h.Clone()
	for _, name := range secretHeaders {
		if _, ok := c[name]; ok {
			c[name] = []string{"[redacted]"}
		}
	}
	return c
}
