package testtree_test

import (
	"os"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
)

func TestCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{"a/b": "text", "link": "->a/b"})
	raw, err := os.ReadFile(dir + "/link")
	must.Succeed(t, err)
	if string(raw) != "text" {
		t.Errorf("the link leads to %q", raw)
	}
	commit := testtree.Commit(t, dir)
	if got := testtree.Git(t, dir, "log", "--format=%H %an %s", "--name-only"); got != commit+" N first\n\na/b\nlink" {
		t.Errorf("the log is %q", got)
	}
}
