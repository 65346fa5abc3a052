package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/deft-dev/deft/cli/stdio"
)

// TestLogJSON writes the log of the agent server as OpenHands' variable asks for.
func TestLogJSON(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"true": `"msg":"hm"`, "1": `"msg":"hm"`, "false": "msg=hm", "": "msg=hm", "maybe": "msg=hm"} {
		var out strings.Builder
		std := &streams{Streams: stdio.Streams{Err: &out, Env: func(name string) string {
			if name == "LOG_JSON" {
				return value
			}
			return ""
		}}}
		slog.New(warnings(std)).Warn("hm")
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q: %s", value, out.String())
		}
	}
}
