package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestSecretsSealed opens a sealed value only where the specification says that values
// are sealed, also after a restart.
func TestSecretsSealed(t *testing.T) {
	t.Parallel()
	const plain = "a-value-of-the-tests"
	for name, sealed := range map[string]bool{"sealed": true, "as it is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(shell("reveal"), says("done"), shell("reveal"), says("done")), nil)
			h.tools.hidden = plain
			value, err := h.ring.Seal([]byte(plain))
			must.Succeed(t, err)
			s := h.request(t, "")
			s.Secrets, s.SecretsSealed = map[string]json.RawMessage{"TOKEN": json.RawMessage(`"` + value + `"`)}, sealed
			c, _, err := h.Create(t.Context(), s)
			must.Succeed(t, err)
			for range 2 {
				send(t, c, "show it")
				settle(t, c)
				if masked := !strings.Contains(h.stored(t, c.ID()), plain); masked != sealed {
					t.Errorf("masked: %v, want %v", masked, sealed)
				}
				h.restart(t)
				c = h.get(t, c.ID())
			}
		})
	}
}
