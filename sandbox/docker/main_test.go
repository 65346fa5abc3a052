package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/moby/moby/client"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// program is the static binary that runs in containers.
var program string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "deft-docker-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "program")
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", program, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program for containers: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// engine is a client of the engine that tests use: at DOCKER_HOST or the usual
// socket, else the one that `make deps` has started. It skips the test where there
// is none, which CI must have.
func engine(t testing.TB) *client.Client {
	t.Helper()
	var failed error
	for _, host := range []string{"", os.Getenv("DEFT_TEST_DOCKER")} {
		options := []client.Opt{client.FromEnv}
		if host != "" {
			options = append(options, client.WithHost(host))
		}
		c, err := client.New(options...)
		if err == nil {
			if _, err = c.Ping(t.Context(), client.PingOptions{}); err == nil {
				t.Cleanup(func() { c.Close() })
				return c
			}
			c.Close()
		}
		failed = errors.Join(failed, err)
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no Docker engine: %v", failed)
	}
	t.Skipf("no Docker engine: %v", failed)
	return nil
}

// image is one with nothing but busybox: no bash, no git, no C library. `make deps`
// makes it.
const image = "deft-test-busybox:1"

func provider(t testing.TB, dir string) *docker.Provider {
	t.Helper()
	p, err := docker.New(docker.Options{Dir: dir, Image: image, Self: program, Host: engine(t).DaemonHost()})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Close()) })
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	engine(t)
	sandboxtest.Run(t, sandboxtest.Options{
		Open:    func(t *testing.T, dir string) sandbox.Provider { return provider(t, dir) },
		Program: program, Container: sandbox.Container{Pull: sandbox.PullNever},
	})
}

// gVisor is the OCI runtime of gVisor, which `make deps` builds. It skips the test
// where the engine does not have it, as CI must.
func gVisor(t testing.TB) string {
	t.Helper()
	const name = "runsc"
	e, err := provider(t, t.TempDir()).Engine(t.Context())
	must.Succeed(t, err)
	if !slices.Contains(e.Runtimes, name) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the engine has no runtime %s but %v", name, e.Runtimes)
		}
		t.Skipf("the engine has no runtime %s: make deps builds it", name)
	}
	return name
}

// TestGVisor is TestConformance in gVisor.
func TestGVisor(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Options{
		Open:    func(t *testing.T, dir string) sandbox.Provider { return provider(t, dir) },
		Program: program, Container: sandbox.Container{Pull: sandbox.PullNever, Runtime: gVisor(t)}, OwnKernel: true,
	})
}
