package appserver_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestDirectories: the local owner's conversations work in directories of the machine, by the
// rules of deft run.
func TestDirectories(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	data, plain, repository := filepath.Join(home, "data"), filepath.Join(home, "plain"), filepath.Join(home, "repository")
	for _, dir := range []string{data, plain, repository, filepath.Join(home, ".ssh")} {
		must.Succeed(t, os.MkdirAll(dir, 0o755))
	}
	must.Succeed(t, os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(home, "link")))
	must.Succeed(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))
	git(t, home, "init", "-q", "fresh")
	git(t, repository, "init", "-q", "-b", "main")
	git(t, repository, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first")
	s := start(t, options{dir: data, env: []string{"HOME=" + home, "LLM_MODEL=openai/m", "LLM_API_KEY=k"}})
	c := newClient(t, s)
	for name, test := range map[string]struct {
		request map[string]any
		says    string
	}{
		"the system's":    {map[string]any{"directory": "/etc"}, "cannot be the system directory /etc"},
		"the home":        {map[string]any{"directory": "~"}, "holds the home directory"},
		"credentials":     {map[string]any{"directory": "~/link"}, "holds credentials"},
		"Deft's data":     {map[string]any{"directory": filepath.Join(data, "events")}, "lies in Deft's own data"},
		"a file":          {map[string]any{"directory": "~/file"}, "is not a directory"},
		"nothing":         {map[string]any{"directory": "~/none"}, "cannot be used"},
		"relative":        {map[string]any{"directory": "plain"}, "must be an absolute path"},
		"no repository":   {map[string]any{"directory": "~/plain", "worktree": true}, "is in no Git repository"},
		"no commit":       {map[string]any{"directory": "~/fresh", "worktree": true}, "with a commit"},
		"worktree alone":  {map[string]any{"worktree": true}, "goes with a directory"},
		"and repository":  {map[string]any{"directory": "~/plain", "selected_repository": "o/r"}, "excludes a repository"},
		"and its sandbox": {map[string]any{"directory": "~/plain", "sandbox_id": "x"}, "excludes a repository and a sandbox"},
	} {
		if status, raw := c.send(t, "POST", s.url+"/api/v1/app-conversations", test.request); status/100 != 4 || !strings.Contains(string(raw), test.says) {
			t.Errorf("%s: %d: %s", name, status, raw)
		}
	}

	var offered struct {
		Refused  string
		Proposed *struct{ Path string }
		Recent   []struct {
			Path string
			Git  bool
		}
	}
	for _, dir := range []string{plain, repository} {
		made := begin(t, c, s, map[string]any{"directory": dir})
		var all []struct {
			Directory string
			Sandbox   string `json:"sandbox_id"`
		}
		c.do(t, "GET", s.url+"/api/v1/app-conversations?ids="+made, nil, &all)
		if len(all) != 1 || all[0].Directory != dir {
			t.Fatalf("%s: %+v", dir, all)
		}
		// Nothing that ends a conversation or its sandbox touches the directory.
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
		c.do(t, "DELETE", s.url+"/api/v1/sandboxes/"+all[0].Sandbox, nil, nil)
		c.do(t, "POST", s.url+"/api/v1/app-conversations/"+made+"/resume", nil, nil)
		c.do(t, "GET", s.url+"/api/v1/directories", nil, &offered)
		c.do(t, "DELETE", s.url+"/api/v1/app-conversations/"+made, nil, nil)
		if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
			t.Error(err)
		}
		if offered.Refused != "" || offered.Proposed != nil || len(offered.Recent) != 1 || offered.Recent[0].Path != dir || offered.Recent[0].Git != (dir == repository) {
			t.Errorf("%s: %+v", dir, offered)
		}
	}

	for _, changed := range []bool{false, true} {
		made := begin(t, c, s, map[string]any{"directory": repository, "worktree": true})
		var all []struct{ Directory string }
		c.do(t, "GET", s.url+"/api/v1/app-conversations?ids="+made, nil, &all)
		tree := all[0].Directory
		if !strings.HasPrefix(tree, data+"-worktrees/") || filepath.Base(tree) != "repository" {
			t.Errorf("the worktree: %s", tree)
		}
		if changed {
			must.Succeed(t, os.WriteFile(filepath.Join(tree, "mine"), nil, 0o600))
		}
		c.do(t, "DELETE", s.url+"/api/v1/app-conversations/"+made, nil, nil)
		if _, err := os.Stat(tree); (err == nil) != changed {
			t.Errorf("changed %v: after the deletion: %v", changed, err)
		}
	}
}

