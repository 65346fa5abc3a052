package llmmocks_test

import (
	"regexp"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// TestOpenAIMockAPI runs the Chat Completions adapter against npm's
// openai-mock-api.
func TestOpenAIMockAPI(t *testing.T) {
	t.Parallel()
	program := script(t, "openai-mock-api", "dist", "cli.js")
	port := freePort(t)
	serve(t, regexp.MustCompile(`server started on port`), program, "-c", "testdata/openai-mock-api.yaml", "-p", port)
	with := func(key llm.Secret) llm.Model {
		m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: "http://127.0.0.1:" + port + "/v1", APIKey: key})
		must.Succeed(t, err)
		return m
	}
	for mode, stream := range map[string]bool{"stream": true, "whole": false} {
		t.Run(mode, func(t *testing.T) {
			m := with("sk-mock")
			a, err := ask(t, m, stream, says("hello there"))
			if err != nil || a.text != "Hello, <b>world</b>." || a.Finish != llm.FinishStop {
				t.Errorf("text: %+v, %v", a, err)
			}
			if !stream && (a.Usage.Prompt == 0 || a.Usage.Output == 0 || !a.CostKnown) {
				t.Errorf("usage %+v, cost known %v", a.Usage, a.CostKnown)
			}
			testTools(t, m, stream, "", `{"command": "ls -la"}`)
			_, err = ask(t, m, stream, says("what nobody foresaw"))
			wantError(t, err, fault.Invalid, false)
			_, err = ask(t, with("sk-wrong"), stream, says("hello there"))
			wantError(t, err, fault.Auth, false)
		})
	}
}
