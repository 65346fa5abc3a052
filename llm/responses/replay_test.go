package responses_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/responses"
)

func TestReplay(t *testing.T) {
	modeltest.Replay(t, "testdata/streams", modeltest.Adapter{
		Model: "openai/gpt-5.2", Path: "/v1",
		New: func(c llm.Config) (llm.Model, error) { return responses.New(c) },
	})
}
