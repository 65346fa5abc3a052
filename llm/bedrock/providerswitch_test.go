package bedrock

import (
	"net/http"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/gemini"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/responses"
)

// TestSwitch changes the provider in the middle of a conversation, to Bedrock
// and away from it; package modeltest does so for the others.
func TestSwitch(t *testing.T) {
	t.Parallel()
	here := modeltest.Adapter{Protocol: llmtest.Anthropic, Model: "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", New: func(c llm.Config) (llm.Model, error) {
		c.HTTPClient = &http.Client{Transport: gateway{t: t}}
		return New(c, environ(region))
	}}
	others := map[string]modeltest.Adapter{
		"anthropic": {Protocol: llmtest.Anthropic, Model: "anthropic/claude-sonnet-4-5", New: func(c llm.Config) (llm.Model, error) { return anthropic.New(c) }},
		"gemini":    {Protocol: llmtest.Gemini, Model: "gemini/gemini-3-pro-preview", Path: "/v1beta", New: func(c llm.Config) (llm.Model, error) { return gemini.New(c) }},
		"responses": {Protocol: llmtest.OpenAIResponses, Model: "openai/gpt-5.2", Path: "/v1", New: func(c llm.Config) (llm.Model, error) { return responses.New(c) }},
	}
	take := func(name string, a modeltest.Adapter, history []event.Message, own bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modeltest.SwitchProvider(t, a, history, own)
		})
	}
	made := modeltest.History(t, here)
	for name, a := range others {
		take("from "+name, here, modeltest.History(t, a), name == "anthropic")
		take("to "+name, a, made, name == "anthropic")
	}
	take("from details", here, modeltest.Details(), false)
}
