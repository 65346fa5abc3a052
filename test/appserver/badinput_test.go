package appserver_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// gitHost serves repositories over HTTPS: o/good, o/hostile, and o/private to who sends
// the token. It returns its address and the file of its authority.
func gitHost(t *testing.T, mark string) (url, authority string) {
	t.Helper()
	root, work := t.TempDir(), t.TempDir()
	script := `set -e
git init -q -b main . && git config user.name t && git config user.email t@example.com
echo one >f && git add f && git commit -qm one
git clone -q --bare . ` + root + `/o/good.git
git clone -q --bare . ` + root + `/o/private.git
printf '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "touch ` + mark + `-submodule"\n\tupdate = !touch ` + mark + `-update\n' >.gitmodules
printf '* filter=x diff=x merge=x\n' >.gitattributes
printf '[core]\n\tfsmonitor = touch ` + mark + `-fsmonitor\n\thooksPath = .\n\tsshCommand = touch ` + mark + `-ssh\n[filter "x"]\n\tsmudge = touch ` + mark + `-smudge\n\tclean = touch ` + mark + `-clean\n' >.gitconfig
cp .gitconfig config
mkdir -p hooks && for h in post-checkout post-merge pre-commit reference-transaction; do printf '#!/bin/sh\ntouch ` + mark + `-hook\n' >hooks/$h; cp hooks/$h $h; chmod +x $h hooks/$h; done
ln -s /etc etc && ln -s ../../.. up
git add -A && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s && git commit -qm hostile
git clone -q --bare . ` + root + `/o/hostile.git`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	backend, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	must.Succeed(t, err)
	h := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard,
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); strings.HasPrefix(r.URL.Path, "/o/private") && token != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	authority = filepath.Join(t.TempDir(), "ca.pem")
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	must.Succeed(t, os.WriteFile(authority, raw, 0o600))
	return s.URL, authority
}

// TestRepositories: the mistake in a repository is reported in words that help its user,
// and nothing of a repository runs outside the sandbox.
func TestRepositories(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	host, authority := gitHost(t, mark)
	g := guard(t, []string{"GIT_SSL_CAINFO=" + authority, "LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=http://127.0.0.1:9/v1"})
	g.signIn(t)
	for name, c := range map[string]struct{ repository, branch, says string }{
		"unknown":        {host + "/o/none.git", "", "there is no repository " + host + "/o/none.git, or the token may not see it"},
		"no such branch": {host + "/o/good.git", "no/such", "has no branch no/such"},
		"refused":        {host + "/o/private.git", "", "refuses the token, or wants one"},
		"nobody listens": {"https://127.0.0.1:9/o/r.git", "", "does not answer"},
		"runs a program": {"ext::sh -c 'touch " + mark + "'", "", "owner/name"},
		"an option":      {"--upload-pack=touch " + mark, "", "owner/name"},
		"no name":        {"justaname", "", "owner/name"},
		"above":          {"o/../../r", "", "owner/name"},
	} {
		detail := startFails(t, g, c.repository, c.branch)
		if !strings.Contains(detail, c.says) || strings.Contains(detail, "hunter2") {
			t.Errorf("%s: %s", name, detail)
		}
	}
	secret := g.send(t, "POST", "/api/v1/app-conversations", `{"selected_repository":"https://user:hunter2@127.0.0.1:9/o/r.git"}`)
	if secret.status != 422 || !strings.Contains(secret.body, "must have no user and no password") || strings.Contains(secret.body, "hunter2") {
		t.Errorf("a password in the URL: %d %s", secret.status, secret.body)
	}
	for _, address := range []string{"file:///etc", "ssh://git@127.0.0.1/o/r.git", "git@127.0.0.1:o/r.git", "http://127.0.0.1:9/o/r.git"} {
		a := g.send(t, "POST", "/api/v1/app-conversations", `{"selected_repository":"`+address+`"}`)
		if a.status != 422 || !strings.Contains(a.body, "only repositories at https:// URLs") {
			t.Errorf("%s: %d %s", address, a.status, a.body)
		}
	}
	raw, err := json.Marshal(map[string]any{"selected_repository": host + "/o/good.git", "selected_branch": "--upload-pack=touch " + mark})
	must.Succeed(t, err)
	if a := g.send(t, "POST", "/api/v1/app-conversations", string(raw)); a.status < 400 || a.status >= 500 || !strings.Contains(a.body, "cannot be the name of a branch") {
		t.Errorf("an option as branch: %d %s", a.status, a.body)
	}
	made := startTask(t, g, `{"selected_repository":"`+host+`/o/hostile.git"}`, "READY")
	g.want(t, 422, "GET", "/api/v1/app-conversations/"+made.Conversation+"/git/diff?path=/workspace/project/hostile/none", "does not exist: /workspace/project/hostile/none")
	a := g.want(t, 200, "GET", "/api/v1/app-conversations/"+made.Conversation+"/git/changes?path=/workspace/project/hostile", "")
	if strings.TrimSpace(a.body) != "[]" {
		t.Errorf("changes of a fresh clone: %s", a.body)
	}
	ran, err := filepath.Glob(mark + "*")
	if err != nil || len(ran) > 0 {
		t.Errorf("it ran %v, %v", ran, err)
	}
	// Failed starts are still listed, with the reason.
	a = g.want(t, 200, "GET", "/api/v1/app-conversations/start-tasks/search?limit=100", "")
	if n := strings.Count(a.body, `"status":"ERROR"`); n != 8 {
		t.Errorf("%d failed tasks are listed: %.500s", n, a.body)
	}
}

