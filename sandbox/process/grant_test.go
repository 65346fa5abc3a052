package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestOnlyGranted: of the home, and of the directories beside it, only the granted
// ones appear, and only the writable ones can be changed.
func TestOnlyGranted(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			read, rw := filepath.Join(b.home, "docs"), filepath.Join(filepath.Dir(b.ws), "shared/out")
			write(t, filepath.Join(read, "a.txt"), "readable")
			write(t, filepath.Join(rw, "old"), "old")
			write(t, filepath.Join(filepath.Dir(rw), "beside"), "SECRET")
			tool := filepath.Join(b.home, "apps/thing")
			write(t, filepath.Join(tool, "bin/thing"), "#!/bin/sh\ncat "+tool+"/lib/data\n")
			write(t, filepath.Join(tool, "lib/data"), "data")
			write(t, filepath.Join(tool, "private"), "SECRET")
			must.Succeed(t, os.Chmod(filepath.Join(tool, "bin/thing"), 0o755))
			b.spec.Readable, b.spec.Writable = []string{read}, []string{rw}
			p, err := process.New(process.Options{Dir: b.dir, Level: level, Home: b.home, Env: []string{"PATH=" + tool + "/bin:/usr/bin:/bin"}})
			must.Succeed(t, err)
			t.Cleanup(func() { p.Close() })
			b.Provider = p
			s := b.start(t)
			a := sh(t, s, `exec 2>/dev/null; cd "$1"; cat a.txt; echo; echo x >a.txt || echo closed; touch new || echo closed
				cat "$2/old"; echo; echo y >"$2/new" && cat "$2/new"; cat "$2/../beside"; "$3/bin/thing"; cat "$3/private"; echo`, read, rw, tool)
			if diff := cmp.Diff("readable\nclosed\nclosed\nold\ny\ndata\n", a.Out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if got, err := os.ReadFile(filepath.Join(rw, "new")); err != nil || string(got) != "y\n" {
				t.Errorf("written outside: %q, %v", got, err)
			}
			again := b.spec
			again.Writable = nil
			if _, err := b.Start(t.Context(), again); !fault.Is(err, fault.Conflict) {
				t.Errorf("with other grants: %v", err)
			}
			must.Report(t, b.Remove(t.Context(), b.spec.ID))
		})
	}
}

func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.spec.Hidden = []string{filepath.Join(b.ws, "private")}
	link := filepath.Join(b.home, "link")
	must.Succeed(t, os.Symlink(filepath.Join(b.home, "other"), link))
	for _, dir := range []string{"/", "relative", "/proc/self", "/etc/ssl/private", b.dir, b.ws + "/private", link, b.home + "/none", b.home + "/notes.txt"} {
		for _, writable := range []bool{false, true} {
			s := b.spec
			if s.Readable = []string{dir}; writable {
				s.Readable, s.Writable = nil, s.Readable
			}
			if _, err := b.Start(t.Context(), s); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
}

// inGit commits in the sandbox and prints git's output.
const inGit = `exec 2>&1; export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y
echo new >added && git add . && git commit -qm inside && git status --short && git log --format=%s && git branch made && git show --stat --format= HEAD | head -1`

// TestGitOutsideWorkspace: git works in a worktree and in a directory of a
// repository, and can change neither its configuration nor its hooks.
func TestGitOutsideWorkspace(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for _, level := range levels {
		for name, sub := range map[string]string{"worktree": "", "directory": "sub", "directory of a worktree": "sub"} {
			t.Run(level+" "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, level)
				repo := filepath.Join(b.home, "repo")
				write(t, filepath.Join(repo, "sub/file"), "file")
				write(t, filepath.Join(repo, "beside"), "beside")
				testtree.Git(t, repo, "init", "-q")
				testtree.Git(t, repo, "add", ".")
				testtree.Git(t, repo, "commit", "-qm", "outside")
				top := repo
				if strings.Contains(name, "worktree") {
					top = filepath.Join(filepath.Dir(b.ws), "tree")
					testtree.Git(t, repo, "worktree", "add", "-q", top, "-b", "side")
				}
				b.spec.Workspace = filepath.Join(top, sub)
				s := b.start(t)
				a := sh(t, s, inGit)
				if want := "inside\noutside\n"; !strings.HasPrefix(a.Out, want) || !strings.Contains(a.Out, "added | 1") {
					t.Errorf("git says %q, want %q", a.Out, want)
				}
				before := snapshot(t, repo)
				a = sh(t, s, `cat $HOME/other/.env; rm -f "$1/beside"; echo x >"$1/beside"; echo x >"$1/.git/info/exclude"`, repo)
				if level == process.LevelNamespaces || name != "directory" { // its Report says so: git-configuration
					b := sh(t, s, `echo x >"$1/.git/hooks/post-commit"; git config core.fsmonitor ./evil; mv "$1/.git/hooks" "$1/.git/h"; rm -rf "$1/.git/hooks"`, repo)
					a.Out += b.Out
					if diff := cmp.Diff(before, snapshot(t, repo)); diff != "" {
						t.Errorf("changed outside (-before +after):\n%s", diff)
					}
				}
				if strings.Contains(a.Out, "SECRET") {
					t.Errorf("the repository is open: %q", a.Out)
				}
			})
		}
	}
}

