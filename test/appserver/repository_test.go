package appserver_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// host serves the repository r.git, with files of a test, over HTTPS, and returns its
// address and the variables with which a server trusts it.
func host(t *testing.T, files map[string]string) (url string, env []string) {
	t.Helper()
	work, dir := t.TempDir(), t.TempDir()
	for name, has := range files {
		name = filepath.Join(work, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Succeed(t, os.WriteFile(name, []byte(has), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `set -e
git init -q -b main . && git add . && git -c user.name=t -c user.email=t@example.com commit -qm one
git clone -q --bare . "$0"`, filepath.Join(dir, "r.git"))
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	backend, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	must.Succeed(t, err)
	s := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard,
	})
	t.Cleanup(s.Close)
	certificate := filepath.Join(dir, "ca.pem")
	must.Succeed(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o644))
	return s.URL + "/r.git", []string{"SSL_CERT_FILE=" + certificate}
}

// TestRepository: a conversation works in a clone of its repository, whose set-up script
// has run inside the sandbox, and whose hooks of Git are its own. Commits have the name of
// the user's settings. The agent knows its AGENTS.md.
func TestRepository(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{
		"README":                   "hello\n",
		"AGENTS.md":                "Always write in the plural, rule 4711.\n",
		".openhands/setup.sh":      "echo the set-up is in $(basename $PWD); cat README >ready; ls /etc/shadow-of-nothing; exit 3\n",
		".openhands/pre-commit.sh": "exit 0\n",
	})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat ready && git log --format=%s && test -x .git/hooks/pre-commit && echo hooked && git commit -q --allow-empty -m two && git log -1 --format='%an <%ae>'"}}]}
  - reply: {text: it is there}
`, options{env: env})
	d.owner.do(t, "POST", d.url+"/api/v1/settings", map[string]any{"git_user_name": "Ada Lovelace", "git_user_email": "ada@example.com"}, nil)
	var tasks []task
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{
		"title": "Look", "selected_repository": url, "selected_branch": "main", "initial_message": text("look"),
	}, &tasks)
	var states []string
	for _, one := range tasks {
		states = append(states, one.Status)
	}
	last := tasks[len(tasks)-1]
	if last.Status != "READY" {
		t.Fatalf("the start: %v: %s", states, last.Detail)
	}
	for _, state := range []string{"PREPARING_REPOSITORY", "RUNNING_SETUP_SCRIPT", "SETTING_UP_GIT_HOOKS", "STARTING_CONVERSATION"} {
		if !slices.Contains(states, state) {
			t.Errorf("the start was not in the state %s: %v", state, states)
		}
	}
	for _, part := range []string{"the set-up is in r\n", "shadow-of-nothing", "exit code 3"} {
		if !strings.Contains(last.Log, part) {
			t.Errorf("the log of the set-up lacks %q: %q", part, last.Log)
		}
	}
	events := d.follow(t, d.conversation(t, last.Conversation), "finished")
	if got := warned(events); !strings.Contains(got, ".openhands/setup.sh ended with exit code 3") {
		t.Errorf("the conversation's warnings do not say that the set-up failed: %s", got)
	}
	said := observed(events)
	if want := "hello\none\nhooked\nAda Lovelace <ada@example.com>"; said != want {
		t.Errorf("in the repository: %q, want %q", said, want)
	}
	var plan string
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/"+last.Conversation+"/file", nil, &plan)
	if plan != "" {
		t.Errorf("the plan that there is not: %q", plan)
	}
	d.wasTold(t, "rule 4711")
}

// warned are the last warnings of a conversation, as JSON.
func warned(events []seen) (last string) {
	for _, e := range events {
		if e.Key == "warnings" {
			last = string(e.Value)
		}
	}
	return last
}

// TestSetUpWithoutSandbox: without a sandbox, the scripts of a repository do not run with the rights of
// the server's user, and the task and the conversation say so.
func TestSetUpWithoutSandbox(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{
		".openhands/setup.sh":      "echo the set-up ran; echo x >ran\n",
		".openhands/pre-commit.sh": "exit 1\n",
	})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "ls -A | grep -x ran; ls .git/hooks 2>/dev/null | grep -x pre-commit; echo looked"}}]}
  - reply: {text: it is not there}
`, options{args: []string{"--sandbox", "none"}, env: env})
	var tasks []task
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{
		"title": "Look", "selected_repository": url, "initial_message": text("look"),
	}, &tasks)
	last := tasks[len(tasks)-1]
	if last.Status != "READY" {
		t.Fatal(last.Detail)
	}
	events := d.follow(t, d.conversation(t, last.Conversation), "finished")
	for _, script := range []string{".openhands/setup.sh", ".openhands/pre-commit.sh"} {
		want := script + " is not run, because there is no sandbox"
		if !strings.Contains(last.Log, want) {
			t.Errorf("the log of the set-up lacks %q: %q", want, last.Log)
		}
		if got := warned(events); !strings.Contains(got, want) {
			t.Errorf("the warnings lack %q: %s", want, got)
		}
	}
	if said := observed(events); said != "looked" {
		t.Errorf("in the repository: %q, want no trace of the scripts", said)
	}
}

