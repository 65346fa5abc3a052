package agentserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInContainer(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for name, want := range map[string]bool{
		"": false, "etc/passwd": false, ".dockerenv": true, "run/.containerenv": true, "run/systemd/container": true, "proc/1/cgroup": true,
	} {
		root := t.TempDir()
		if name != "" {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, name), []byte("0::/docker/1"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := inContainer(none, root); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if !inContainer(func(name string) string { return map[string]string{"container": "podman"}[name] }, t.TempDir()) {
		t.Error("the variable container is not seen")
	}
	host := t.TempDir()
	if err := os.MkdirAll(host+"/proc/1", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(host+"/proc/1/cgroup", []byte("0::/init.scope\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if inContainer(none, host) {
		t.Error("a host is taken for a container")
	}
}
