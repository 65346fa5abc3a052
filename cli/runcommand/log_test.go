package runcommand

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewView(ViewOptions{Out: io.Discard, Err: &out, Quiet: true}).Log()
	log.Info("nobody reads this")
	log.With("server", "one").Warn("an MCP server is not available", "conversation", "id", "err", errors.New("exit\n\x1b[2J1"))
	if diff := cmp.Diff("warning: an MCP server is not available: one: exit; �[2J1\n", out.String()); diff != "" {
		t.Error(diff)
	}
}
