package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
)

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	must.Succeed(f, err)
	f.Add(own)
	f.Add([]byte("1 (a) b) c) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 77 1 1"))
	f.Add([]byte(""))
	f.Add([]byte(")"))
	f.Add([]byte("1 (x) S x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = process.ParseStat(b) // must not panic
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	for line, ok := range map[string]bool{
		"1 (a) b) c) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 77 1 1": true,
		"1 (sh) S 0 1": false,
		"1 (sh) S x 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 77 1": false,
		"": false,
	} {
		if err := process.ParseStat([]byte(line)); (err == nil) != ok {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestAllowedChildren(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, f := range []string{"a/x", "b/hide/x", "b/show/x", "b/file", "c/x"} {
		write(t, filepath.Join(root, f), "")
	}
	got := process.AllowedChildren(root, []string{filepath.Join(root, "b/hide"), filepath.Join(root, "c")})
	for i := range got {
		got[i], _ = filepath.Rel(root, got[i])
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a", "b/file", "b/show"}, got); diff != "" {
		t.Errorf("allowed (-want +got):\n%s", diff)
	}
}

func TestSplitHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, f := range []string{".ssh/id", ".unknown", ".cargo/bin/x", ".config/git/config", ".config/gh/hosts.yml",
		".local/bin/x", ".local/share/keyrings/x", ".local/share/uv/x", ".local/share/uv/credentials/x", "src/x", "snap/firefox/x", "go/bin/x", "go/src/x"} {
		write(t, filepath.Join(home, f), "")
	}
	shown, hidden := process.SplitHome(home)
	if diff := cmp.Diff([]string{".cargo", ".config/git", ".local/bin", ".local/share/uv", "go/bin"}, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	want := []string{".config/gh", ".local/share/keyrings", ".ssh", ".unknown", "go/src", "snap", "src"}
	if diff := cmp.Diff(want, hidden); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
}
