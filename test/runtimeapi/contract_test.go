package runtimeapi_test

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/program"
)

// TestActionServer: the life of a runtime as OpenHands' RemoteRuntime leads it.
func TestActionServer(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored)
	if status := s.do("GET", "/sessions/s", key, nil, nil); status != http.StatusNotFound {
		t.Errorf("a session that there is not: %d", status)
	}
	r := s.begin("s", action)
	if got := r.run(t, "echo $OF_THE_CLIENT $OF_THE_SERVER $SESSION_API_KEY; pwd; echo x > f"); got != "yes\n/workspace" {
		t.Errorf("%q", got)
	}
	if got := r.run(t, "cat /proc/1/comm"); got != program.Name {
		t.Errorf("the sandbox runs %q, which starts slowly", got)
	}
	// Nor can commands take the key from the server that runs them.
	if got := r.run(t, "cat /proc/1/environ /proc/1/mem /proc/1/fd/3 2>/dev/null | wc -c"); got != "0" {
		t.Errorf("the server's memory: %q", got)
	}
	if status := request(t, "POST", r.URL+"/execute_action", map[string]string{"X-Session-API-Key": key}, map[string]any{}, nil); status != http.StatusForbidden {
		t.Errorf("a wrong session key: %d", status)
	}
	if again := s.begin("s", action); again.ID != r.ID || again.SessionKey != r.SessionKey || again.URL != r.URL {
		t.Errorf("the same session is another runtime: %+v, %+v", r, again)
	}
	var conflict runtime
	if status := s.do("POST", "/start", key, map[string]any{"image": "i", "command": agent, "session_id": "s"}, &conflict); status != http.StatusConflict || !strings.Contains(conflict.Detail, "stop it first") {
		t.Errorf("another command: %d, %+v", status, conflict)
	}
	id := map[string]any{"runtime_id": r.ID}
	var got runtime
	for _, step := range []struct {
		action, status, pod string
		alive               int
	}{
		{"/pause", "paused", "not found", http.StatusServiceUnavailable},
		{"/pause", "paused", "not found", http.StatusServiceUnavailable},
		{"/resume", "running", "ready", http.StatusOK},
		{"/resume", "running", "ready", http.StatusOK},
		{"/pause", "paused", "not found", http.StatusServiceUnavailable},
	} {
		if status := s.do("POST", step.action, key, id, nil); status != http.StatusOK {
			t.Errorf("%s: %d", step.action, status)
		}
		s.do("GET", "/sessions/s", key, nil, &got)
		if got.Status != step.status || got.PodStatus != step.pod || got.ID != r.ID {
			t.Errorf("%s: %+v", step.action, got)
		}
		if status := request(t, "GET", r.URL+"/alive", nil, nil, nil); status != step.alive {
			t.Errorf("alive after %s: %d", step.action, status)
		}
	}
	if again := s.begin("s", action); again.ID != r.ID || again.run(t, "cat f") != "x" {
		t.Errorf("a paused one is not resumed by a start: %+v", again)
	}
	if status := s.do("POST", "/stop", key, id, nil); status != http.StatusOK {
		t.Errorf("stop: %d", status)
	}
	for _, path := range []string{"/sessions/s", "/runtime/" + r.ID} {
		if status := s.do("GET", path, key, nil, nil); status != http.StatusNotFound {
			t.Errorf("%s after the end: %d", path, status)
		}
	}
	for _, path := range []string{"/stop", "/pause", "/resume"} {
		if status := s.do("POST", path, key, id, nil); status != http.StatusNotFound {
			t.Errorf("%s after the end: %d", path, status)
		}
	}
}

