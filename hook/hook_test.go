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