// TestOtherGitConfiguration: no configuration can take the place of a working tree's
// in a repository outside the workspace.
func TestOtherGitConfiguration(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for name, sub := range map[string]string{"worktree": "", "directory": "sub"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, process.LevelNamespaces)
			repo := filepath.Join(b.home, "repo")
			top, own := repo, filepath.Join(repo, ".git")
			write(t, filepath.Join(repo, "sub/file"), "file")
			testtree.Git(t, repo, "init", "-q")
			testtree.Git(t, repo, "config", "extensions.worktreeConfig", "true")
			testtree.Git(t, repo, "add", ".")
			testtree.Git(t, repo, "commit", "-qm", "outside")
			if name == "worktree" {
				top, own = filepath.Join(filepath.Dir(b.ws), "tree"), filepath.Join(own, "worktrees/tree")
				testtree.Git(t, repo, "worktree", "add", "-q", top, "-b", "side")
			}
			b.spec.Workspace = filepath.Join(top, sub)
			s := b.start(t)
			a := sh(t, s, `exec 2>&1; cd "$1" || exit; for f in config.worktree commondir; do [ -e $f ] || continue
				echo planted >$f; rm -f $f; echo planted >new; mv -f new $f; rm -f new; grep -q planted $f && echo changed $f; [ -e $f ] || echo removed $f; done; echo end`, own)
			if !strings.HasSuffix(a.Out, "end\n") || strings.Contains(a.Out, "changed") || strings.Contains(a.Out, "removed") {
				t.Errorf("output: %s", a.Out)
			}
			if _, err := os.Stat(filepath.Join(own, "config.worktree")); err != nil {
				t.Errorf("commands could make it: %v", err)
			}
			if a := sh(t, s, inGit); !strings.HasPrefix(a.Out, "inside\noutside\n") {
				t.Errorf("git says %q", a.Out)
			}
		})
	}
}

