package docker_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
)

// TestAbortedStart: the container that the engine makes for a start that is given up is
// removed.
func TestAbortedStart(t *testing.T) {
	t.Parallel()
	c := engine(t)
	dir, err := os.MkdirTemp("", "aborted") //nolint:usetesting // the path of a socket is short
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	must.Succeed(t, err)
	made, release := make(chan struct{}), make(chan struct{})
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(c.DaemonHost(), "unix://"))
	}}
	slow := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" }, Transport: transport,
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/containers/create") {
				close(made)
				<-release
			}
			return nil
		},
	}}
	go func() { _ = slow.Serve(listener) }()
	t.Cleanup(func() { slow.Close() })
	p, err := docker.New(docker.Options{Dir: filepath.Join(dir, "sandboxes"), Image: image, Self: program, Host: "unix://" + listener.Addr().String()})
	must.Succeed(t, err)
	const id = "aborted-start"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Start(ctx, sandbox.Spec{ID: id, Argv: []string{program, "unused"}, Workspace: t.TempDir(), Container: sandbox.Container{Pull: sandbox.PullNever}})
		ended <- err
	}()
	select {
	case <-made:
	case err := <-ended:
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !fault.Is(err, fault.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	if err := p.Close(); err != nil { // it waits for the removal
		t.Error(err)
	}
	found, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", "dev.deft.sandbox="+id)})
	if err != nil || len(found.Items) > 0 {
		t.Errorf("left: %+v, %v", found.Items, err)
	}
}
