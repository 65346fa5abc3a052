package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

func TestDecodeInto(t *testing.T) {
	t.Parallel()
	got, err := tool.DecodeInto[event.EditAction](json.RawMessage(`{"file_path":"/a","old_string":"x","new_string":"y"}`))
	must.Succeed(t, err)
	want := &event.EditAction{FilePath: "/a", OldString: "x", NewString: "y", ExpectedReplacements: 1}
	if diff := cmp.Diff(event.Action(want), got); diff != "" {
		t.Errorf("action, with the default of an absent field (-want +got):\n%s", diff)
	}
	for args, want := range map[string]string{
		`{"file_pth":"/a"}`:                `no argument "file_pth"; did you mean file_path?; the arguments are file_path, old_string, new_string, expected_replacements`,
		`{"expected_replacements":"many"}`: `argument "expected_replacements" must be an integer, not a string`,
		`{`:                                "arguments",
	} {
		_, err := tool.DecodeInto[event.EditAction](json.RawMessage(args))
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}