// TestCommonDirectory: commands in a directory of a repository cannot make git read
// another configuration there; a repository that says so already is refused.
func TestCommonDirectory(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for _, workTree := range []bool{false, true} {
		t.Run(fmt.Sprint(workTree), func(t *testing.T) {
			t.Parallel()
			b := setup(t, process.LevelNamespaces)
			repo := filepath.Join(b.home, "repo")
			own, commondir := filepath.Join(repo, ".git"), filepath.Join(repo, ".git/commondir")
			write(t, filepath.Join(repo, "sub/file"), "file")
			testtree.Git(t, repo, "init", "-q")
			testtree.Git(t, repo, "add", ".")
			testtree.Git(t, repo, "commit", "-qm", "outside")
			if workTree {
				testtree.Git(t, repo, "config", "core.worktree", repo)
			}
			b.spec.Workspace = filepath.Join(repo, "sub")
			s := b.start(t)
			sh(t, s, `cp -r "$1" evil; git -C evil config --file config deft.planted yes; echo ../sub/evil >"$1/commondir"
				rm -f "$1/commondir"; echo ../sub/evil >new; mv -f new "$1/commondir"; ln -sf "$PWD/evil" "$1/commondir"; mkdir "$1/commondir"`, own)
			if planted, err := exec.Command("git", "-C", repo, "config", "deft.planted").Output(); err == nil {
				t.Errorf("git outside reads what was planted: %q", planted)
			}
			if out, err := exec.Command("git", "-C", repo, "log", "--format=%s").CombinedOutput(); err != nil || string(out) != "outside\n" {
				t.Errorf("git outside: %v: %s", err, out)
			}
			if a := sh(t, s, inGit); !workTree && !strings.HasPrefix(a.Out, "inside\noutside\n") {
				t.Errorf("git inside says %q", a.Out)
			}
			must.Succeed(t, b.Remove(t.Context(), b.spec.ID))
			write(t, commondir, "../sub/evil\n")
			if _, err := b.Start(t.Context(), b.spec); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), commondir) {
				t.Errorf("with a planted file: %v", err)
			}
		})
	}
}

// snapshot has the parts of a repository that must not change.
func snapshot(t *testing.T, repo string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"beside", ".git/config", ".git/info/exclude", ".git/hooks/post-commit", ".git/hooks/pre-commit.sample"} {
		raw, err := os.ReadFile(filepath.Join(repo, name))
		files[name] = fmt.Sprint(string(raw), err)
	}
	return files
}

// TestPlantedGitFile: a .git file that names another repository grants nothing.
func TestPlantedGitFile(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			repo, mine := filepath.Join(b.home, "repo"), filepath.Join(filepath.Dir(b.ws), "mine")
			write(t, filepath.Join(repo, "file"), "SECRET")
			testtree.Git(t, repo, "init", "-q")
			testtree.Git(t, repo, "add", ".")
			testtree.Git(t, repo, "commit", "-qm", "SECRET")
			testtree.Git(t, repo, "worktree", "add", "-q", mine, "-b", "side")
			fake := filepath.Join(b.ws, "fake")
			write(t, filepath.Join(fake, "worktrees/x/gitdir"), filepath.Join(b.ws, ".git"))
			write(t, filepath.Join(fake, "worktrees/x/commondir"), filepath.Join(repo, ".git"))
			write(t, filepath.Join(fake, "HEAD"), "ref: refs/heads/main")
			for _, planted := range []string{
				repo + "/.git", repo + "/.git/worktrees/mine", repo + "/.git/worktrees/none", b.home + "/.ssh", fake + "/worktrees/x", "../home/repo/.git",
			} {
				write(t, filepath.Join(b.ws, ".git"), "gitdir: "+planted+"\n")
				s := b.start(t)
				a := sh(t, s, `cat "$1"/.git/logs/HEAD "$1"/file "$1"/.git/HEAD "$2"/.ssh/*; git log`, repo, b.home)
				if strings.Contains(a.Out, "SECRET") || strings.Contains(a.Out, "refs/heads") {
					t.Errorf("%s: %s", planted, a.Out)
				}
				must.Succeed(t, b.Remove(t.Context(), b.spec.ID))
			}
		})
	}
}

