package gitview_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/gitview"
)

// TestMain runs the tests as a user who ignores files named *.own everywhere.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "deft-git-home-")
	if err != nil {
		panic(err)
	}
	ignore := filepath.Join(home, `odd "name" \ü`)
	for path, text := range map[string]string{
		filepath.Join(home, ".gitconfig"): "[core]\n\texcludesFile = \"~/odd \\\"name\\\" \\\\ü\"\n", ignore: "*.own\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	os.Setenv("HOME", home)
	os.Unsetenv("XDG_CONFIG_HOME")
	os.Unsetenv("GIT_CONFIG_GLOBAL")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home)
		os.Exit(code)
	}))
}

// everywhere shows all files.
var everywhere gitview.Scope

// repo is a repository of a test.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, filepath.Join(dir, "repo")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	return r
}

// git runs git as its user would.
func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=N", "GIT_AUTHOR_EMAIL=n@example.com",
		"GIT_COMMITTER_NAME=N", "GIT_COMMITTER_EMAIL=n@example.com", "GIT_AUTHOR_DATE=2026-11-21T10:00:00+02:00", "GIT_COMMITTER_DATE=2026-11-21T10:00:00+02:00")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits everything and returns the commit's name.
func (r repo) commit(subject string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", subject)
	return r.git("rev-parse", "HEAD")[:40]
}
