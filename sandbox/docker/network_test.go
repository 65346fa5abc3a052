package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// TestNetwork proves that programs in a container reach the hosts that the Spec
// grants, through the sandbox's proxy, and nothing else in any way. The host's own
// proxy stands for the world: the tests' engine has no other network.
func TestNetwork(t *testing.T) { testNetwork(t, "") }

// TestNetworkOfGVisor is TestNetwork with a relay inside.
func TestNetworkOfGVisor(t *testing.T) { testNetwork(t, gVisor(t)) }

func testNetwork(t *testing.T, runtime string) {
	var world, services atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		world.Add(1)
		fmt.Fprintf(w, "WORLD %s", r.URL.Host)
	}))
	defer upstream.Close()
	everywhere, err := net.Listen("tcp", ":0")
	must.Succeed(t, err)
	service := &httptest.Server{Listener: everywhere, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		services.Add(1)
		fmt.Fprint(w, "SERVICE")
	})}}
	service.Start()
	defer service.Close()
	_, port, err := net.SplitHostPort(everywhere.Addr().String())
	must.Succeed(t, err)
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, upstream.URL)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	own, err := os.Hostname()
	must.Succeed(t, err)
	dir := filepath.Join(t.TempDir(), "docker")
	ws := t.TempDir()
	for i, c := range []struct {
		network sandbox.Network
		url     string
		want    string // in the program's output; "" for no answer at all
	}{
		{"none", "http://site.test/", ""},
		{"none", "http://127.0.0.1:" + port + "/", ""},
		{"site.test", "http://site.test/", "WORLD site.test"},
		{"site.test", "http://other.test/", "403"},
		{"open", "http://site.test/", "WORLD site.test"},
		{"open,127.0.0.1,localhost", "http://127.0.0.1:" + port + "/", "403"},
		{sandbox.Network("open," + strings.ToLower(own)), "http://" + own + ":" + port + "/", "403"},
		{"open", "http://169.254.169.254/latest/meta-data/", "403"},
		{"open", "http://10.1.2.3/", "403"},
	} {
		t.Run(string(c.network)+" "+c.url, func(t *testing.T) {
			p := provider(t, dir)
			spec := sandbox.Spec{
				ID: fmt.Sprintf("net%s%d", runtime, i), Argv: []string{program, "sandboxtest-program"}, Workspace: ws, Network: c.network,
				Container: sandbox.Container{Pull: sandbox.PullNever, Runtime: runtime},
			}
			s, err := p.Start(t.Context(), spec)
			must.Succeed(t, err)
			t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
			got := sandboxtest.Get(t, s, c.url, false)
			if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "WORLD") {
				t.Errorf("%s; want %s", got, c.want)
			}
			before := world.Load()
			direct := sandboxtest.Get(t, s, c.url, true)
			if strings.Contains(direct, "WORLD") || strings.Contains(direct, "SERVICE") || world.Load() != before {
				t.Errorf("without the proxy: %s", direct)
			}
		})
	}
	if n := services.Load(); n != 0 {
		t.Errorf("services of this machine were reached %d times", n)
	}
}

// TestProxyOutlivesItsProvider: another one finds the sandbox with its proxy, which
// ends with the container.
func TestProxyOutlivesItsProvider(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "WORLD") }))
	defer upstream.Close()
	t.Setenv("HTTP_PROXY", upstream.URL)
	t.Setenv("http_proxy", upstream.URL)
	dir := filepath.Join(t.TempDir(), "docker")
	spec := sandbox.Spec{
		ID: "netlives", Argv: []string{program, "sandboxtest-program"}, Workspace: t.TempDir(), Network: "site.test",
		Container: sandbox.Container{Pull: sandbox.PullNever},
	}
	first, err := docker.New(docker.Options{Dir: dir, Image: image, Self: program, Host: engine(t).DaemonHost()})
	must.Succeed(t, err)
	if _, err := first.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, first.Close())
	p := provider(t, dir)
	t.Cleanup(func() { must.Report(t, p.Remove(context.WithoutCancel(t.Context()), spec.ID)) })
	s, err := p.Start(t.Context(), spec)
	if err != nil || !s.Reused() {
		t.Fatal(s, err)
	}
	if got := sandboxtest.Get(t, s, "http://site.test/", false); !strings.Contains(got, "WORLD") {
		t.Error(got)
	}
	if f := s.Report().Features; !strings.Contains(strings.Join(f, " "), "egress-proxy") {
		t.Errorf("the report lacks the proxy: %v", f)
	}
}
