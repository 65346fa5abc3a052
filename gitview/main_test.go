package gitview_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
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
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	r := repo{t, filepath.Join(dir, "repo")}
	must.Succeed(t, os.Mkdir(r.dir, 0o700))
	r.git("init", "-q", "-b", "main")
	return r
}

// git runs git as its user would.
func (r repo) git(args ...string) string {
	r.t.Helper()
	return testtree.Git(r.t, r.dir, args...)
}

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	must.Succeed(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(r.t, os.WriteFile(path, []byte(text), 0o700))
}

func (r repo) remove(name string) {
	r.t.Helper()
	must.Succeed(r.t, os.Remove(filepath.Join(r.dir, name)))
}

// commit commits everything and returns the commit's name.
func (r repo) commit(subject string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", subject)
	return r.git("rev-parse", "HEAD")[:40]
}

// anyFile lets Delta read every file.
func anyFile(string) error { return nil }
