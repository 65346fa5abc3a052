package runtimeapi_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// givenServer is a program that a client gives: it serves the workspace until it is told to
// stop by a file. One page has the cookies of its request, and sets some.
const givenServer = `pwd >index.html; env >env.txt; mkdir -p cgi-bin
printf '#!/bin/sh\nprintf "Set-Cookie: deft_session=x\\r\\nSet-Cookie: own=2\\r\\n\\r\\n$HTTP_COOKIE"\n' >cgi-bin/cookies; chmod 755 cgi-bin/cookies
busybox httpd -f -p 127.0.0.1:8080 &
until [ -e stop ]; do sleep 0.05; done; rm stop; exit 7`

// fetch reads from the server of a runtime.
func (r runtime) fetch(t *testing.T, path, sessionKey string) (status int, text string) {
	t.Helper()
	status, text, _ = r.fetchWith(t, path, sessionKey, "")
	return status, text
}

// fetchWith sends cookies along, and returns those that are set.
func (r runtime) fetchWith(t *testing.T, path, sessionKey, cookie string) (status int, text string, set []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	must.Succeed(t, err)
	q.Header.Set("X-Session-API-Key", sessionKey)
	if cookie != "" {
		q.Header.Set("Cookie", cookie)
	}
	answer, err := http.DefaultClient.Do(q)
	must.Succeed(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must.Succeed(t, err)
	return answer.StatusCode, string(raw), answer.Header.Values("Set-Cookie")
}

// TestGivenProgram: a program of the client runs in the sandbox, is reached with the session
// key only, also by the next server, and its end is seen.
func TestGivenProgram(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]struct {
		container bool
		args      []string
		ask       map[string]any
		pool      string
	}{
		"process": {false, []string{"--ignore", ignored}, nil, `[{"size": 1}]`},
		"docker":  {true, []string{"--sandbox", "docker"}, map[string]any{"image": image, "image_pull_policy": "Never"}, `[{"image": "` + image + `", "image_pull_policy": "Never", "size": 1}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docker := ""
			if with.container {
				docker = engine(t)
			}
			pool := filepath.Join(t.TempDir(), "pool.json")
			must.Succeed(t, os.WriteFile(pool, []byte(with.pool), 0o600))
			args := append(with.args, "--pool", pool)
			s := openWith(t, docker, args...)
			await(t, func() bool { return s.metric("deft_pool_ready") == 1 })
			ask := map[string]any{
				"command": []string{"sh", "-c", givenServer}, "session_id": "s", "working_dir": "/workspace",
				"environment": map[string]string{"OF_THE_CLIENT": "yes", "PORT": "8080"},
			}
			maps.Copy(ask, with.ask)
			s.given(ask, args)
			s.givenFails(with.ask)
		})
	}
}

func (s *server) given(ask map[string]any, args []string) {
	t := s.t
	t.Helper()
	var r runtime
	if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK || r.Status != "running" {
		t.Fatalf("start: %d, %+v", status, r)
	}
	if s.metric("deft_pool_hits_total") != 0 {
		t.Error("it came from the pool")
	}
	await(t, func() bool { status, _ := r.fetch(t, "/index.html", r.SessionKey); return status == http.StatusOK })
	check := func() {
		t.Helper()
		for _, wrong := range []string{"", "x", key, r.SessionKey + "x"} {
			if status, text := r.fetch(t, "/index.html", wrong); status != http.StatusUnauthorized || !strings.Contains(text, "X-Session-API-Key") {
				t.Errorf("with the key %q: %d, %s", wrong, status, text)
			}
		}
		if status, text := r.fetch(t, "/index.html", r.SessionKey); status != http.StatusOK || strings.TrimSpace(text) != r.WorkingDir {
			t.Errorf("%d, %q, not in %s", status, text, r.WorkingDir)
		}
		const sent = "deft_session=SECRET; a=1; __Host-deft_session=SECRET; oh_workspace_session_key=SECRET"
		if status, text, set := r.fetchWith(t, "/cgi-bin/cookies", r.SessionKey, sent); status != http.StatusOK || text != "a=1" || !slices.Equal(set, []string{"own=2"}) {
			t.Errorf("cookies: %d, %q, set %q", status, text, set)
		}
	}
	check()
	_, env := r.fetch(t, "/env.txt", r.SessionKey)
	if !strings.Contains(env, "OF_THE_CLIENT=yes\n") || strings.Contains(env, r.SessionKey) || strings.Contains(env, "OF_THE_SERVER") {
		t.Errorf("the environment: %s", env)
	}
	stop := filepath.Join(s.dir, "data/runtime-api/workspaces", r.ID, "workspace/stop")
	must.Succeed(t, os.WriteFile(stop, nil, 0o600))
	await(t, func() bool { status, _ := s.state("s"); return status == "stopped" })
	if _, reason := s.state("s"); reason != "exited with code 7" {
		t.Errorf("the reason is %q", reason)
	}
	if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK || r.Status != "running" || r.Restarts != 1 {
		t.Errorf("again: %d, %+v", status, r)
	}
	await(t, func() bool { status, _ := r.fetch(t, "/index.html", r.SessionKey); return status == http.StatusOK })
	s.kill()
	s.start(args...)
	check()
}

// givenFails starts programs that are not there, or end at once.
func (s *server) givenFails(more map[string]any) {
	t := s.t
	t.Helper()
	ask := map[string]any{"command": "no-such-program --port 8000", "session_id": "none"}
	maps.Copy(ask, more)
	var r runtime
	if status := s.do("POST", "/start", key, ask, &r); status != http.StatusUnprocessableEntity || !strings.Contains(r.Detail, `command: "no-such-program" cannot be started in the sandbox`) {
		t.Errorf("%d, %+v", status, r)
	}
	if status := s.do("GET", "/sessions/none", key, nil, nil); status != http.StatusNotFound {
		t.Errorf("what did not start is there: %d", status)
	}
	ask["command"], ask["session_id"] = []string{"sh", "-c", "echo it said; exit 3"}, "short"
	if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, r)
	}
	await(t, func() bool { status, _ := s.state("short"); return status == "stopped" })
	if _, reason := s.state("short"); reason != "exited with code 3" {
		t.Errorf("the reason is %q", reason)
	}
	if log := s.output(r.ID); !strings.Contains(log, "it said\n") || !strings.Contains(log, "exit code 3") {
		t.Errorf("the log: %q", log)
	}
}

// output is the output of a runtime's sandbox.
func (s *server) output(id string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "data/runtime-api/sandboxes", id, "log"))
	must.Succeed(s.t, err)
	return string(raw)
}
