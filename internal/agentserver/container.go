package agentserver

import (
	"os"
	"path/filepath"
	"strings"
)

// inContainer reports whether this machine, with its root directory and the
// environment of this process, looks like a container: by the files that Docker and
// Podman make, the variable that most managers of containers set, and the variables
// of Kubernetes.
func inContainer(env func(string) string, root string) bool {
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} {
		if env(name) != "" {
			return true
		}
	}
	for _, name := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			return true
		}
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/1/cgroup"))
	if err != nil {
		return false // it does not look like one
	}
	for _, manager := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
		if strings.Contains(string(groups), manager) {
			return true
		}
	}
	return false
}
