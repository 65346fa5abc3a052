package ollama_test

import (
	"net/http"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/ollama"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Adapter{
		Protocol: llmtest.OpenAIChat, Model: "ollama/qwen3:32b",
		New: func(c llm.Config) (llm.Model, error) {
			next := http.RoundTripper(&http.Transport{})
			if c.HTTPClient != nil {
				next = c.HTTPClient.Transport
			}
			c.HTTPClient = &http.Client{Transport: bridge{next}}
			m, err := ollama.New(c)
			if err != nil {
				return nil, err
			}
			return m, nil
		},
		Skip: []string{
			"malformed arguments", // arguments are objects here
			"usage and cost",      // no caches, no prices: see TestUsage
			"finish reasons",      // there is no filter: see TestFinish
			"images",              // addresses are not fetched: see TestWire
		},
	})
}
