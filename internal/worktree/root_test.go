package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func TestOwnRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, open := filepath.Join(dir, "new", "root"), filepath.Join(dir, "open")
	must.Succeed(t, os.Mkdir(open, 0o700))
	must.Succeed(t, os.Chmod(open, 0o777))
	for _, root := range []string{made, open, made} {
		must.Succeed(t, OwnRoot(root))
		if st, err := os.Stat(root); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", root, st.Mode(), err)
		}
	}

	for name, root := range map[string]string{"a directory": foreign(t, filepath.Join(dir, "foreign")), "a link": foreignLink(t, open, filepath.Join(dir, "link"))} {
		if err := OwnRoot(root); !fault.Is(err, fault.Denied) {
			t.Errorf("%s of another user: %v", name, err)
		}
	}
}

// foreign is a directory of another user.
func foreign(t *testing.T, dir string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/usr"
	}
	must.Succeed(t, os.Mkdir(dir, 0o777))
	must.Succeed(t, os.Chown(dir, 65534, 65534))
	return dir
}

// foreignLink is a link of another user to a directory of ours. Only root can make
// one; others have a link of root to a directory of root.
func foreignLink(t *testing.T, to, link string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/proc/self/root"
	}
	must.Succeed(t, os.Symlink(to, link))
	must.Succeed(t, os.Lchown(link, 65534, 65534))
	return link
}
