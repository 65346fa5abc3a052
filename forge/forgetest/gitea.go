package forgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Gitea is a real Gitea server, which test/deps/gitea.sh (`make deps`) has built.
type Gitea struct {
	URL string
	// User is an administrator, Token one of all scopes.
	User, Token string

	t   *testing.T
	dir string
}

// giteaConfig is the server's app.ini: with nothing beside it, and without a request to
// others.
const giteaConfig = `RUN_MODE = prod
WORK_PATH = %[1]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]s
ROOT_URL = http://127.0.0.1:%[2]s/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = %[3]s
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[repository]
ROOT = %[1]s/repositories
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
PASSWORD_HASH_ALGO = pbkdf2_v2
[service]
DISABLE_REGISTRATION = true
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[actions]
ENABLED = false
[api]
MAX_RESPONSE_ITEMS = 10
[log]
LEVEL = Warn
`

// token is a token in the output of a command, where warnings of the log may stand too: a slow
// machine has some.
var token = regexp.MustCompile(`(?m)^[0-9a-f]{40}$`)

// StartGitea starts a server with an empty database, which ends with the test. The test is
// skipped where there is none, or fails if CI=true.
func StartGitea(t *testing.T) *Gitea {
	t.Helper()
	installed := Dependency(t, "gitea")
	g := &Gitea{User: "octocat", t: t, dir: t.TempDir()}
	// The socket listens before the server does: requests wait in it until they are served.
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer ln.Close()
	g.URL = "http://" + ln.Addr().String()
	_, port, _ := strings.Cut(ln.Addr().String(), ":")
	conf := filepath.Join(g.dir, "custom", "conf", "app.ini")
	must.Succeed(t, os.MkdirAll(filepath.Dir(conf), 0o700))
	must.Succeed(t, os.WriteFile(conf, fmt.Appendf(nil, giteaConfig, g.dir, port, filepath.Join(installed, "src")), 0o600))
	g.run(installed, "migrate")
	g.run(installed, "admin", "user", "create", "--admin", "--username", g.User, "--password", "a-pass-word-1", "--email", "octocat@example.com", "--must-change-password=false")
	said := g.run(installed, "admin", "user", "generate-access-token", "--username", g.User, "--token-name", "all", "--scopes", "all", "--raw")
	if g.Token = token.FindString(said); g.Token == "" {
		t.Fatalf("no token: %q", said)
	}

	file, err := ln.(*net.TCPListener).File()
	must.Succeed(t, err)
	defer file.Close()
	// With a socket of its own, the server ends its parent: the shell ignores that.
	web := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", `trap "" TERM; "$0" web & wait`, filepath.Join(installed, "gitea"))
	web.Dir, web.Env = g.dir, g.environment()
	web.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	web.ExtraFiles = []*os.File{file}
	web.Env = append(web.Env, "LISTEN_FDS=1")
	log := &bytes.Buffer{}
	web.Stdout, web.Stderr = log, log
	must.Succeed(t, web.Start())
	t.Cleanup(func() {
		must.Report(t, syscall.Kill(-web.Process.Pid, syscall.SIGKILL))
		_ = web.Wait() // it was killed
		if t.Failed() {
			t.Logf("Gitea said:\n%s", log)
		}
	})
	return g
}

// command is one of the server's program.
func (g *Gitea) command(installed string, args ...string) *exec.Cmd {
	c := exec.CommandContext(g.t.Context(), filepath.Join(installed, "gitea"), args...)
	c.Dir = g.dir
	c.Env = g.environment()
	return c
}

func (g *Gitea) environment() []string {
	return []string{"HOME=" + g.dir, "PATH=" + os.Getenv("PATH"), "GITEA_WORK_DIR=" + g.dir, "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true"}
}

func (g *Gitea) run(installed string, args ...string) string {
	g.t.Helper()
	c := g.command(installed, args...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		g.t.Fatalf("gitea %s: %v\n%s%s", args[0], err, out, said.String())
	}
	return string(out)
}

// Do sends a request to the server's API as a user with a token, and reads the answer's
// document into out, which may be nil.
func (g *Gitea) Do(token, method, path string, body, out any) {
	g.t.Helper()
	raw, err := json.Marshal(body)
	must.Succeed(g.t, err)
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.URL+"/api/v1"+path, bytes.NewReader(raw))
	must.Succeed(g.t, err)
	req.Header.Set("Authorization", "token "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(g.t, err)
	defer resp.Body.Close()
	if raw, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		g.t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, raw, err)
	}
	if out != nil {
		must.Succeed(g.t, json.Unmarshal(raw, out))
	}
}

// UserToken makes a token of a user of the test's, with scopes of Gitea.
func (g *Gitea) UserToken(user, password, name string, scopes ...string) string {
	g.t.Helper()
	raw, err := json.Marshal(map[string]any{"name": name, "scopes": scopes})
	must.Succeed(g.t, err)
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.URL+"/api/v1/users/"+url.PathEscape(user)+"/tokens", bytes.NewReader(raw))
	must.Succeed(g.t, err)
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(g.t, err)
	defer resp.Body.Close()
	var made struct {
		Token string `json:"sha1"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Token == "" {
		g.t.Fatalf("make a token: %s %v", resp.Status, err)
	}
	return made.Token
}

// Push runs a script of shell commands in a new repository and pushes the result to a
// repository of the server.
func (g *Gitea) Push(repository, script string) {
	g.t.Helper()
	at, err := url.Parse(g.URL)
	must.Succeed(g.t, err)
	at.User = url.UserPassword(g.User, g.Token)
	c := exec.CommandContext(g.t.Context(), "bash", "-ec", "git init -q -b main .\n"+script+"\ngit push -q \"$REMOTE\" --all")
	c.Dir = g.t.TempDir()
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "REMOTE=" + at.JoinPath(repository).String() + ".git", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=o", "GIT_AUTHOR_EMAIL=octocat@example.com", "GIT_COMMITTER_NAME=o", "GIT_COMMITTER_EMAIL=octocat@example.com",
	}
	if out, err := c.CombinedOutput(); err != nil {
		g.t.Fatalf("push: %v\n%s", err, out)
	}
}
