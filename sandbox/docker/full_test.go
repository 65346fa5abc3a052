package docker_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	sandboximage "github.com/deft-dev/deft/sandbox/image"
)

// TestFullDisk: an engine without space is reported as full, and the half-made
// container is removed.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"/containers/create", "/start", "/build"} {
		t.Run(strings.Trim(strings.ReplaceAll(step, "/", " "), " "), func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "full") //nolint:usetesting // the path of a socket is short
			must.Succeed(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			listener, err := net.Listen("unix", filepath.Join(dir, "s"))
			must.Succeed(t, err)
			var mu sync.Mutex
			var asked []string
			engine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Method)
				mu.Unlock()
				w.Header().Set("Api-Version", "1.44")
				w.Header().Set("Content-Type", "application/json")
				status, body := http.StatusOK, "{}"
				switch {
				case strings.HasSuffix(r.URL.Path, step):
					status, body = http.StatusInternalServerError, `{"message":"write /var/lib/docker/x: no space left on device"}`
				case strings.HasSuffix(r.URL.Path, "/containers/create"):
					status, body = http.StatusCreated, `{"Id":"made"}`
				case r.Method == http.MethodDelete:
					status, body = http.StatusNoContent, ""
				case strings.HasSuffix(r.URL.Path, "/json"):
					status, body = http.StatusNotFound, `{"message":"no such container"}`
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body) // the client may have gone
			})}
			go func() { _ = engine.Serve(listener) }()
			t.Cleanup(func() { engine.Close() })
			p, err := docker.New(docker.Options{Dir: filepath.Join(dir, "sandboxes"), Image: image, Self: program, Host: "unix://" + listener.Addr().String()})
			must.Succeed(t, err)
			t.Cleanup(func() { p.Close() })
			if step == "/build" {
				file := filepath.Join(dir, "Dockerfile")
				must.Succeed(t, os.WriteFile(file, []byte("FROM x\n"), 0o600))
				if _, err := p.BuildImage(t.Context(), sandboximage.Request{Dockerfile: file}, func(string) {}); !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.HintOf(err), "disk is full") {
					t.Errorf("%v, %s", err, fault.HintOf(err))
				}
				return
			}
			_, err = p.Start(t.Context(), sandbox.Spec{ID: "full", Argv: []string{program, "unused"}, Workspace: t.TempDir(), Container: sandbox.Container{Pull: sandbox.PullNever}})
			if !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.HintOf(err), "disk is full") {
				t.Errorf("%v, %s", err, fault.HintOf(err))
			}
			mu.Lock()
			defer mu.Unlock()
			if removed := slices.Contains(asked, http.MethodDelete); removed != (step == "/start") {
				t.Errorf("removed: %v", removed)
			}
		})
	}
}
