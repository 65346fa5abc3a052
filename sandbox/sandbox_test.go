package sandbox_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/sandbox"
)

// TestContainerJSON stores what a conversation keeps of its container, and reads it again.
func TestContainerJSON(t *testing.T) {
	t.Parallel()
	want := sandbox.Container{
		Image: "debian:12", Pull: sandbox.PullNever, User: "1:1", GPUs: "all", ReadOnly: true, DiskBytes: 1, Runtime: "runsc",
		Mounts:     []sandbox.Mount{{Source: "/a", Target: "/b", Mode: sandbox.MountOverlay}, {Source: "cache", Target: "/cache", Mode: sandbox.MountReadOnly}},
		ExtraHosts: []sandbox.ExtraHost{{Name: "db", Address: netip.MustParseAddr("fd00::7")}},
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got sandbox.Container
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
