package docker_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/moby/moby/api/types/system"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestHosts: without a network of the engine a container has a loopback interface and no
// route, and knows the usual names and the names of the Spec, also once it is started
// anew.
func TestHosts(t *testing.T) {
	t.Parallel()
	for name, runtime := range map[string]func(testing.TB) string{"Docker": func(testing.TB) string { return "" }, "gVisor": gVisor} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, t.TempDir())
			spec := sandbox.Spec{
				ID: "hosts", Argv: []string{program, "sandboxtest-program"}, Workspace: t.TempDir(),
				Container: sandbox.Container{Pull: sandbox.PullNever, Runtime: runtime(t), ExtraHosts: []sandbox.ExtraHost{{Name: "db.corp", Address: netip.MustParseAddr("127.0.0.1")}}},
			}
			t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
			for range 2 {
				s, err := p.Start(t.Context(), spec)
				must.Succeed(t, err)
				got := sandboxtest.Shell(t, s, `echo hello >page; httpd -p 127.0.0.1:8080 -h .; for h in localhost sandbox db.corp; do wget -q -O - http://$h:8080/page; done; hostname; grep -c : /proc/net/dev; tail -n +2 /proc/net/route`)
				if want := "hello\nhello\nhello\nsandbox\n1"; got != want {
					t.Errorf("inside: %q, want %q", got, want)
				}
				must.Succeed(t, s.Stop(t.Context()))
			}
		})
	}
}

// TestMakesLoopback: the engine is relied on where nothing is known about the OCI runtime.
func TestMakesLoopback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runtime system.Runtime
		want    bool
	}{
		"runc":                   {system.Runtime{Path: "runc"}, true},
		"runc by its path":       {system.Runtime{Path: "/usr/sbin/runc"}, true},
		"crun":                   {system.Runtime{Path: "/usr/bin/crun"}, false},
		"around runc":            {system.Runtime{Path: "nvidia-container-runtime"}, false},
		"gVisor":                 {system.Runtime{Path: "/usr/local/bin/runsc", Args: []string{"--host-uds=all"}}, false},
		"gVisor with loopback":   {system.Runtime{Path: "/usr/local/bin/runsc", Args: []string{"--host-uds=all", "--network=none"}}, true},
		"gVisor by its own shim": {system.Runtime{Type: "io.containerd.runsc.v1"}, false},
		"unknown":                {system.Runtime{}, false},
	} {
		if got := docker.MakesLoopback(c.runtime); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
