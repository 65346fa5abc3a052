package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
)

func TestOwnRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, open := filepath.Join(dir, "new", "root"), filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{made, open, made} {
		if err := OwnRoot(root); err != nil {
			t.Fatal(err)
		}
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
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return dir
}

// foreignLink is a link of another user to a directory of ours. Only root can make
// one; others have a link of root to a directory of root.
func foreignLink(t *testing.T, to, link string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/proc/self/root"
	}
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return link
}
