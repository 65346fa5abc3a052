package runtimeapi_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	runtimeclient "github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/tool"
)

// provider is a client with the key of one.
func (s *server) provider(dir string) *remote.Provider {
	s.t.Helper()
	p, err := remote.New(remote.Options{Dir: dir, URL: s.url, Key: key, KeyName: "KEY"})
	must.Succeed(s.t, err)
	s.t.Cleanup(func() { must.Report(s.t, p.Close()) })
	return p
}

func remoteSpec(id string) sandbox.Spec {
	const dir = "/workspace"
	return sandbox.Spec{
		ID: id, Workspace: dir, Container: sandbox.Container{Image: image, Pull: sandbox.PullNever}, Env: []string{"PATH=" + os.Getenv("PATH"), "GIVEN=here"},
		Argv: []string{binary.Path(), "action-server", "--workspace", dir, "--grace", "1m", "--executor", "standard"},
	}
}

func startRemote(t *testing.T, p *remote.Provider, s sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	box, err := p.Start(t.Context(), s)
	must.Succeed(t, err)
	return box
}

// inRemote runs a command of an agent in a sandbox.
func inRemote(t *testing.T, box sandbox.Sandbox, id event.ID, text string) string {
	t.Helper()
	rt, err := runtimeclient.New(runtimeclient.Options{Dial: box.Dial})
	must.Succeed(t, err)
	defer rt.Close()
	o, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: &event.TerminalAction{Command: text}}})
	must.Succeed(t, err)
	return event.JoinText(o.(*event.TerminalObservation).Content)
}

