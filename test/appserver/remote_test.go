package appserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/test/binary"
)

var runtimesAt = regexp.MustCompile(`runtime API on (http://\S+)`)

// runtimeAPI starts a Runtime API whose runtimes are containers, and returns its address.
func runtimeAPI(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary.Path(), "runtime-api", "--port", "0", "--sandbox", "docker")
	dir := t.TempDir()
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "DEFT_DATA=" + dir + "/data", "DEFT_RUNTIME_API_KEYS=" + runtimeKey, "DOCKER_HOST=" + engine(t)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it runs until now
		_ = cmd.Wait()                          // ended by us
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	m := runtimesAt.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the Runtime API says %q, %v", line, err)
	}
	return m[1]
}

const runtimeKey = "key-of-the-test"

// TestRemote: the repository of a conversation is in the runtime of a Runtime API, with its
// history and its set-up, and files are read from there. One of two servers is
// killed: the other one, which shares no directory with it, goes on in the same runtime.
func TestRemote(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{
		"README": "hello\n", "tool.sh": "exit 0\n", "AGENTS.md": "Always write in the plural, rule 4711.\n",
		".openhands/setup.sh": "echo set up >ready\n",
	})
	database := postgrestest.URL(t)
	o := options{
		database: database, env: append(env, "DEFT_RUNTIME_API_KEY="+runtimeKey, "OH_SECRET_KEY=of-both"),
		args: []string{"--sandbox", "remote", "--runtime-api", runtimeAPI(t), "--image", image, "--pull", "never"},
	}
	elsewhere := o
	elsewhere.dir = t.TempDir()
	one := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat ready README .git/HEAD && echo more >>README"}}]}
  - reply: {text: it is there}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat README; test -n \"$TOKEN_OF_BOTH\" && echo known"}}]}
  - reply: {text: still}
`, o)
	other := one.again(t, elsewhere)
	one.owner.do(t, "POST", one.url+"/api/v1/secrets", map[string]any{"name": "TOKEN_OF_BOTH", "value": "x"}, nil)
	var secrets struct{ Items []struct{ Name string } }
	other.owner.do(t, "GET", other.url+"/api/v1/secrets/search", nil, &secrets)
	if len(secrets.Items) != 1 || secrets.Items[0].Name != "TOKEN_OF_BOTH" {
		t.Errorf("the secrets at the other server: %+v", secrets.Items)
	}
	c, _ := one.begin(t, map[string]any{"title": "Far", "selected_repository": url, "initial_message": text("look")})
	if got, want := observed(one.follow(t, c, "finished")), "set up\nhello\nref: refs/heads/main"; got != want {
		t.Errorf("in the runtime: %q, want %q", got, want)
	}
	one.wasTold(t, "rule 4711")
	base := other.url + "/api/v1/app-conversations/" + c.ID
	var file string
	other.owner.do(t, "GET", base+"/file?file_path=/workspace/project/r/README", nil, &file)
	if file != "hello\nmore\n" {
		t.Errorf("the file has %q", file)
	}
	if _, err := os.Stat(one.workspace(c.Sandbox) + "/r/README"); !os.IsNotExist(err) {
		t.Errorf("the repository is on the server: %v", err)
	}

	one.kill(t)
	other.owner.do(t, "POST", base+"/send-message", text("and now?"), nil)
	if got, want := observed(other.follow(t, c, "finished", "running", "finished")), "hello\nmore\nknown"; got != want {
		t.Errorf("in the runtime, from the other server: %q, want %q", got, want)
	}
}

// TestPausedRuntime: the files of a workspace inside a runtime outlive the runtime, which ends
// when its sandbox is paused; clients find them where they believe the workspace to be.
func TestPausedRuntime(t *testing.T) {
	t.Parallel()
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "pwd; echo kept >kept"}}]}
  - reply: {text: it is written}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat kept"}}]}
  - reply: {text: it is there}
`, options{env: []string{"DEFT_RUNTIME_API_KEY=" + runtimeKey}, args: []string{"--sandbox", "remote", "--runtime-api", runtimeAPI(t), "--image", image, "--pull", "never"}})
	c, _ := d.begin(t, map[string]any{"title": "Far", "initial_message": text("write")})
	if got := observed(d.follow(t, c, "finished")); got != "/workspace/project" {
		t.Errorf("it works in %q", got)
	}
	sandbox := d.url + "/api/v1/sandboxes/" + c.Sandbox
	d.owner.do(t, "POST", sandbox+"/pause", nil, nil)
	d.owner.do(t, "POST", sandbox+"/resume", nil, nil)
	for _, path := range []string{"kept", "/workspace/project/kept"} {
		var file string
		d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/"+c.ID+"/file?file_path="+path, nil, &file)
		if file != "kept\n" {
			t.Errorf("after a pause, %s has %q", path, file)
		}
	}
	box := &client{http: d.owner.http, key: c.Key}
	for _, command := range []map[string]any{{"command": "cat kept"}, {"command": "cat kept", "cwd": "/workspace/project"}} {
		var out struct{ Stdout string }
		box.do(t, "POST", d.url+"/api/bash/execute_bash_command", command, &out)
		if out.Stdout != "kept\n" {
			t.Errorf("a client's command %v: %q", command, out.Stdout)
		}
	}
	// The routes of files that name no conversation are about the same files.
	if status, raw := box.send(t, "GET", d.url+"/api/file/download/workspace/project/kept", nil); status != http.StatusOK || string(raw) != "kept\n" {
		t.Errorf("a client downloads: %d: %s", status, raw)
	}
	if status, raw := box.send(t, "GET", d.url+"/api/file/download?path=/etc/passwd", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("a client downloads what is not in the workspace: %d: %s", status, raw)
	}
	var empty struct {
		Key string `json:"session_api_key"`
	}
	d.owner.do(t, "POST", d.url+"/api/v1/sandboxes", nil, &empty)
	if status, raw := (&client{http: d.owner.http, key: empty.Key}).send(t, "GET", d.url+"/api/file/download/workspace/project/kept", nil); status != http.StatusConflict {
		t.Errorf("files of a sandbox without a conversation: %d: %s", status, raw)
	}
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/"+c.ID+"/send-message", text("read"), nil)
	if got := observed(d.follow(t, c, "finished", "running", "finished")); got != "kept" {
		t.Errorf("after a pause, the agent reads %q", got)
	}
	if status, raw := d.owner.send(t, "POST", d.url+"/api/v1/app-conversations/demo", nil); status != http.StatusConflict {
		t.Errorf("a demo, whose repository is on the server: %d: %s", status, raw)
	}
}

