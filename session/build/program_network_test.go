package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

func TestOwnSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shared sandbox.Network
		hosts  []string
		want   sandbox.Network
		kind   fault.Kind
	}{
		{shared: "", hosts: []string{"b.org", "*.A.org:443"}, want: ".a.org:443,b.org"},
		{shared: "none", hosts: []string{"a.org"}, want: "a.org"},
		{shared: "c.org,a.org", hosts: []string{"a.org", "b.org"}, want: "a.org,b.org,c.org"},
		{shared: "open", hosts: []string{"wiki.corp"}, want: "open,wiki.corp"},
		{shared: "open", hosts: []string{"http://x"}, kind: fault.Invalid},
		{shared: "open", hosts: []string{"none"}, kind: fault.Invalid},
		{shared: "", hosts: []string{""}, kind: fault.Invalid},
		{shared: "", hosts: []string{"none"}, kind: fault.Invalid},
	} {
		shared := sandbox.Spec{ID: "abc", Network: c.shared, Argv: []string{"deft", "--grace", "10m"}}
		own, err := ownSandbox(shared, c.hosts)
		if c.kind != "" {
			if !fault.Is(err, c.kind) {
				t.Errorf("%s and %q: %v, want %s", c.shared, c.hosts, err, c.kind)
			}
			continue
		}
		if err != nil || own.Network != c.want || !slices.Contains(own.Argv, "--net="+string(c.want)) {
			t.Errorf("%s and %q: %s, %q, %v", c.shared, c.hosts, own.Network, own.Argv, err)
		}
		if !strings.HasPrefix(own.ID, "abc"+ownSandboxMark) || len(shared.Argv) != 3 {
			t.Errorf("id %s, arguments of the conversation's sandbox %q", own.ID, shared.Argv)
		}
	}
}

// TestRemoveOwnSandboxes removes the sandboxes that a killed process has left of
// its programs, and nothing of another conversation.
func TestRemoveOwnSandboxes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := New(Options{Dir: dir})
	must.Succeed(t, err)
	defer b.Close()
	id, other := event.NewConversationID(), event.NewConversationID()
	for _, name := range []string{id.Hex(), id.Hex() + ownSandboxMark + "X", other.Hex() + ownSandboxMark + "Y"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(dir, "sandboxes", name), 0o700))
	}
	must.Succeed(t, b.Remove(t.Context(), id))
	left, err := os.ReadDir(filepath.Join(dir, "sandboxes"))
	if err != nil || len(left) != 1 || left[0].Name() != other.Hex()+ownSandboxMark+"Y" {
		t.Errorf("left: %v, %v", left, err)
	}
}