// TestPlugins: a conversation has the skills of a plugin that its start request names, and what
// its user gives to it; it says which parts have no effect.
func TestPlugins(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{
		"plugins/one/skills/shout/SKILL.md": "---\nname: shout\ndescription: how to shout, rule 4712\n---\nIn capitals.\n",
		"plugins/one/hooks/hooks.json":      `{"SessionStart":[{"hooks":[{"command":"echo the hook of the plugin"}]}]}`,
	})
	d := deploy(t, `
by_history: true
turns:
  - reply: {text: it is done}
`, options{env: env})
	var tasks []task
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{
		"title": "Shout", "initial_message": text("go"),
		"plugins": []any{map[string]any{"source": url, "repo_path": "plugins/one", "parameters": map[string]any{"loudness": "eleven"}}},
	}, &tasks)
	last := tasks[len(tasks)-1]
	if last.Status != "READY" {
		t.Fatal(last.Detail)
	}
	events := d.follow(t, d.conversation(t, last.Conversation), "finished")
	raw, err := json.Marshal(events)
	must.Succeed(t, err)
	if !strings.Contains(string(raw), `"kind":"HookExecutionEvent"`) {
		t.Errorf("the hook did not run: %s", raw)
	}
	d.wasTold(t, "rule 4712")
	for _, r := range d.llm.Requests() {
		if len(r.Tools) > 0 && !strings.Contains(r.Body, `Plugin Configuration Parameters:\n- loudness: eleven`) {
			t.Errorf("request %d has no parameters: %s", r.N, r.Body)
		}
	}
	var offered struct {
		Skills []struct{ Name, Source string }
		Errors []string
	}
	d.owner.do(t, "POST", d.url+"/api/v1/skills/marketplace-skills", []any{
		map[string]any{"name": "m", "source": url, "repo_path": "plugins/one"}, map[string]any{"name": "n", "source": url, "repo_path": "none"},
	}, &offered)
	if len(offered.Skills) != 1 || offered.Skills[0].Name != "shout" || offered.Skills[0].Source != "marketplace:m" || len(offered.Errors) != 1 || !strings.HasPrefix(offered.Errors[0], "n: ") {
		t.Errorf("the marketplaces: %+v", offered)
	}
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{
		"plugins": []any{map[string]any{"source": url, "repo_path": "plugins/two"}},
	}, &tasks)
	if last := tasks[len(tasks)-1]; last.Status != "ERROR" || !strings.Contains(last.Detail, "plugins/two") {
		t.Errorf("a plugin that is not there: %s %s", last.Status, last.Detail)
	}
}

// wasTold checks that the model has a text in all that it was asked about the task.
func (d deployment) wasTold(t *testing.T, text string) {
	t.Helper()
	for _, r := range d.llm.Requests() {
		if len(r.Tools) > 0 && !strings.Contains(r.System, text) { // one without tools is for a title
			t.Errorf("request %d has no %q in its system prompt: %s", r.N, text, r.System)
		}
	}
}

