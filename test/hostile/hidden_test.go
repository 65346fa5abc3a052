package hostile_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// TestHidden looks inside a conversation's sandbox for files and processes that hold
// a key of the server or belong to another conversation.
func TestHidden(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd() // temporary directories are private in any case
	must.Succeed(t, err)
	dir, err := os.MkdirTemp(here, "hidden-") //nolint:usetesting // see above
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, os.RemoveAll(dir)) })
	const secret = "a-secret-of-somebody-else"
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	key := "key-" + secret
	hidden := []string{
		write("server.json", `{"conversation_worktree_root":"`+dir+`/worktrees","secret_key":"`+secret+`"}`),
		write("keys", key+"\n"), write("static/index.html", secret), write("oh/settings-"+secret, secret),
		write("workspace/bash_events/"+secret, secret), write("workspace/.openhands/"+secret, secret), write("workspace/conversations/"+secret, secret),
		write("workspace/project/b/.env", secret), write("elsewhere/c/.env", secret),
	}
	own := write("workspace/project/a/own", "a line of its own\n")
	s := binary.ServeIn(t, dir, []string{"--sandbox", "process", "--config", hidden[0], "--session-api-key-file", hidden[1]},
		"HOME="+filepath.Dir(write("home/x", "")), "OH_STATIC_FILES_PATH="+dir+"/static")
	v := &victim{url: s.URL, pid: s.PID, dir: dir, key: key, answers: map[int]int{}}
	create := func(work string, worktree bool) (status int, id, workspace string) {
		t.Helper()
		status, raw := v.do(t, "POST", "/api/conversations", map[string]any{
			"autotitle": false, "worktree": worktree, "workspace": map[string]any{"working_dir": work},
			"agent": map[string]any{"kind": "Agent", "tools": []any{}, "llm": map[string]any{"model": "openai/mock", "api_key": "x"}},
		})
		var made struct {
			ID        string
			Workspace struct {
				WorkingDir string `json:"working_dir"`
			}
		}
		must.Succeed(t, json.Unmarshal(raw, &made))
		return status, made.ID, made.Workspace.WorkingDir
	}
	made := func(work string, worktree bool) (id, workspace string) {
		t.Helper()
		status, id, workspace := create(work, worktree)
		if status != http.StatusCreated {
			t.Fatalf("create in %s: %d", work, status)
		}
		return id, workspace
	}
	for _, work := range []string{"/", dir + "/home", dir + "/oh", dir + "/workspace/conversations/x"} {
		if status, _, _ := create(work, false); status != http.StatusUnprocessableEntity {
			t.Errorf("a workspace in %s: %d", work, status)
		}
		if _, err := os.Lstat(filepath.Join(work, ".git")); err == nil && work != "/" {
			t.Errorf("a repository was made in %s", work)
		}
	}
	for _, work := range []string{"workspace/project/b", "elsewhere/c"} {
		made(filepath.Join(dir, work), false)
	}
	repo := filepath.Dir(write("repo/file", "x"))
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	_, tree := made(repo, true)
	hidden = append(hidden, write(strings.TrimPrefix(tree, dir)+"/.env", secret))
	id, _ := made(dir+"/workspace/project/a", false)
	look := func(command string) string {
		t.Helper()
		status, raw := v.do(t, "POST", "/api/conversations/"+id+"/bash/execute_bash_command", map[string]any{"command": command, "timeout": 30})
		var out struct {
			Stdout string `json:"stdout"`
		}
		if err := json.Unmarshal(raw, &out); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", command, status, raw)
		}
		return out.Stdout
	}
	if got := look("cat " + own + "; echo x >made; cat made"); got != "a line of its own\nx\n" {
		t.Fatalf("the own workspace: %q", got)
	}
	hidden = append(hidden, write("workspace/project/later/.env", secret), write("worktrees/later/.env", secret))
	for _, path := range hidden {
		if got := look("cat " + path + "; ls -A " + filepath.Dir(path)); strings.Contains(got, secret) {
			t.Errorf("%s is readable: %q", path, got)
		}
	}
}