// TestSandboxIsLost: the processes of a sandbox are killed in the middle of a command. The
// agent is told, and the conversation goes on.
func TestSandboxIsLost(t *testing.T) {
	t.Parallel()
	script, err := llmtest.Parse([]byte(`
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo x >begun; read x <never"}}]}
  - reply: {text: it was lost}
  - reply: {text: and it is there again}
`))
	must.Succeed(t, err)
	llm := llmtest.Start(t, script)
	g := guard(t, []string{"LLM_MODEL=openai/m", "LLM_API_KEY=k", "LLM_BASE_URL=" + llm.URL + "/v1"})
	g.signIn(t)
	var sandbox struct {
		ID string `json:"id"`
	}
	must.Succeed(t, json.Unmarshal([]byte(g.send(t, "POST", "/api/v1/sandboxes", "").body), &sandbox))
	workspace := filepath.Join(g.dir, "events", "app", "workspaces", sandbox.ID, "project")
	for _, name := range []string{"begun", "never"} {
		must.Succeed(t, syscall.Mkfifo(filepath.Join(workspace, name), 0o600))
	}
	made := startTask(t, g, `{"sandbox_id":"`+sandbox.ID+`","initial_message":{"role":"user","run":true,"content":[{"type":"text","text":"wait"}]}}`, "READY")
	if _, err := os.ReadFile(filepath.Join(workspace, "begun")); err != nil { // waits for the command
		t.Fatal(err)
	}
	killChildren(t, g.cmd.Process.Pid)
	events := watch(t, g, made.Conversation, "it was lost")
	if !strings.Contains(events, "it was lost") || !strings.Contains(events, `"finished"`) {
		t.Errorf("the conversation has not gone on: %.6000s", events)
	}
	if !strings.Contains(events, "interrupted") && !strings.Contains(events, "unknown") {
		t.Errorf("the agent is not told: %.6000s", events)
	}
	// The workspace is lost too: the conversation stays readable, and names the
	// missing part.
	must.Succeed(t, os.RemoveAll(filepath.Dir(workspace)))
	g.want(t, 200, "GET", "/api/v1/conversation/"+made.Conversation+"/events/search", "")
	g.want(t, 200, "POST", "/api/v1/app-conversations/"+made.Conversation+"/send-message", `{"role":"user","run":true,"content":[{"type":"text","text":"again"}]}`)
	if events = watch(t, g, made.Conversation, "and it is there again"); !strings.Contains(events, "it was lost") {
		t.Errorf("the conversation is lost: %.6000s", events)
	}
}

// killChildren kills the children of a process.
func killChildren(t *testing.T, pid int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must.Succeed(t, err)
	killed := 0
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if f := strings.Fields(rest); len(f) < 2 || f[1] != itoa(pid) {
			continue
		}
		var child int
		must.Succeed(t, json.Unmarshal([]byte(filepath.Base(filepath.Dir(path))), &child))
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		killed++
	}
	if killed == 0 {
		t.Error("the server has no children")
	}
}
