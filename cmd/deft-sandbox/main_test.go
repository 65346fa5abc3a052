package main

import (
	"testing"

	"github.com/deft-dev/deft/fault"
)

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		nil, {"run"}, {"agent-server"}, {"sandbox-server", "more"}, {"action-server"}, {"action-server", "--workspace", "/w", "--other"},
		{"action-server", "--workspace", "/w", "--executor", "linked-into-deft"},
	} {
		if err := run(t.Context(), args); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
