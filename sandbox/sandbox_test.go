package sandbox_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// TestContainerJSON stores a conversation's container, and reads it again.
func TestContainerJSON(t *testing.T) {
	t.Parallel()
	want := sandbox.Container{
		Image: "debian:12", Pull: sandbox.PullNever, User: "1:1", GPUs: "all", ReadOnly: true, DiskBytes: 1, Runtime: "runsc",
		Mounts:     []sandbox.Mount{{Source: "/a", Target: "/b", Mode: sandbox.MountOverlay}, {Source: "cache", Target: "/cache", Mode: sandbox.MountReadOnly}},
		ExtraHosts: []sandbox.ExtraHost{{Name: "db", Address: netip.MustParseAddr("fd00::7")}},
	}
	raw, err := json.Marshal(want)
	must.Succeed(t, err)
	var got sandbox.Container
	must.Succeed(t, json.Unmarshal(raw, &got))
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContainerOr: new fields count, the rest stays.
func TestContainerOr(t *testing.T) {
	t.Parallel()
	host := func(name, address string) sandbox.ExtraHost {
		return sandbox.ExtraHost{Name: name, Address: netip.MustParseAddr(address)}
	}
	was := sandbox.Container{
		Image: "built", Pull: sandbox.PullNever, User: "1:1", GPUs: "all", ReadOnly: true, DiskBytes: 1, Runtime: "runsc",
		Mounts:     []sandbox.Mount{{Source: "/a", Target: "/x", Mode: sandbox.MountOverlay}, {Source: "cache", Target: "/cache", Mode: sandbox.MountReadOnly}},
		ExtraHosts: []sandbox.ExtraHost{host("db", "10.0.0.1"), host("mail", "10.0.0.2")},
	}
	for name, c := range map[string]struct{ given, want sandbox.Container }{
		"nothing": {sandbox.Container{}, was},
		"some": {
			sandbox.Container{
				Image: "other", GPUs: sandbox.NoGPUs, DiskBytes: -1,
				Mounts: []sandbox.Mount{{Source: "/b", Target: "/x/", Mode: sandbox.MountReadOnly}}, ExtraHosts: []sandbox.ExtraHost{host("db", "10.0.0.9")},
			},
			sandbox.Container{
				Image: "other", User: "1:1", GPUs: sandbox.NoGPUs, ReadOnly: true, DiskBytes: -1, Runtime: "runsc",
				Mounts:     []sandbox.Mount{{Source: "/b", Target: "/x/", Mode: sandbox.MountReadOnly}, was.Mounts[1]},
				ExtraHosts: []sandbox.ExtraHost{host("db", "10.0.0.9"), was.ExtraHosts[1]},
			},
		},
	} {
		if diff := cmp.Diff(c.want, c.given.Or(was), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