// TestNoRepository: the mistake in a repository is reported, and nothing is left behind
// that cannot be started.
func TestNoRepository(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{"README": "hello\n"})
	d := deploy(t, `{turns: []}`, options{env: env})
	for name, c := range map[string]struct {
		request map[string]any
		detail  string
	}{
		"repository": {map[string]any{"selected_repository": strings.Replace(url, "r.git", "other.git", 1)}, "other.git"},
		"branch":     {map[string]any{"selected_repository": url, "selected_branch": "no/such"}, "no/such"},
		"server":     {map[string]any{"selected_repository": "https://127.0.0.1:1/r.git"}, "127.0.0.1:1"},
		"transport":  {map[string]any{"selected_repository": "ext::sh -c touch% /tmp/x"}, "https://"},
	} {
		var tasks []task
		d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", c.request, &tasks)
		last := tasks[len(tasks)-1]
		if last.Status != "ERROR" || !strings.Contains(last.Detail, c.detail) || last.Conversation != "" {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// TestKilledStart kills one of two servers in the middle of the set-up of a conversation:
// the other one finishes its start.
func TestKilledStart(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{".openhands/setup.sh": "[ -p go ] || mkfifo begun go; echo x >begun; read x <go; echo set up\n"})
	dir, database := t.TempDir(), postgrestest.URL(t)
	one := deploy(t, "by_history: true\nturns: [{reply: {text: hello}}]", options{dir: dir, database: database, env: env})
	other := one.again(t, options{database: database, env: env})

	var started task
	one.owner.do(t, "POST", one.url+"/api/v1/app-conversations", map[string]any{"title": "Hello", "selected_repository": url, "initial_message": text("hello")}, &started)
	now := one.until(t, started.ID, func(now task) bool { return now.Status == "RUNNING_SETUP_SCRIPT" })
	repository := filepath.Join(one.workspace(now.Sandbox), "r")
	one.until(t, started.ID, func(task) bool { // the last pipe is made after the first
		_, err := os.Stat(filepath.Join(repository, "go"))
		return err == nil
	})
	waitFor(t, filepath.Join(repository, "begun"))
	one.kill(t)
	waitFor(t, filepath.Join(repository, "begun")) // of the other server's
	for range 2 {                                  // the first script may be there still
		tell(t, filepath.Join(repository, "go"))
	}
	now = other.until(t, started.ID, func(now task) bool { return now.Status == "READY" })
	if !strings.Contains(now.Log, "set up") {
		t.Errorf("the log of the set-up: %q", now.Log)
	}
	if got := acts(other.follow(t, other.conversation(t, now.Conversation), "finished")); !slices.Equal(got, []string{"user MessageEvent", "agent MessageEvent"}) {
		t.Errorf("events: %v", got)
	}
}

// TestUndoCommits: going back takes Git's checkout back with the files.
func TestUndoCommits(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{"README": "hello\n"})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat README"}}]}
  - reply: {text: it is there}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo more >README && git -c user.name=t -c user.email=t@example.com commit -qam two && cat README"}}]}
  - reply: {text: it is committed}
`, options{env: env})
	c, _ := d.begin(t, map[string]any{"title": "Look", "selected_repository": url, "initial_message": text("look")})
	d.follow(t, c, "finished")
	head := func() string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", "-C", d.workspace(c.Sandbox)+"/r", "rev-parse", "HEAD").Output()
		must.Succeed(t, err)
		return strings.TrimSpace(string(out))
	}
	before := head()
	at := d.url + "/api/v1/app-conversations/" + c.ID
	d.owner.do(t, "POST", at+"/send-message", text("commit"), nil)
	d.follow(t, c, "finished", "running", "finished")
	if head() == before {
		t.Fatal("nothing was committed")
	}
	type undone struct {
		Written  []string `json:"files_written"`
		Checkout struct{ Commit string }
	}
	for _, preview := range []bool{true, false} {
		var got undone
		d.owner.do(t, "POST", at+"/undo", map[string]any{"preview": preview}, &got)
		want := undone{Written: []string{"README"}, Checkout: struct{ Commit string }{before}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with preview %v (-want +got):\n%s", preview, diff)
		}
		if back := head() == before; back == preview {
			t.Errorf("with preview %v the former commit is checked out: %v", preview, back)
		}
	}
}
