package llmtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got := parse(t, `
by_history: true
models: [a, b]
defaults: {chunk_delay: 2ms}
turns:
  - name: one
    match: {stream: true, call: 2, headers: {X-Test: ""}}
    repeat: forever
    latency: 50ms
    fault: {kind: reset, after: 3}
    reply:
      tool_calls: [{name: ls, arguments: {n: 1, deep: {list: [a, 2.5, null, true]}}}]
  - fault: hang
    repeat: 2
default: {reply: {text: over}}
`)
	yes, two := true, 2
	want := &llmtest.Script{
		ByHistory: true, Models: []string{"a", "b"}, Defaults: llmtest.Pacing{ChunkDelay: 2 * time.Millisecond},
		Turns: []llmtest.Turn{{
			Name: "one", Match: &llmtest.Match{Stream: &yes, Call: &two, Headers: map[string]string{"X-Test": ""}},
			Repeat: llmtest.Forever, Pacing: llmtest.Pacing{Latency: 50 * time.Millisecond},
			Fault: &llmtest.Fault{Kind: llmtest.Reset, After: 3},
			Reply: llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "ls", Arguments: map[string]any{
				"n": uint64(1), "deep": map[string]any{"list": []any{"a", 2.5, nil, true}},
			}}}},
		}, {Fault: &llmtest.Fault{Kind: llmtest.Hang}, Repeat: 2}},
		Default: &llmtest.Turn{Reply: llmtest.Reply{Text: "over"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ yaml, want string }{
		"empty":             {"", "empty"},
		"unknown key":       {"turns:\n  - reply:\n      txt: x\n", "[3:7]"},
		"unknown inline":    {"turns:\n  - latenzy: 3s\n", "[2:5]"},
		"unknown in fault":  {"turns:\n  - fault: {kind: hang, often: 3}\n", "often"},
		"not yaml":          {"turns: [", "script"},
		"two documents":     {"turns: []\n---\nturns: []\n", "more than one"},
		"wrong type":        {"turns: 3", "script"},
		"fault kind":        {"turns:\n  - {}\n  - fault: melt\n", `line 3: turn 2: fault: unknown kind "melt"`},
		"repeat":            {"turns:\n  - repeat: 0\n", "number from 1"},
		"repeat word":       {"turns:\n  - repeat: often\n", "script"},
		"template":          {"turns:\n  - {}\n  - reply: {text: '{{.LastUser'}\n", "line 3: turn 2: reply: text"},
		"template function": {"turns: [{reply: {tool_calls: [{name: a, arguments: {x: ['{{nope}}']}}]}}]", `function "nope" not defined`},
		"regexp":            {"turns: [{match: {user_regexp: '('}}]", "user_regexp"},
		"protocol":          {"turns: [{match: {protocol: smtp}}]", `unknown protocol "smtp"`},
		"glob":              {"turns: [{match: {model: '['}}]", "model"},
		"call from 1":       {"turns: [{match: {call: 0}}]", "counts from 1"},
		"both arguments":    {"turns: [{reply: {tool_calls: [{name: a, arguments: {x: 1}, raw_arguments: '{'}]}}]", "exclude"},
		"no name":           {"turns: [{reply: {tool_calls: [{id: a}]}}]", "name is missing"},
		"usage":             {"turns: [{reply: {usage: {input: 1, cached: 2}}}]", "includes cached"},
		"negative usage":    {"turns: [{reply: {usage: {input: -1}}}]", "negative"},
		"negative latency":  {"turns: [{latency: -1s}]", "negative"},
		"duration":          {"turns: [{latency: soon}]", "script"},
		"after":             {"turns: [{fault: {kind: html, after: 2}}]", "no after"},
		"status":            {"turns: [{fault: {kind: hang, status: 500}}]", "no status"},
		"status range":      {"turns: [{fault: {kind: html, status: 99}}]", "from 200"},
		"retry_as":          {"turns: [{fault: {kind: rate_limit, retry_as: moon}}]", "retry_as"},
		"half without call": {"turns: [{fault: half_tool_call}]", "needs a reply with tool_calls"},
		"unreachable":       {"{by_history: true, turns: [{repeat: forever}, {reply: {text: x}}]}", "can never answer"},
		"default":           {"turns: []\ndefault:\n  fault: melt\n", "turn default: fault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llmtest.Parse([]byte(tc.yaml))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !fault.Is(err, fault.Invalid) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	if _, err := llmtest.Load(filepath.Join(t.TempDir(), "none.yaml")); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing file: %v", err)
	}
	s, err := llmtest.Load("testdata/example.yaml")
	must.Succeed(t, err)
	if _, err := llmtest.New(s, llmtest.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := llmtest.New(&llmtest.Script{Turns: []llmtest.Turn{{Repeat: -2}}}, llmtest.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("script built in Go: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/example.yaml")
	must.Succeed(f, err)
	for _, seed := range []string{string(example), rich, "turns: [{fault: hang}]", "a: &a [*a]", "turns:\n- reply: {text: '{{.X}}'}", "? - :", "{by_history: true, turns: [{repeat: 9999999}]}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := llmtest.Parse(data)
		if err != nil {
			return
		}
		// A script that loads must also serve.
		if _, err := llmtest.New(s, llmtest.Options{}); err != nil {
			t.Errorf("parsed, but: %v", err)
		}
	})
}
