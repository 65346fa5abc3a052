package anthropic_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/modeltest"
)

func TestReplay(t *testing.T) {
	modeltest.Replay(t, "testdata/streams", modeltest.Adapter{
		Model: "anthropic/claude-sonnet-4-5",
		New:   func(c llm.Config) (llm.Model, error) { return anthropic.New(c) },
	})
}
