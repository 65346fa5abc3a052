package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/sandbox"
)

// A container has a loopback interface and the names of hosts that go with it.
const (
	hostname  = "sandbox"
	hostsPath = "/etc/hosts" // inside
	hostsName = "hosts"      // in the sandbox's directory
)

// loopbackByRuntime reports whether the OCI runtime makes the loopback interface of a container
// that the engine gives no network at all. For its network "none" Docker runs itself once more
// in each container, which takes as long as all the rest of a start.
func (p *Provider) loopbackByRuntime(ctx context.Context, runtime string) (bool, error) {
	p.runtimesMu.Lock()
	defer p.runtimesMu.Unlock()
	if p.runtimes == nil {
		got, err := p.engine.Info(ctx, client.InfoOptions{})
		if err != nil {
			return false, engineError(err, "ask the engine for its runtimes")
		}
		p.runtimes = map[string]system.Runtime{"": got.Info.Runtimes[got.Info.DefaultRuntime].Runtime}
		for name, r := range got.Info.Runtimes {
			p.runtimes[name] = r.Runtime
		}
	}
	return makesLoopback(p.runtimes[runtime]), nil
}

// makesLoopback knows runc, and gVisor that has nothing but a loopback interface.
func makesLoopback(r system.Runtime) bool {
	switch filepath.Base(r.Path) {
	case "runc":
		return true
	case "runsc":
		return slices.Contains(r.Args, "--network=none") || slices.Contains(r.Args, "-network=none")
	}
	return false
}

// writeHosts writes the names of hosts that programs in the container know. The engine writes
// none without a network. Programs may change them, unless the disk is limited; the sandbox's proxy does not read them.
func (p *Provider) writeHosts(s sandbox.Spec) error {
	lines := []string{"127.0.0.1\tlocalhost " + hostname, "::1\tlocalhost ip6-localhost ip6-loopback"}
	for _, h := range s.Container.ExtraHosts {
		lines = append(lines, h.Address.String()+"\t"+h.Name)
	}
	for name, text := range map[string]string{hostsName: strings.Join(lines, "\n") + "\n", names[0]: "", names[1]: hostname + "\n"} {
		path := filepath.Join(p.dir(s.ID), name)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// names are the files in /etc, beside hosts, that engines make outside of a container: for
// name servers, of which it has none, and for its own name.
var names = []string{"resolv.conf", "hostname"}
