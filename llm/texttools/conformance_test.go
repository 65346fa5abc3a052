package texttools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/texttools"
)

// speak writes the calls of a reply as text, as a model without native tool calls would.
func speak(r llmtest.Reply) llmtest.Reply {
	var b strings.Builder
	b.WriteString(r.Text)
	for _, c := range r.ToolCalls {
		args := c.Arguments
		if c.RawArguments != "" {
			args = nil
			if json.Unmarshal([]byte(c.RawArguments), &args) != nil {
				fmt.Fprintf(&b, "\n\n<function=%s>\n%s</function>", c.Name, c.RawArguments)
				continue
			}
		}
		fmt.Fprintf(&b, "\n\n<function=%s>\n", c.Name)
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for k := range args {
				if !yield(k) {
					return
				}
			}
		}) {
			fmt.Fprintf(&b, "<parameter=%s>%v</parameter>\n", name, args[name])
		}
		b.WriteString("</function>")
	}
	r.Text, r.ToolCalls = b.String(), nil
	return r
}

func TestConformance(t *testing.T) {
	modeltest.RunAnswers(t, modeltest.Adapter{
		Protocol: llmtest.OpenAIChat, Model: "openai/gpt-4o", Path: "/v1", Speak: speak,
		New: func(c llm.Config) (llm.Model, error) {
			m, err := openai.New(c)
			if err != nil {
				return nil, err
			}
			return texttools.New(m), nil
		},
	})
}