// TestDirectoriesOfOthers: only the local owner has the directories of the machine, and only
// in the built-in sandbox.
func TestDirectoriesOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refuses := func(c *client, url string) {
		t.Helper()
		status, raw := c.send(t, "POST", url+"/api/v1/app-conversations", map[string]any{"directory": dir})
		if status != http.StatusForbidden || !strings.Contains(string(raw), "works in no directories of its machine") {
			t.Errorf("%d: %s", status, raw)
		}
		var offered struct{ Refused string }
		if c.do(t, "GET", url+"/api/v1/directories", nil, &offered); offered.Refused == "" {
			t.Error("directories are offered")
		}
	}
	d := join(t, `{turns: []}`)
	refuses(d.owner, d.url)
	open := start(t, options{args: []string{"--sandbox", "none"}})
	refuses(newClient(t, open), open.url)
}

// begin starts a conversation and returns its id when it is ready.
func begin(t *testing.T, c *client, s *server, request map[string]any) string {
	t.Helper()
	request["title"] = "x"
	status, raw := c.send(t, "POST", s.url+"/api/v1/app-conversations/stream-start", request)
	if status != http.StatusOK || !strings.Contains(string(raw), `"READY"`) {
		t.Fatalf("%d: %s", status, raw)
	}
	_, after, _ := strings.Cut(string(raw), `"status":"READY"`)
	_, after, _ = strings.Cut(after, `"app_conversation_id":"`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// TestSetUpOfDirectory: the scripts of a project in a directory of the machine run once the owner has allowed
// them: before the next message of the conversation that asked, and before the first one of others.
func TestSetUpOfDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	must.Succeed(t, os.Mkdir(filepath.Join(dir, ".openhands"), 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ".openhands", "setup.sh"), []byte("echo ran >>set-up\n"), 0o600))
	d := deploy(t, `
turns:
  - match: {}
    repeat: forever
    reply: {text: it is done}
`, options{})
	const file = ".openhands/setup.sh"
	ran := func(want string) {
		t.Helper()
		if got, _ := os.ReadFile(filepath.Join(dir, "set-up")); string(got) != want {
			t.Errorf("the script has left %q, want %q", got, want)
		}
	}
	start := map[string]any{"title": "Go", "directory": dir, "initial_message": text("go")}
	first, _ := d.begin(t, start)
	d.follow(t, first, "finished")
	ran("")
	inside := &client{http: d.owner.http, key: first.Key}
	hooks := d.url + "/api/conversations/" + first.ID + "/hooks"
	var asked struct {
		Parts []struct {
			File, SHA256, Answer string
			Runs                 []string
		}
	}
	inside.do(t, "GET", hooks, nil, &asked)
	if len(asked.Parts) != 1 || asked.Parts[0].File != file || asked.Parts[0].Answer != "" || !strings.Contains(strings.Join(asked.Parts[0].Runs, "\n"), "echo ran") {
		t.Fatalf("the question: %+v", asked)
	}
	inside.do(t, "POST", hooks, map[string]any{"file": file, "sha256": asked.Parts[0].SHA256, "allow": true}, nil)
	for range 2 { // it runs once in a conversation
		inside.do(t, "POST", d.url+"/api/conversations/"+first.ID+"/events", map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "go on"}}, "run": true}, nil)
		d.follow(t, first, "finished")
		ran("ran\n")
	}
	second, _ := d.begin(t, start)
	d.follow(t, second, "finished")
	ran("ran\nran\n")
}
