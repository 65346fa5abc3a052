package mcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/mcp"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	tools := []string{"die", "echo", "env", "fail", "picture", "wait"}
	for call, want := range map[string]mcp.Probed{
		"":     {Tools: tools},
		"echo": {Tools: tools, Called: true, Text: "hi"},
		"fail": {Tools: tools, Called: true, Failed: true, Text: "it broke"},
		"nope": {Tools: tools, Called: true, Failed: true, Text: "Tool 'nope' not advertised by server (available: die, echo, env, fail, picture, wait)"},
	} {
		args := raw(map[string]any{})
		if call == "echo" {
			args = raw(textArgs{"hi"})
		}
		got, err := mcp.Probe(t.Context(), "x", overStdio("1"), started(mcp.Options{}), 2*time.Minute, call, args)
		must.Succeed(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", call, diff)
		}
	}
	got, err := mcp.Probe(t.Context(), "x", overStdio("1"), started(mcp.Options{}), time.Second, "wait", nil)
	if err != nil || !got.Failed || !strings.Contains(got.Text, "timed out after 1 seconds") {
		t.Errorf("a call that hangs: %+v, %v", got, err)
	}
}

func TestProbeFails(t *testing.T) {
	t.Parallel()
	dies := overStdio("say and die")
	dies.Env["KEY"] = "hunter2hunter2"
	for name, c := range map[string]struct {
		server mcp.Server
		kind   fault.Kind
		says   string
	}{
		"nothing there": {mcp.Server{URL: "http://127.0.0.1:1/?key=hunter2hunter2"}, fault.Unavailable, "connection refused"},
		"no program":    {mcp.Server{Command: "/nowhere"}, fault.Unavailable, "no such file"},
		"silent":        {overStdio("silent"), fault.Timeout, "no answer within 0.05 seconds"},
		"dies":          {dies, fault.Unavailable, "no license found for **********"},
	} {
		limit := 2 * time.Minute
		if c.kind == fault.Timeout {
			limit = 50 * time.Millisecond
		}
		_, err := mcp.Probe(t.Context(), "x", c.server, started(mcp.Options{}), limit, "", nil)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one of kind %s with %q", name, err, c.kind, c.says)
		}
	}
}
