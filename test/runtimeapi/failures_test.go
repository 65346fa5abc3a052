package runtimeapi_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// state returns the runtime of a session, with its reason.
func (s *server) state(session string) (status, reason string) {
	s.t.Helper()
	var got struct{ Status, Reason, Hint string }
	if code := s.do("GET", "/sessions/"+session, key, nil, &got); code != http.StatusOK {
		s.t.Fatalf("session %s: %d", session, code)
	}
	if (got.Status == "stopped") != (got.Hint != "") {
		s.t.Errorf("%s, with the hint %q", got.Status, got.Hint)
	}
	return got.Status, got.Reason
}

// TestLateFailure: a start that fails after it was answered is found by its session, with
// the reason and the next step.
func TestLateFailure(t *testing.T) {
	t.Parallel()
	host := engine(t)
	registry, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	must.Succeed(t, err)
	defer registry.Close()
	asked := make(chan net.Conn, 100)
	go func() {
		for {
			conn, err := registry.Accept()
			if err != nil {
				return
			}
			asked <- conn
		}
	}()
	s := openWith(t, host, "--sandbox", "docker")
	slow := registry.Addr().String() + "/slow:1"
	started, code := s.inContainer("s", map[string]any{"image": slow, "image_pull_policy": "Always"})
	if code != http.StatusOK || started.Status != "starting" { // it was answered before the end
		t.Fatalf("%d, %+v", code, started)
	}
	first := <-asked
	registry.Close()
	first.Close()
	go func() {
		for conn := range asked {
			conn.Close()
		}
	}()
	defer close(asked)
	await(t, func() bool { status, _ := s.state("s"); return status == "stopped" })
	if _, reason := s.state("s"); !strings.Contains(reason, slow) {
		t.Errorf("%q", reason)
	}
	if r, code := s.inContainer("s", nil); code != http.StatusOK || r.Restarts != 1 || r.run(t, "echo ok") != "ok" {
		t.Errorf("again: %d, %+v", code, r)
	}
}

// TestRemovedByHand: a container that somebody removes is seen, and its session starts
// again with its files.
func TestRemovedByHand(t *testing.T) {
	t.Parallel()
	host := engine(t)
	s := openWith(t, host, "--sandbox", "docker")
	r, code := s.inContainer("s", nil)
	if code != http.StatusOK {
		t.Fatalf("%d, %+v", code, r)
	}
	r.run(t, "echo kept > f")
	answer, err := ofEngine(host).Get(`http://docker/containers/json?filters={"label":["dev.deft.sandbox=` + r.ID + `"]}`)
	must.Succeed(t, err)
	var all []struct {
		ID string `json:"Id"`
	}
	err = json.NewDecoder(answer.Body).Decode(&all)
	answer.Body.Close()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://docker/containers/"+all[0].ID+"?force=true", nil)
	must.Succeed(t, err)
	if answer, err = ofEngine(host).Do(q); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	await(t, func() bool { status, _ := s.state("s"); return status == "stopped" })
	if _, reason := s.state("s"); reason == "" {
		t.Error("there is no reason")
	}
	if again, code := s.inContainer("s", nil); code != http.StatusOK || again.ID != r.ID || again.run(t, "cat f") != "kept" {
		t.Errorf("%d, %+v", code, again)
	}
}

// TestEngineAway: while the engine does not answer, starts fail with the reason, and runtimes go on when it is back.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	host := engine(t)
	dir, err := os.MkdirTemp("", "engine") //nolint:usetesting // the path of a socket is short
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	serve := func() *http.Server {
		listener, err := net.Listen("unix", socket)
		must.Succeed(t, err)
		proxy := &http.Server{Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" }, Transport: ofEngine(host).Transport,
			FlushInterval: -1,
		}}
		go func() { _ = proxy.Serve(listener) }()
		return proxy
	}
	engine := serve()
	t.Cleanup(func() { engine.Close() }) // after the server, which needs it
	s := openWith(t, "unix://"+socket, "--sandbox", "docker")
	r, code := s.inContainer("s", nil)
	if code != http.StatusOK {
		t.Fatalf("%d, %+v", code, r)
	}
	engine.Close()
	if got, code := s.inContainer("other", nil); code != http.StatusServiceUnavailable || !strings.Contains(got.Detail, "reach the Docker engine") || !strings.Contains(got.Detail, "is it running") {
		t.Errorf("%d, %+v", code, got)
	}
	engine = serve()
	if got, code := s.inContainer("s", nil); code != http.StatusOK || got.ID != r.ID || got.run(t, "echo ok") != "ok" {
		t.Errorf("%d, %+v", code, got)
	}
	if got, code := s.inContainer("other", nil); code != http.StatusOK || got.run(t, "echo ok") != "ok" {
		t.Errorf("%d, %+v", code, got)
	}
}
