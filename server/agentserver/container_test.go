package agentserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

func TestInContainer(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for name, want := range map[string]bool{
		"": false, "etc/passwd": false, ".dockerenv": true, "run/.containerenv": true, "run/systemd/container": true, "proc/1/cgroup": true,
	} {
		root := t.TempDir()
		if name != "" {
			must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
			must.Succeed(t, os.WriteFile(filepath.Join(root, name), []byte("0::/docker/1"), 0o600))
		}
		if got := inContainer(none, root); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if !inContainer(func(name string) string { return map[string]string{"container": "podman"}[name] }, t.TempDir()) {
		t.Error("the variable container is not seen")
	}
	host := t.TempDir()
	must.Succeed(t, os.MkdirAll(host+"/proc/1", 0o700))
	must.Succeed(t, os.WriteFile(host+"/proc/1/cgroup", []byte("0::/init.scope\n"), 0o600))
	if inContainer(none, host) {
		t.Error("a host is taken for a container")
	}
}
