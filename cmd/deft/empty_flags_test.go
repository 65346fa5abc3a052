package main

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestCheckValues refuses flags without a value, but for the commands that programs start.
func TestCheckValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{"run", "--acp", "", "x"}, false},
		{[]string{"run", "--acp=", "x"}, false},
		{[]string{"run", "--json", ""}, true},
		{[]string{"run", "--net", ""}, true},
		{[]string{"run", "--env", "NAME=", "x"}, true},
		{[]string{"run", "--", "--acp", ""}, true},
		{[]string{"llm", "profile", "set", "p", "--base-url", ""}, true},
		{[]string{"action-server", "--workspace", "/", "--executor", ""}, true},
		{[]string{"agent-server", "--import-modules", ""}, true},
	} {
		c, err := newCommandLine(t.Context(), tt.args[0], standardStreams())
		must.Succeed(t, err)
		k, err := c.parser.Parse(tt.args)
		must.Succeed(t, err)
		if err := checkValues(k); (err == nil) != tt.want || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", tt.args, err)
		}
	}
}

// TestBlankArgument quotes an argument that cannot be seen, and leaves other messages as they are.
func TestBlankArgument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{""}, `unexpected argument ""`},
		{[]string{" "}, `unexpected argument " "`},
		{[]string{"conversations", ""}, `unexpected argument ""`},
		{[]string{"conversation"}, `unexpected argument conversation, did you mean "conversations"?`},
	} {
		c, err := newCommandLine(t.Context(), tt.args[0], standardStreams())
		must.Succeed(t, err)
		_, err = c.parser.Parse(tt.args)
		if err == nil {
			t.Fatalf("%q is accepted", tt.args)
		}
		if got := withBlankArgument(err.Error()); got != tt.want {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
}