// TestLinkedObjects: a link in a repository's directory does not grant its target.
func TestLinkedObjects(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	b := setup(t, process.LevelNamespaces)
	repo, tree := filepath.Join(b.home, "repo"), filepath.Join(filepath.Dir(b.ws), "tree")
	write(t, filepath.Join(repo, "file"), "x")
	testtree.Git(t, repo, "init", "-q")
	testtree.Git(t, repo, "add", ".")
	testtree.Git(t, repo, "commit", "-qm", "x")
	testtree.Git(t, repo, "worktree", "add", "-q", tree, "-b", "side")
	must.Succeed(t, os.RemoveAll(filepath.Join(repo, ".git/logs")))
	must.Succeed(t, os.Symlink(filepath.Join(b.home, "other"), filepath.Join(repo, ".git/logs")))
	b.spec.Workspace = tree
	if a := sh(t, b.start(t), `cat "$1/other/.env" "$1"/repo/.git/logs/.env`, b.home); strings.Contains(a.Out, "SECRET") {
		t.Error(a.Out)
	}
}

// TestCleanedConfigurations: programs find their settings, without credentials.
func TestCleanedConfigurations(t *testing.T) {
	t.Parallel()
	tool(t, "git")
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			if a := sh(t, s, `git config --global --list`); a.Out != "core.pager=cat\nuser.name=Me\n" {
				t.Errorf("git reads %q", a.Out)
			}
			if level == process.LevelLandlock {
				return // there it is hidden as a whole
			}
			if a := sh(t, s, `cat $HOME/.cargo/config.toml`); !strings.Contains(a.Out, "jobs = 3") || strings.Contains(a.Out, "SECRET") {
				t.Errorf("cargo reads %q", a.Out)
			}
		})
	}
}

// TestRegistryConfigurations: package managers find the registries that the user has
// configured, and nothing else of these files.
func TestRegistryConfigurations(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	for name, text := range map[string]string{
		"dotfiles/npmrc":       "; mine\nregistry=https://npm.corp/\n@own:registry = https://scope.corp/\n//npm.corp/:_authToken=SECRET\nemail=SECRET@x\n@key:registry=https://u:SECRET@x/\n@path:registry=https://dl.corp/aB3dEfGhIjKlMn9x/npm/\n",
		".config/pip/pip.conf": "[global]\nindex-url = https://pip.corp/simple\nextra-index-url =\n  https://u:SECRET@a.corp/simple\n  https://b.corp/simple\nproxy = SECRET\n[install]\nuser = SECRET\n",
		".config/go/env":       "GOPROXY=https://go.corp\nGOSUMDB=off\nGOAUTH=SECRET\nGONOPROXY=SECRET_TOKEN\n",
		".m2/settings.xml": `<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><servers><server><password>SECRET</password></server></servers>
<mirrors><mirror><id>m</id><name>SECRET</name><mirrorOf>*</mirrorOf><url>https://mvn.corp/x</url></mirror><mirror><id>n</id><mirrorOf>x</mirrorOf><url>https://u:SECRET@n</url></mirror></mirrors></settings>`,
		".pip/pip.conf": "[global]\npassword = SECRET\n",
	} {
		write(t, filepath.Join(b.home, name), text)
	}
	must.Succeed(t, os.Symlink("dotfiles/npmrc", filepath.Join(b.home, ".npmrc")))
	s := b.start(t)
	for name, want := range map[string]string{
		".npmrc":               "registry=https://npm.corp/\n@own:registry = https://scope.corp/\n",
		".config/pip/pip.conf": "[global]\nindex-url = https://pip.corp/simple\nextra-index-url =\n  https://b.corp/simple\n[install]\n",
		".config/go/env":       "GOPROXY=https://go.corp\nGOSUMDB=off\n",
		".m2/settings.xml":     "<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>https://mvn.corp/x</url></mirror></mirrors></settings>",
	} {
		if got := sh(t, s, `cat "$HOME/$1"`, name).Out; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := sh(t, s, `ls "$HOME/.pip"; grep -rs SECRET "$HOME"`).Out; strings.Contains(got, "SECRET") || strings.Contains(got, "pip.conf") {
		t.Error(got)
	}
}