// TestAgentServer: the runtime of APIRemoteWorkspace and RemoteSandboxService, with its
// WebSockets.
func TestAgentServer(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored)
	r := s.begin("a", agent)
	if status := request(t, "GET", r.URL+"/health", nil, nil, nil); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}
	if status := request(t, "GET", r.URL+"/api/conversations/search", nil, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("without the session key: %d", status)
	}
	other := s.begin("b", agent)
	if status := request(t, "GET", other.URL+"/api/conversations/search", map[string]string{"X-Session-API-Key": r.SessionKey}, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("with the session key of another runtime: %d", status)
	}
	// Clients of OpenHands send the API key along: it must not get inside.
	headers := map[string]string{"X-Session-API-Key": r.SessionKey, "X-API-Key": key}
	var out struct {
		Stdout string
		Code   int `json:"exit_code"`
	}
	status := request(t, "POST", r.URL+"/api/bash/execute_bash_command", headers, map[string]any{"command": "echo $OF_THE_CLIENT; env | grep -c " + key, "cwd": "/"}, &out)
	if status != http.StatusOK || out.Stdout != "yes\n0\n" {
		t.Errorf("%d, %+v", status, out)
	}
	url := "ws" + strings.TrimPrefix(r.URL, "http") + "/sockets/bash-events?session_api_key="
	if conn, _, err := websocket.Dial(t.Context(), url+"wrong", nil); err == nil {
		conn.CloseNow()
		t.Error("a WebSocket with a wrong key was opened")
	}
	conn, _, err := websocket.Dial(t.Context(), url+r.SessionKey+"&resend_all=true", nil)
	must.Succeed(t, err)
	defer conn.CloseNow()
	if _, raw, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(raw), "BashCommand") {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, k := range []string{"", "wrong"} {
		for _, path := range []string{"/list", "/sessions/x", "/sessions/batch?ids=x", "/runtime/x", "/registry_prefix", "/image_exists?image=x", "/metrics", "/build_status?build_id=x"} {
			if status := s.do("GET", path, k, nil, nil); status != http.StatusUnauthorized {
				t.Errorf("%s with the key %q: %d", path, k, status)
			}
		}
	}
	for _, c := range []struct {
		body   map[string]any
		status int
		text   string
	}{
		{map[string]any{"image": "x"}, 501, "image: this server's sandboxes are not containers"},
		{map[string]any{"image_pull_policy": "Always"}, 501, "image_pull_policy: "},
		{map[string]any{"image_pull_policy": "Sometimes"}, 422, "image_pull_policy must be"},
		{map[string]any{"run_as_user": 4711}, 501, "run_as_user: "},
		{map[string]any{"run_as_user": -1}, 422, "run_as_user must be"},
		{map[string]any{"run_as_group": 4711}, 501, "run_as_group: "},
		{map[string]any{"fs_group": 4711}, 501, "fs_group: "},
		{map[string]any{"runtime_class": "sysbox-runc"}, 501, "runtime_class: "},
		{map[string]any{"resource_factor": 2}, 501, "resource_factor: "},
		{map[string]any{"privileged": true}, 501, "privileged: this server does not have that field"},
		{map[string]any{"command": nil}, 422, "command is missing"},
		{map[string]any{"resource_factor": 0}, 422, "resource_factor must be more than 0"},
		{map[string]any{"command": []string{"/no/such/program", "--port", "8000"}}, 422, `command: "/no/such/program" cannot be started in the sandbox`},
		{map[string]any{"command": "no-such-program"}, 422, "no-such-program"},
		{map[string]any{"command": []string{"sh"}, "environment": map[string]string{"PORT": "x"}}, 422, "environment: PORT must be a number"},
		{map[string]any{"command": agent + "; id"}, 501, "command: a line with quotes"},
		{map[string]any{"command": "openhands-agent-server --port none"}, 422, "the port must be a number"},
		{map[string]any{"command": "openhands-agent-server --nonsense"}, 422, "unknown flag --nonsense"},
		{map[string]any{"working_dir": "x"}, 422, "working_dir must be an absolute path"},
		{map[string]any{"environment": map[string]string{"A=B": "c"}}, 422, "cannot be a variable"},
		{map[string]any{"session_id": "a\nb"}, 422, "session_id"},
	} {
		body := map[string]any{"command": agent}
		maps.Copy(body, c.body)
		var r runtime
		if status := s.do("POST", "/start", key, body, &r); status != c.status || !strings.Contains(r.Detail, c.text) {
			t.Errorf("%v: %d, %+v", c.body, status, r)
		}
	}
	var all struct{ Runtimes []runtime }
	if s.do("GET", "/list", key, nil, &all); len(all.Runtimes) != 0 {
		t.Errorf("what was refused is there: %+v", all)
	}
	for path, want := range map[string]int{"/build_status?build_id=x": 501, "/image_exists?image=x": 501, "/image_exists": 422, "/registry_prefix": 200, "/nothing": 404} {
		if status := s.do("GET", path, key, nil, nil); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestOwners: a key reaches the runtimes of its owner only, and as many as its quota says.
func TestOwners(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored)
	mine := s.begin("s", action)
	id := map[string]any{"runtime_id": mine.ID}
	for _, path := range []string{"/sessions/s", "/runtime/" + mine.ID} {
		if status := s.do("GET", path, otherKey, nil, nil); status != http.StatusNotFound {
			t.Errorf("%s of another: %d", path, status)
		}
	}
	for _, path := range []string{"/stop", "/pause", "/resume"} {
		if status := s.do("POST", path, otherKey, id, nil); status != http.StatusNotFound {
			t.Errorf("%s of another: %d", path, status)
		}
	}
	var got runtime
	ask := map[string]any{"command": action, "session_id": "s"}
	if status := s.do("POST", "/start", otherKey, ask, &got); status != http.StatusOK || got.ID == mine.ID || got.SessionKey == mine.SessionKey {
		t.Errorf("the same session of another: %d, %+v", status, got)
	}
	ask["session_id"] = "t"
	var full runtime
	if status := s.do("POST", "/start", otherKey, ask, &full); status != http.StatusTooManyRequests || !strings.Contains(full.Detail, "as many as it may") {
		t.Errorf("beyond the quota: %d, %+v", status, full)
	}
	var batch []runtime
	if s.do("GET", "/sessions/batch?ids=s&ids=none", otherKey, nil, &batch); len(batch) != 1 || batch[0].ID != got.ID {
		t.Errorf("%+v", batch)
	}
}

// TestRacingStarts: starts of one session at the same time have one runtime.
func TestRacingStarts(t *testing.T) {
	t.Parallel()
	s := open(t, "--ignore", ignored)
	ids := make([]string, 20)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = s.begin("same", action).ID })
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("two runtimes: %v", ids)
		}
	}
}

