package config_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/config"
)

// TestContainers: the flags and the settings of the contract choose containers.
func TestContainers(t *testing.T) {
	t.Parallel()
	usual := sandbox.Limits{MemoryBytes: 4 << 30, CPUs: 2, PIDs: 512}
	tests := map[string]struct {
		flags   config.Flags
		env     []string
		sandbox string
		image   string
		limits  sandbox.Limits
	}{
		"neither":         {config.Flags{Sandbox: "none"}, nil, "none", "", sandbox.Limits{}},
		"the flag":        {config.Flags{Sandbox: "docker"}, nil, "docker", "", usual},
		"the flags":       {config.Flags{Sandbox: "docker", Image: "i", Pids: 9}, nil, "docker", "i", sandbox.Limits{MemoryBytes: 4 << 30, CPUs: 2, PIDs: 9}},
		"the settings":    {config.Flags{Sandbox: "none"}, []string{"OH_CONVERSATION_RUNTIME=docker", "OH_CONVERSATION_CONTAINER_CPUS=1"}, "docker", "ghcr.io/openhands/agent-server:latest-python", sandbox.Limits{MemoryBytes: 4 << 30, CPUs: 1, PIDs: 512}},
		"an image":        {config.Flags{Sandbox: "docker"}, []string{"OH_CONVERSATION_IMAGE=other"}, "docker", "other", usual},
		"both":            {config.Flags{Sandbox: "docker", Image: "i"}, []string{"OH_CONVERSATION_RUNTIME=docker", "OH_CONVERSATION_IMAGE=other"}, "docker", "i", usual},
		"for some":        {config.Flags{Sandbox: "process", Image: "i"}, []string{"OH_CONVERSATION_RUNTIME_SELECTABLE=true"}, "process", "i", usual},
		"without a limit": {config.Flags{Sandbox: "docker", Memory: -1}, []string{"OH_CONVERSATION_CONTAINER_CPUS_IS_NONE=1"}, "docker", "", sandbox.Limits{MemoryBytes: -1, CPUs: -1, PIDs: 512}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := load(t, "", tt.flags, tt.env...)
			must.Succeed(t, err)
			got := []any{l.Sandbox.Name, l.Container.Image, l.ContainerLimits}
			if d := cmp.Diff([]any{tt.sandbox, tt.image, tt.limits}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestContainerFlags: a container's options beside its image come from flags.
func TestContainerFlags(t *testing.T) {
	t.Parallel()
	hosts := []sandbox.ExtraHost{{Name: "db", Address: netip.MustParseAddr("10.1.2.3")}}
	mounts := []sandbox.Mount{{Source: "cache", Target: "/cache", Mode: sandbox.MountReadWrite}}
	l, err := load(t, "", config.Flags{Sandbox: "docker", Image: "i", Mount: mounts, AddHost: hosts, ReadOnly: true, GPUs: "2", Disk: 1 << 30, OCIRuntime: "runsc", Pull: "never"})
	must.Succeed(t, err)
	want := sandbox.Container{Image: "i", Pull: "never", Mounts: mounts, ExtraHosts: hosts, ReadOnly: true, GPUs: "2", DiskBytes: 1 << 30, Runtime: "runsc"}
	if diff := cmp.Diff(want, l.Container, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContainersRefused: options that do not go together are refused by name.
func TestContainersRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags config.Flags
		env   []string
	}{
		"two sandboxes":       {config.Flags{Sandbox: "process"}, []string{"OH_CONVERSATION_RUNTIME=docker"}},
		"image of a process":  {config.Flags{Sandbox: "process", Image: "i"}, nil},
		"runtime of nothing":  {config.Flags{Sandbox: "none", OCIRuntime: "runsc"}, nil},
		"pulled for nothing":  {config.Flags{Sandbox: "none", Pull: "always"}, nil},
		"disk of a process":   {config.Flags{Sandbox: "process", Disk: 1 << 30}, nil},
		"mount of nothing":    {config.Flags{Sandbox: "none", Mount: []sandbox.Mount{{Source: "v", Target: "/v", Mode: "rw"}}}, nil},
		"host of a process":   {config.Flags{Sandbox: "process", AddHost: []sandbox.ExtraHost{{Name: "db"}}}, nil},
		"image of nothing":    {config.Flags{Sandbox: "none", ReadOnly: true}, nil},
		"GPUs of a process":   {config.Flags{Sandbox: "process", GPUs: "all"}, nil},
		"GPUs of a remote":    {config.Flags{Sandbox: "remote", GPUs: "all"}, nil},
		"memory of a process": {config.Flags{Sandbox: "none", Memory: 1 << 30}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := load(t, "", tt.flags, tt.env...); !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
				t.Errorf("got %v, want an error of kind invalid with a hint", err)
			}
		})
	}
}
