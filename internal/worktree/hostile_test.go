package worktree_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
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
			testtree.Git(t, repo, "init", "-q", "-b", "main")
			write(t, filepath.Join(repo, "a.txt"), "one\n")
			for path, text := range c.files {
				write(t, filepath.Join(repo, path), marked(text, mark))
			}
			testtree.Git(t, repo, "add", ".")
			testtree.Git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
			config, err := os.ReadFile(filepath.Join(repo, ".git", "config"))
			must.Succeed(t, err)
			write(t, filepath.Join(repo, ".git", "config"), string(config)+marked(c.config, mark))
			tree, err := worktree.Add(t.Context(), worktree.Options{
				Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x", Base: c.base, Ref: "main",
			})
			must.Succeed(t, err)
			if text, err := os.ReadFile(filepath.Join(tree.Dir, "a.txt")); err != nil || string(text) != "one\n" {
				t.Errorf("a.txt is %q, %v", text, err)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Error("a program of the repository's configuration ran")
			}
		})
	}
}

// TestPromisedObjects: git fetches the missing objects of a partial clone with the
// program that its configuration names, whatever command misses it.
func TestPromisedObjects(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	repo := t.TempDir()
	testtree.Git(t, repo, "init", "-q", "-b", "main")
	write(t, filepath.Join(repo, "a.txt"), "one\n")
	testtree.Git(t, repo, "add", ".")
	testtree.Git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	const blob = "5626abf0f72e58d7a153368ba57db4c673c0e171" // of "one\n"
	must.Succeed(t, os.Remove(filepath.Join(repo, ".git/objects", blob[:2], blob[2:])))
	write(t, filepath.Join(repo, ".git/config"), marked(`[core]
	repositoryformatversion = 1
[extensions]
	partialClone = origin
[remote "origin"]
	url = .
	promisor = true
	partialclonefilter = blob:none
	uploadpack = "touch MARK; git-upload-pack"
`, mark))
	if tree, err := worktree.Add(t.Context(), worktree.Options{Root: t.TempDir(), Dir: repo, Name: "x", Branch: "openhands/x"}); err == nil {
		t.Errorf("a worktree without its file: %+v", tree)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}

// TestBombs refuses commits of some kilobytes that unpack to any number of files or bytes.
func TestBombs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size, levels int
		want         string
	}{
		"files": {1, 9, "more than 1000000 files"},
		"bytes": {16 << 20, 4, "more than 68719476736 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, root := t.TempDir(), t.TempDir()
			testtree.Git(t, repo, "init", "-q", "-b", "main")
			write(t, filepath.Join(repo, "file"), strings.Repeat("x", c.size))
			about := "100644 blob " + testtree.Git(t, repo, "hash-object", "-w", "file")
			for range c.levels {
				var list strings.Builder
				for i := range 10 {
					fmt.Fprintf(&list, "%s\t%d\n", about, i)
				}
				cmd := exec.CommandContext(t.Context(), "git", "mktree")
				cmd.Dir, cmd.Stdin = repo, strings.NewReader(list.String())
				out, err := cmd.Output()
				must.Succeed(t, err)
				about = "040000 tree " + strings.TrimSpace(string(out))
			}
			testtree.Git(t, repo, "update-ref", "refs/heads/main", testtree.Git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "x", strings.Fields(about)[2]))
			testtree.Git(t, repo, "repack", "-adq")
			tree, err := worktree.Add(t.Context(), worktree.Options{Root: root, Dir: repo, Name: "x", Branch: "openhands/x"})
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %q", tree, err, c.want)
			}
			if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestLinkOutOfTheTree refuses a workspace that is a link in the worktree.
func TestLinkOutOfTheTree(t *testing.T) {
	t.Parallel()
	repo, private, root := t.TempDir(), t.TempDir(), t.TempDir()
	testtree.Git(t, repo, "init", "-q", "-b", "main")
	must.Succeed(t, os.Symlink(private, filepath.Join(repo, "sub")))
	testtree.Git(t, repo, "add", ".")
	testtree.Git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	must.Succeed(t, os.Remove(filepath.Join(repo, "sub")))
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
