package remote_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
	"github.com/deft-dev/deft/server/runtimeapi"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
	"github.com/deft-dev/deft/server/runtimeapi/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// image is the one that `make deps` makes.
const image = "deft-test-busybox:1"

const key = "key-of-the-suite"

// engine returns the address of a Docker engine. It skips the test where there is none,
// which CI must have.
func engine(t *testing.T) string {
	t.Helper()
	for _, host := range []string{os.Getenv("DOCKER_HOST"), os.Getenv("DEFT_TEST_DOCKER"), "unix:///var/run/docker.sock"} {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			continue
		}
		if conn, err := net.DialTimeout("unix", path, time.Minute); err == nil {
			_ = conn.Close()
			return host
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Docker engine (make deps)")
	}
	t.Skip("no Docker engine (make deps)")
	return ""
}

// server is a Runtime API of containers.
type server struct{ url, workspaces string }

func serve(t *testing.T) server {
	t.Helper()
	host, dir := engine(t), t.TempDir()
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program for containers: %v\n%s", err, out)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	containers, err := docker.New(docker.Options{Dir: filepath.Join(dir, "sandboxes"), Self: program, Host: host})
	must(err)
	t.Cleanup(func() { containers.Close() })
	kept, err := store.Open(t.Context(), filepath.Join(dir, "runtimes.db"), keyring.New(key))
	must(err)
	t.Cleanup(func() { kept.Close() })
	addresses, err := runtimeapi.NewAddresses(runtimeapi.DefaultPattern("127.0.0.1"), "127.0.0.1", log)
	must(err)
	s := server{workspaces: filepath.Join(dir, "workspaces")}
	runtimes, err := registry.Open(t.Context(), registry.Options{
		Provider: containers, Containers: true, Self: program, Dir: s.workspaces, Store: kept, Addresses: addresses, Log: log,
	})
	must(err)
	t.Cleanup(runtimes.Close)
	api, err := runtimeapi.New(runtimeapi.Options{Keys: []runtimeapi.Key{runtimeapi.NewKey("suite", key, 0)}, Registry: runtimes, Addresses: addresses, Log: log})
	must(err)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(err)
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// workspaceOf is where the server has the workspace of a sandbox.
func (s server) workspaceOf(t *testing.T, id string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all struct {
		Runtimes []struct {
			ID      string `json:"runtime_id"`
			Session string `json:"session_id"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all.Runtimes {
		if strings.HasSuffix(one.Session, "-"+id) {
			return filepath.Join(s.workspaces, one.ID, "workspace")
		}
	}
	t.Fatalf("no runtime of %s: %+v", id, all)
	return ""
}

// TestConformance runs the suite of all providers: the workspace is inside, and the API
// decides on limits and on isolation.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := serve(t)
	sandboxtest.Run(t, sandboxtest.Options{
		Open: func(t *testing.T, dir string) sandbox.Provider {
			p, err := remote.New(remote.Options{Dir: dir, URL: s.url, Key: key, KeyName: "KEY", Image: image})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
			return p
		},
		Program: "/usr/bin/deft", Container: sandbox.Container{Pull: sandbox.PullNever}, WorkspaceOf: s.workspaceOf,
	})
}