// TestSharedPort: runtimes are reached at the server's own port, by the host's name or by
// the path.
func TestSharedPort(t *testing.T) {
	t.Parallel()
	for pattern, at := range map[string]func(s *server, r runtime) (url, host string){
		"https://example.org/runtimes/{runtime_id}": func(s *server, r runtime) (string, string) { return s.url + "/runtimes/" + r.ID, "example.org" },
		"https://{runtime_id}.example.org":          func(s *server, r runtime) (string, string) { return s.url, r.ID + ".example.org" },
	} {
		s := open(t, "--ignore", ignored, "--runtime-url", pattern)
		r := s.begin("s", agent)
		if want := strings.Replace(pattern, "{runtime_id}", r.ID, 1); r.URL != want {
			t.Errorf("%s, want %s", r.URL, want)
		}
		url, host := at(s, r)
		for path, want := range map[string]int{"/health": http.StatusOK, "/api/conversations/search": http.StatusOK, "/sockets/bash-events": 0} {
			if want == 0 {
				conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+path+"?session_api_key="+r.SessionKey, &websocket.DialOptions{Host: host})
				if err != nil {
					t.Errorf("%s: %v", pattern, err)
					continue
				}
				conn.CloseNow()
				continue
			}
			q, err := http.NewRequestWithContext(t.Context(), "GET", url+path, nil)
			must.Succeed(t, err)
			q.Host = host
			q.Header.Set("X-Session-API-Key", r.SessionKey)
			answer, err := http.DefaultClient.Do(q)
			must.Succeed(t, err)
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s%s: %d", pattern, path, answer.StatusCode)
			}
		}
	}
}
