package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, why := range map[string]string{
		`[]`:                        "valid dictionary",
		`{"hooks":1}`:               "not an object",
		`{"Moon":[]}`:               `no hook event "Moon"`,
		`{"Stop":[],"stop":[]}`:     "twice",
		`{"stop":null}`:             "valid list",
		`{"stop":[{"hooks":null}]}`: "valid list",
		`{"stop":[{"hooks":[{"type":"prompt"}]}]}`:                           "'prompt' is required",
		`{"stop":[{"hooks":[{"type":"agent","command":"x"}]}]}`:              "must not be set",
		`{"stop":[{"hooks":[{"type":"prompt","prompt":"x","async":true}]}]}`: "not supported",
	} {
		if _, err := hook.Parse([]byte(raw)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want one with %q", raw, err, why)
		}
	}
	if c, err := hook.Parse([]byte("null")); c != nil || err != nil {
		t.Errorf("null: %v, %v", c, err)
	}
}

// TestProblems names mistakes that would otherwise be taken in silence.
func TestProblems(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`: "",
		`{"PreToolUse":[{"matcher":"/terminal|think/","hooks":[{"command":"x"}]}],"Stop":[{"matcher":"*","hooks":[{"command":"x","timeout":3}]}]}`: "",
		`{"PreToolUse":[{"matcher":"(","hooks":[{"command":"x"}]}]}`:                                                                               `hooks at PreToolUse: the matcher "(" is taken for the name of a tool, because it is no regular expression: missing closing )`,
		`{"PostToolUse":[{"matcher":"/(/","hooks":[{"command":"x"}]}]}`:                                                                            `hooks at PostToolUse: they never run, because the matcher "/(/" is no regular expression`,
		`{"SessionStart":[{"matcher":"startup","hooks":[{"command":"x"}]}]}`:                                                                       `the matcher "startup" keeps them from running, because SessionStart has no tool`,
		`{"Stop":[{"hooks":[{"command":"make test","timeout":-4}]}]}`:                                                                              `hooks at Stop: the timeout of make test is -4; it is ended after 1m0s`,
		`{"Stop":[{"hooks":[{"type":"agent","name":"judge","max_iterations":0}]}]}`:                                                                `the max_iterations of agent-hook:judge are 0; it is given 3`,
		`{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x"}]}]}`:                                                                            `hooks at PreToolUse: the matcher "Bash" names Claude Code's Bash, which is terminal here`,
		`{"PostToolUse":[{"matcher":"glob|Edit","hooks":[{"command":"x"}]}]}`:                                                                      `the matcher "glob|Edit" names Claude Code's Edit, which is file_editor here`,
		`{"PreToolUse":[{"matcher":"Bash|terminal|.*","hooks":[{"command":"x"}]}]}`:                                                                "",
	} {
		c, err := hook.Parse([]byte(raw))
		must.Succeed(t, err)
		got := strings.Join(c.Problems(), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	if lines := (*hook.Config)(nil).Problems(); lines != nil {
		t.Errorf("no hooks: %q", lines)
	}
}

// FuzzParse: a configuration that was read can be read again.
func FuzzParse(f *testing.F) {
	f.Add(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"x","async_":true}]}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := hook.Parse([]byte(raw))
		if err != nil || c == nil {
			return
		}
		out, err := json.Marshal(c)
		must.Succeed(t, err)
		again, err := hook.Parse(out)
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", out, err, diff)
		}
	})
}