// TestRemote uses sandboxes of a Runtime API like sandboxes of this machine.
func TestRemote(t *testing.T) {
	t.Parallel()
	s := openWith(t, engine(t), "--sandbox", "docker")
	dir := filepath.Join(t.TempDir(), "remote")
	p := s.provider(dir)
	spec := remoteSpec("0123456789abcdef0123456789abcdef")
	if err := p.Remove(t.Context(), spec.ID); err != nil {
		t.Errorf("remove what never was: %v", err)
	}
	if _, err := p.Get(t.Context(), spec.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("get what never was: %v", err)
	}
	box := startRemote(t, p, spec)
	if box.Reused() || box.Report().Level != remote.Level {
		t.Errorf("reused %v, %+v", box.Reused(), box.Report())
	}
	if got := inRemote(t, box, "one", `pwd; echo "$GIVEN"; touch made; env | grep -i -e session_api -e runtime_api; true`); got != "/workspace\nhere" {
		t.Errorf("the command wrote %q", got)
	}
	// An answered action is not run again: the journal is the sandbox's.
	if got := inRemote(t, box, "one", "echo twice"); got != "/workspace\nhere" {
		t.Errorf("again: %q", got)
	}
	// Another client with the same directory finds it; one with another does not.
	again := startRemote(t, s.provider(dir), spec)
	if !again.Reused() || inRemote(t, again, "two", "ls") != "made" {
		t.Error("it was not found again")
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != spec.ID || list[0].State != sandbox.Running {
		t.Errorf("list %+v, %v", list, err)
	}
	other := s.provider(filepath.Join(t.TempDir(), "other"))
	if list, err := other.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the list of another client: %+v, %v", list, err)
	}
	if _, err := other.Get(t.Context(), spec.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("get by another client: %v", err)
	}
	// Another environment is a conflict.
	marked := spec
	marked.EnvMark = "changed"
	if _, err := p.Start(t.Context(), marked); !fault.Is(err, fault.Conflict) {
		t.Errorf("with another environment: %v", err)
	}
	// Paused by hand it does not answer; paused by the API it is resumed.
	must.Succeed(t, box.Pause(t.Context()))
	if st, err := box.Status(t.Context()); err != nil || st.State != sandbox.Paused {
		t.Errorf("status %+v, %v", st, err)
	}
	if conn, err := box.Dial(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a paused one answers: %v, %v", conn, err)
	}
	must.Succeed(t, box.Resume(t.Context()))
	var all struct{ Runtimes []runtime }
	s.do("GET", "/list", key, nil, &all)
	s.do("POST", "/pause", key, map[string]any{"runtime_id": all.Runtimes[0].ID}, nil)
	if got := inRemote(t, box, "three", "ls"); got != "made" {
		t.Errorf("after the API's pause: %q", got)
	}
	// It ends, and starts again with the journal.
	must.Succeed(t, box.Stop(t.Context()))
	<-box.Done()
	if st, err := box.Status(t.Context()); err != nil || st.State != sandbox.Ended {
		t.Errorf("status %+v, %v", st, err)
	}
	if _, err := p.Get(t.Context(), spec.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("get what has ended: %v", err)
	}
	box = startRemote(t, p, marked)
	if box.Reused() || inRemote(t, box, "three", "echo run anew") != "made" {
		t.Error("the journal is gone")
	}
	must.Succeed(t, p.Remove(t.Context(), spec.ID))
	<-box.Done()
	if status := s.do("GET", "/sessions/"+all.Runtimes[0].SessionID, key, nil, nil); status != http.StatusNotFound {
		t.Errorf("its session: %d", status)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}

// TestRemoteSurvives: the API ends and comes back, and the sandbox is the same.
func TestRemoteSurvives(t *testing.T) {
	t.Parallel()
	s := openWith(t, engine(t), "--sandbox", "docker")
	port := s.url[strings.LastIndex(s.url, ":")+1:]
	p := s.provider(filepath.Join(t.TempDir(), "remote"))
	spec := remoteSpec("survives")
	box := startRemote(t, p, spec)
	inRemote(t, box, "one", "touch made")
	s.kill()
	s.start("--sandbox", "docker", "--port", port)
	if got := inRemote(t, box, "two", "ls"); got != "made" {
		t.Errorf("after the API's restart: %q", got)
	}
	select {
	case <-box.Done():
		t.Error("it counts as ended")
	default:
	}
	must.Report(t, p.Remove(t.Context(), spec.ID))
}

// TestRemoteRefused names the mistake at once.
func TestRemoteRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	dir := filepath.Join(t.TempDir(), "remote")
	for name, c := range map[string]struct {
		o    remote.Options
		spec func(*sandbox.Spec)
		kind fault.Kind
		text string
	}{
		"no address": {remote.Options{}, nil, fault.Invalid, "address is missing"},
		"no key":     {remote.Options{URL: s.url, KeyName: "THE_KEY"}, nil, fault.Denied, "key"},
		"wrong key":  {remote.Options{URL: s.url, Key: "wrong", KeyName: "THE_KEY"}, nil, fault.Denied, "refuses the key"},
		"network":    {remote.Options{URL: s.url, Key: key}, func(s *sandbox.Spec) { s.Network = "open" }, fault.Unsupported, "a network"},
		"limits":     {remote.Options{URL: s.url, Key: key}, func(s *sandbox.Spec) { s.Limits.PIDs = 5 }, fault.Unsupported, "limits"},
		"grants":     {remote.Options{URL: s.url, Key: key}, func(s *sandbox.Spec) { s.Readable = []string{"/srv"} }, fault.Unsupported, "readable"},
		"image":      {remote.Options{URL: s.url, Key: key}, nil, fault.Unsupported, "image"},
		"user":       {remote.Options{URL: s.url, Key: key}, func(s *sandbox.Spec) { s.Container.User = "me" }, fault.Unsupported, "number"},
		"workspace":  {remote.Options{URL: s.url, Key: key}, func(s *sandbox.Spec) { s.Workspace = "/" }, fault.Invalid, "workspace"},
	} {
		c.o.Dir = dir
		p, err := remote.New(c.o)
		must.Succeed(t, err)
		spec := remoteSpec("refused")
		if c.spec != nil {
			c.spec(&spec)
		}
		if _, err := p.Start(t.Context(), spec); !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.text)
		}
		must.Report(t, p.Close())
	}
	if _, err := remote.New(remote.Options{Dir: dir, URL: "ftp://x", Key: key}); !fault.Is(err, fault.Invalid) {
		t.Errorf("not an address: %v", err)
	}
	var all struct{ Runtimes []runtime }
	s.do("GET", "/list", key, nil, &all)
	if len(all.Runtimes) != 0 {
		t.Errorf("runtimes are left: %+v", all)
	}
}

// TestRemoteKeys: the key for the API stays out of the sandbox, and a sandbox's server is
// nobody's without its own.
func TestRemoteKeys(t *testing.T) {
	t.Parallel()
	s := openWith(t, engine(t), "--sandbox", "docker")
	p := s.provider(filepath.Join(t.TempDir(), "remote"))
	box := startRemote(t, p, remoteSpec("keys"))
	if got := inRemote(t, box, "one", `cat /proc/1/environ /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n'`); strings.Contains(got, key) || strings.Contains(got, "SESSION_API_KEY") {
		t.Errorf("inside: %s", got)
	}
	var all struct{ Runtimes []runtime }
	s.do("GET", "/list", key, nil, &all)
	for _, wrong := range []string{"", key, "x"} {
		for _, path := range []string{"/v1/link", "/v1/watch", "/v1/shutdown"} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "GET", all.Runtimes[0].URL+path, nil)
			must.Succeed(t, err)
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "deft-action-server")
			r.Header.Set("X-Session-API-Key", wrong)
			resp, err := http.DefaultClient.Do(r)
			must.Succeed(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s with the key %q: %s", path, wrong, resp.Status)
			}
		}
	}
}
