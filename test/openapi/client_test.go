package openapi_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// TestOpenAIClient has OpenAI's Python client talk to the agent.
func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	py := python(t)
	url := server(t)
	withModel(t, url)
	out, err := exec.CommandContext(t.Context(), py, "-B", "chat.py", url, key).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var got map[string]any
	must.Succeed(t, json.Unmarshal(out, &got))
	want := map[string]any{
		"models": []any{"openhands_default"}, "first": "hello", "tokens": true, "same": true, "streamed": "hello", "usage": true,
		"response": "hello", "error": "Unknown OpenHands model 'nobody'. Use GET /v1/models.", "refused": 401.0,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
