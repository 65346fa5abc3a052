package gitfetch_test

import (
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/internal/must"
)

// repository makes one with two commits on main and one on the branch "other".
func repository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	work := t.TempDir()
	script := `set -e
git init -q -b main . && git config user.name t && git config user.email t@example.com
echo one >f && git add f && git commit -qm one && echo two >f && git commit -qam two
git checkout -qb other && echo three >f && git commit -qam three && git checkout -q main
git clone -q --bare . ` + dir
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// serve serves a directory of repositories to those who send a token.
func serve(t *testing.T, dir, token string) string {
	t.Helper()
	backend, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	must.Succeed(t, err)
	h := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, got, _ := r.BasicAuth(); got != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestClone(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	dir := filepath.Join(t.TempDir(), "w")
	commit, err := gitfetch.Clone(t.Context(), dir, gitfetch.Source{URL: "file://" + repo, Branch: "other"})
	must.Succeed(t, err)
	raw, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil || string(raw) != "three\n" || len(commit) != 40 {
		t.Errorf("%q, %q, %v", raw, commit, err)
	}
	if n, err := gitfetch.Output(t.Context(), dir, "rev-list", "--count", "HEAD"); n != "3" || err != nil {
		t.Errorf("%s commits, %v", n, err)
	}
}

// TestTokens: a token reaches its host, and nothing of it stays in the clone.
func TestTokens(t *testing.T) {
	t.Parallel()
	const token = "secret-of-the-forge"
	base := serve(t, filepath.Dir(repository(t)), token)
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := gitfetch.Clone(t.Context(), dir, gitfetch.Source{URL: base + "/r.git", Token: token}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "grep", "-rl", token, dir).Output()
	if len(out) > 0 || err == nil {
		t.Errorf("the token is in %s", out)
	}
	_, err = gitfetch.Clone(t.Context(), filepath.Join(t.TempDir(), "w"), gitfetch.Source{URL: base + "/r.git", Token: "wrong"})
	if !fault.Is(err, fault.Auth) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// TestUntrusted: a certificate of an unknown authority comes with a hint for the
// user.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := gitfetch.Clone(t.Context(), filepath.Join(t.TempDir(), "w"), gitfetch.Source{URL: s.URL + "/o/r.git"})
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "is not trusted") || !strings.Contains(fault.HintOf(err), "SSL_CERT_FILE") {
		t.Errorf("%v, %q", err, fault.HintOf(err))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	repo := "file://" + repository(t)
	mark := filepath.Join(t.TempDir(), "ran")
	for name, c := range map[string]struct {
		from gitfetch.Source
		kind fault.Kind
	}{
		"branch that does not exist": {gitfetch.Source{URL: repo, Branch: "no/such"}, fault.NotFound},
		"repository that does not":   {gitfetch.Source{URL: repo + "x"}, fault.NotFound},
		"option as branch":           {gitfetch.Source{URL: repo, Branch: "--upload-pack=touch " + mark}, fault.Invalid},
		"option as URL":              {gitfetch.Source{URL: "--upload-pack=touch " + mark}, fault.Invalid},
		"transport that runs":        {gitfetch.Source{URL: "ext::sh -c 'touch " + mark + "'"}, fault.Invalid},
		"no server":                  {gitfetch.Source{URL: "http://user:hidden@127.0.0.1:1/r.git"}, fault.Unavailable},
		"line break in the token":    {gitfetch.Source{URL: "http://127.0.0.1:1/r.git", Token: "a\nHost: b"}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "w")
			_, err := gitfetch.Clone(t.Context(), dir, c.from)
			if !fault.Is(err, c.kind) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%v, of kind %v", err, fault.KindOf(err))
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a directory is left")
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("it ran a program")
			}
		})
	}
}