// TestRuntimeVanishes: the runtime of a conversation is stopped at the API, by somebody else.
// The conversation is shown as lost, and goes on in a new one.
func TestRuntimeVanishes(t *testing.T) {
	t.Parallel()
	api := runtimeAPI(t)
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo kept >kept; cat kept"}}]}
  - reply: {text: it is written}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat kept || echo nothing is left"}}]}
  - reply: {text: it is gone}
`, options{env: []string{"DEFT_RUNTIME_API_KEY=" + runtimeKey}, args: []string{"--sandbox", "remote", "--runtime-api", api, "--image", image, "--pull", "never"}})
	c, _ := d.begin(t, map[string]any{"title": "Far", "initial_message": text("write")})
	d.follow(t, c, "finished")
	stopRuntimes(t, api)
	waittest.Until(t, "the lost sandbox is an error", func() bool {
		c = d.conversation(t, c.ID)
		return c.SandboxIs == "ERROR"
	})
	if c.Key != "" || c.Status != "" {
		t.Errorf("a conversation without a runtime: %+v", c)
	}
	base := d.url + "/api/v1/app-conversations/" + c.ID
	if status, raw := d.owner.send(t, "GET", base+"/file?file_path=kept", nil); status != http.StatusConflict || !strings.Contains(string(raw), "vanished") {
		t.Errorf("a file of a runtime that has vanished: %d: %s", status, raw)
	}
	d.owner.do(t, "POST", base+"/resume", nil, nil)
	if c = d.conversation(t, c.ID); c.SandboxIs != "RUNNING" {
		t.Errorf("after it was resumed, the sandbox is %s", c.SandboxIs)
	}
	d.owner.do(t, "POST", base+"/send-message", text("read"), nil)
	if got := observed(d.follow(t, c, "finished", "running", "finished")); !strings.Contains(got, "nothing is left") {
		t.Errorf("in the new runtime: %q", got)
	}
	if c = d.conversation(t, c.ID); c.SandboxIs != "RUNNING" {
		t.Errorf("after it has worked, the sandbox is %s", c.SandboxIs)
	}
}

// stopRuntimes stops all runtimes of a Runtime API, which removes them with their files.
func stopRuntimes(t *testing.T, api string) {
	t.Helper()
	type answered struct {
		Runtimes []struct {
			ID string `json:"runtime_id"`
		}
	}
	ask := func(method, path, body string) (answer answered) {
		r, err := http.NewRequestWithContext(t.Context(), method, api+path, strings.NewReader(body))
		must.Succeed(t, err)
		r.Header.Set("X-Api-Key", runtimeKey)
		resp, err := http.DefaultClient.Do(r)
		must.Succeed(t, err)
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
		}
		return answer
	}
	all := ask("GET", "/list", "").Runtimes
	if len(all) == 0 {
		t.Fatal("there is no runtime")
	}
	for _, rt := range all {
		ask("POST", "/stop", `{"runtime_id":"`+rt.ID+`"}`)
	}
}

// observed is the text of the last observation.
func observed(all []seen) (says string) {
	for _, e := range all {
		if e.Kind == "ObservationEvent" && len(e.Observation.Content) > 0 {
			says = e.Observation.Content[0].Text
		}
	}
	return says
}
