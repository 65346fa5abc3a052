package runtimeapi_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// image is the one that `make deps` makes: busybox alone.
const image = "deft-test-busybox:1"

// engine returns the address of a Docker engine. It skips the test where there is none,
// which CI must have.
func engine(t *testing.T) string {
	t.Helper()
	for _, host := range []string{os.Getenv("DOCKER_HOST"), os.Getenv("DEFT_TEST_DOCKER"), "unix:///var/run/docker.sock"} {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			continue
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		if answer, err := client.Get("http://docker/images/" + image + "/json"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return host
			}
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Docker engine with " + image + " (make deps)")
	}
	t.Skip("no Docker engine with " + image + " (make deps)")
	return ""
}

// inContainer starts a runtime from the image.
func (s *server) inContainer(session string, more map[string]any) (runtime, int) {
	s.t.Helper()
	ask := map[string]any{
		"image": image, "image_pull_policy": "Never", "command": action, "working_dir": "/workspace", "session_id": session,
		"environment": map[string]string{"OF_THE_CLIENT": "yes"},
	}
	maps.Copy(ask, more)
	var r runtime
	return r, s.do("POST", "/start", key, ask, &r)
}

// TestContainers: the same life in containers, whose users and limits are the client's.
func TestContainers(t *testing.T) {
	t.Parallel()
	host := engine(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can give workspaces to other users")
	}
	pool := filepath.Join(t.TempDir(), "pool.json")
	must.Succeed(t, os.WriteFile(pool, []byte(`[{"image": "`+image+`", "run_as_user": 1000, "size": 2}]`), 0o600))
	s := openWith(t, host, "--sandbox", "docker", "--pool", pool, "--memory", "256M")
	await(t, func() bool { return s.metric("deft_pool_ready") == 2 })
	seen := map[string]bool{}
	for _, session := range []string{"a", "b"} {
		r, status := s.inContainer(session, map[string]any{"image_pull_policy": "IfNotPresent"}) // --user-id 1000
		if status != http.StatusOK {
			t.Fatalf("%d, %+v", status, r)
		}
		if got := r.run(t, "echo $OF_THE_CLIENT $OF_THE_SERVER; id -u; pwd; ls -A | wc -l; stat -c %u ."); got != "yes\n1000\n/workspace\n0\n1000" {
			t.Errorf("%q", got)
		}
		machine := r.run(t, "cat /etc/machine-id")
		if len(machine) != 32 || seen[machine] {
			t.Errorf("the machine id %q", machine)
		}
		seen[machine] = true
	}
	if hits := s.metric("deft_pool_hits_total"); hits != 2 {
		t.Errorf("%d of 2 starts were served by the pool", hits)
	}
	r, status := s.inContainer("c", map[string]any{"run_as_user": 10001, "run_as_group": 10002, "fs_group": 10003, "resource_factor": 2})
	if status != http.StatusOK {
		t.Fatalf("%d, %+v", status, r)
	}
	if got := r.run(t, "id -u; id -g; stat -c %g /workspace; cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null"); got != "10001\n10002\n10003\n536870912" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		field, text string
		status      int
	}{
		{"runtime_class", "no-such-runtime", http.StatusNotImplemented},
		{"image", "no-such-image:1", http.StatusUnprocessableEntity},
	} {
		if got, status := s.inContainer("bad", map[string]any{c.field: c.text}); status != c.status || !strings.Contains(got.Detail, c.text) {
			t.Errorf("%s: %d, %+v", c.field, status, got)
		}
	}
	if got, _ := s.inContainer("bad", map[string]any{"runtime_class": "no-such-runtime"}); !strings.Contains(got.Detail, "--ignore runtime_class") {
		t.Errorf("%q does not say how to pass the field over", got.Detail)
	}
	var found struct {
		Exists bool
		Image  struct {
			Time  time.Time `json:"upload_time"`
			Bytes int       `json:"image_size_bytes"`
		}
	}
	if status := s.do("GET", "/image_exists?image="+image, key, nil, &found); status != http.StatusOK || !found.Exists || found.Image.Bytes == 0 || found.Image.Time.IsZero() {
		t.Errorf("%d, %+v", status, found)
	}
	if status := s.do("GET", "/image_exists?image=no-such-image:1", key, nil, &found); status != http.StatusOK || found.Exists {
		t.Errorf("%d, %+v", status, found)
	}
	r.run(t, "echo kept > f")
	s.kill()
	s.start("--sandbox", "docker", "--memory", "256M")
	if got := r.run(t, "cat f"); got != "kept" {
		t.Errorf("after a restart: %q", got)
	}
	if n := s.sandboxes(); n != 3 {
		t.Errorf("%d sandboxes, 3 runtimes", n)
	}
}

// TestStopWhileStarting: a start that waits for a registry which does not answer is seen as
// such, and ends when the client stops it.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	host := engine(t)
	registry, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	must.Succeed(t, err)
	defer registry.Close()
	s := openWith(t, host, "--sandbox", "docker", "--ignore", "run_as_user")
	ended := make(chan int, 1)
	go func() {
		_, status := s.inContainer("s", map[string]any{"image": registry.Addr().String() + "/slow:1", "image_pull_policy": "Always"})
		ended <- status
	}()
	var got runtime
	await(t, func() bool { return s.do("GET", "/sessions/s", key, nil, &got) == http.StatusOK })
	if u, err := url.Parse(got.URL); got.Status != "starting" || got.PodStatus != "pending" || err != nil || u.Port() == "" {
		t.Errorf("%+v", got)
	}
	if status := request(t, "GET", got.URL+"/alive", nil, nil, nil); status != http.StatusServiceUnavailable {
		t.Errorf("alive: %d", status)
	}
	if status := s.do("POST", "/stop", key, map[string]any{"runtime_id": got.ID}, nil); status != http.StatusOK {
		t.Errorf("stop: %d", status)
	}
	if status := <-ended; status != http.StatusConflict {
		t.Errorf("the start ended with %d", status)
	}
	if status := s.do("GET", "/sessions/s", key, nil, nil); status != http.StatusNotFound {
		t.Errorf("it is still there: %d", status)
	}
}
