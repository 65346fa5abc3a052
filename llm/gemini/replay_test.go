package gemini_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/gemini"
	"github.com/deft-dev/deft/llm/modeltest"
)

func TestReplay(t *testing.T) {
	modeltest.Replay(t, "testdata/streams", modeltest.Adapter{
		Model: "gemini/gemini-2.5-pro", Path: "/v1beta",
		New: func(c llm.Config) (llm.Model, error) { return gemini.New(c) },
	})
}
