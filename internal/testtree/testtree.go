// Package testtree makes the files and the Git repositories of tests.
//
// # Usage
//
//	testtree.Write(t, dir, map[string]string{"src/a.go": "package a\n", "link": "->src/a.go"})
//	commit := testtree.Commit(t, dir)
//	status := testtree.Git(t, dir, "status", "--short")
//
// Git reads no configuration of the machine; its author and its time are always the same.
//
// # Concurrency and failure
//
// Only the goroutine of the test may call these functions, which end the test at an error.
// Where Git is not installed they skip it, but fail it in CI.
package testtree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Write makes files below a directory, by name, with the directories around them. A text
// such as "->x" makes a link to x.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if to, link := strings.CutPrefix(text, "->"); link {
			must.Succeed(t, os.Symlink(to, at))
		} else {
			must.Succeed(t, os.WriteFile(at, []byte(text), 0o600))
		}
	}
}

// Git runs Git in a directory and returns its output without spaces around it.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("git is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=N", "GIT_AUTHOR_EMAIL=n@example.com", "GIT_AUTHOR_DATE=2026-11-21T10:00:00+02:00",
		"GIT_COMMITTER_NAME=N", "GIT_COMMITTER_EMAIL=n@example.com", "GIT_COMMITTER_DATE=2026-11-21T10:00:00+02:00")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit makes a directory a repository with one commit of its files on the branch main, and
// returns the commit's name.
func Commit(t testing.TB, dir string) string {
	t.Helper()
	Git(t, dir, "init", "-q")
	Git(t, dir, "add", ".")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return Git(t, dir, "rev-parse", "HEAD")
}
