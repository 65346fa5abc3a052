package worktree_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/worktree"
)

// TestNothingRuns makes worktrees of repositories in whose configuration an
// agent has named a program.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(locked.Close)
	smudge := func(mark string) string { return "[filter \"evil\"]\n\tsmudge = \"touch " + mark + "; cat\"\n" }
	for name, c := range map[string]struct {
		config string // follows the repository's; MARK is the file to make
		files  map[string]string
		base   string
	}{
		"a filter with an equals sign": {
			config: "[filter \"a=b\"]\n\tsmudge = \"touch MARK; cat\"\n", files: map[string]string{".gitattributes": "* filter=a=b\n"},
		},
		"for the branch": {
			config: "[includeIf \"onbranch:openhands/**\"]\n\tpath = evil\n", files: map[string]string{".git/evil": smudge("MARK"), ".gitattributes": "* filter=evil\n"},
		},
		"for worktrees": {
			config: "[includeIf \"gitdir:**/worktrees/**\"]\n\tpath = evil\n", files: map[string]string{".git/evil": smudge("MARK"), ".gitattributes": "* filter=evil\n"},
		},
		"the other end of a fetch": {
			config: "[remote \"origin\"]\n\turl = .\n\tuploadpack = \"touch MARK; git-upload-pack\"\n", base: worktree.Ref,
		},
		"a proxy": {
			config: "[core]\n\tgitProxy = \"touch MARK\"\n[remote \"origin\"]\n\turl = git://127.0.0.1:1/x\n", base: worktree.Ref,
		},
		"a credential helper": {
			config: "[credential]\n\thelper = \"!touch MARK; false\"\n[remote \"origin\"]\n\turl = " + locked.URL + "/x\n", base: worktree.Ref,
		},
		"a credential helper for one address": {
			config: "[credential \"" + locked.URL + "\"]\n\thelper = \"!touch MARK; false\"\n[remote \"origin\"]\n\turl = " + locked.URL + "/x\n", base: worktree.Ref,
		},
		"a transport": {
			config: "[remote \"origin\"]\n\turl = \"ext::sh -c touch% MARK\"\n", base: worktree.Ref,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "ran")
			repo := t.TempDir()
			git(t, repo, "init", "-q", "-b", "main")
			write(t, filepath.Join(repo, "a.txt"), "one\n")
			for path, text := range c.files {
				write(t, filepath.Join(repo, path), marked(text, mark))
			}
			git(t, repo, "add", ".")
			git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
			config, err := os.ReadFile(filepath.Join(repo, ".git", "config"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(repo, ".git", "config"), string(config)+marked(c.config, mark))
			tree, err := worktree.Add(t.Context(), worktree.Options{
				Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x", Base: c.base, Ref: "main",
			})
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(tree.Dir, "a.txt")); err != nil || string(text) != "one\n" {
				t.Errorf("a.txt is %q, %v", text, err)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Error("a program of the repository's configuration ran")
			}
		})
	}
}

// TestLinkOutOfTheTree refuses a workspace that is a link in the worktree.
func TestLinkOutOfTheTree(t *testing.T) {
	t.Parallel()
	repo, private, root := t.TempDir(), t.TempDir(), t.TempDir()
	git(t, repo, "init", "-q", "-b", "main")
	if err := os.Symlink(private, filepath.Join(repo, "sub")); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "add", ".")
	git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	if err := os.Remove(filepath.Join(repo, "sub")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repo, "sub", "a.txt"), "one\n")
	tree, err := worktree.Add(t.Context(), worktree.Options{Root: root, Dir: filepath.Join(repo, "sub"), Name: "x", Branch: "openhands/x"})
	if err == nil {
		t.Fatalf("a worktree in %s", tree.Dir)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func marked(text, mark string) string { return strings.ReplaceAll(text, "MARK", mark) }
