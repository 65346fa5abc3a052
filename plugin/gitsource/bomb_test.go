package gitsource_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/plugin/gitsource"
)

// TestBombs clones repositories of some kilobytes that name a thousand million files, or
// terabytes: nothing is unpacked.
func TestBombs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	for name, c := range map[string]struct {
		size, levels int
		want         string
	}{
		"files":       {1, 9, "more than 200000 files"},
		"bytes":       {16 << 20, 3, "more than 2147483648 bytes"},
		"small":       {1, 2, ""},
		"directories": {-1, 9, "more than 200000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			git := func(stdin []byte, args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
				cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("git %v: %v", args, err)
				}
				return strings.TrimSpace(string(out))
			}
			git(nil, "init", "-q", "-b", "main")
			about := "040000 tree " + git(nil, "mktree") // an empty directory
			if c.size >= 0 {
				about = "100644 blob " + git(make([]byte, c.size), "hash-object", "-w", "--stdin")
			}
			for range c.levels {
				var list strings.Builder
				for i := range 10 {
					fmt.Fprintf(&list, "%s\t%d\n", about, i)
				}
				about = "040000 tree " + git([]byte(list.String()), "mktree")
			}
			git(nil, "update-ref", "refs/heads/main", git(nil, "commit-tree", "-m", "x", strings.Fields(about)[2]))
			into := filepath.Join(t.TempDir(), "clone")
			_, err := gitsource.Clone(t.Context(), "file://"+dir, "", into)
			if c.want == "" {
				must.Report(t, err)
				return
			}
			if !errors.Is(err, gitsource.ErrFetch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Stat(into); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is left: %v", err)
			}
		})
	}
}
