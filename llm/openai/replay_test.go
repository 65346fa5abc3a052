package openai_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/openai"
)

func TestReplay(t *testing.T) {
	modeltest.Replay(t, "testdata/streams", modeltest.Adapter{
		Model: "openai/gpt-4o", Path: "/v1",
		New: func(c llm.Config) (llm.Model, error) { return openai.New(c) },
	})
}
