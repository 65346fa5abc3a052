package standard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/sandbox/process"
)

func TestPathHint(t *testing.T) {
	t.Parallel()
	// As a sandbox shows it: the home, and nothing else around the workspace.
	root := t.TempDir()
	system := func(path string) bool {
		return !workspacedir.Within(path, root+"/shared") && process.IsSystemPath(path)
	}
	for _, dir := range []string{"home/.cargo", "home/src/repo/.git", "home/src/repo/part", "shared"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	home := filepath.Join(root, "home")
	below := filepath.Join(home, "src/repo/part/below")
	must.Succeed(t, os.Mkdir(below, 0o755))
	for name, to := range map[string]string{"data": home + "/data/sets", "common": root + "/shared", "inside": "../none"} {
		must.Succeed(t, os.Symlink(to, filepath.Join(below, name)))
	}
	h := pathHint{workspace: filepath.Join(home, "src/repo/part"), home: home, hidden: true, system: system, private: process.IsPrivatePath}
	denied := pathHint{workspace: h.workspace, home: home, system: system, private: process.IsPrivatePath}
	for _, c := range []struct {
		hint   pathHint
		output string
		want   string // flag and directory
	}{
		{h, "cat: HOME/src/lib/go.mod: No such file or directory", "--read HOME/src/lib,"},
		{h, "go: open HOME/src/lib/go.mod: no such file or directory", "--read HOME/src/lib,"},
		{h, "ls: cannot access 'HOME/my docs/a b': No such file or directory", "--read HOME/my docs,"},
		{h, "FileNotFoundError: [Errno 2] No such file or directory: 'HOME/other/x'", "--read HOME/other,"},
		{h, "Error: ENOENT: no such file or directory, open 'HOME/other/x'", "--read HOME/other,"},
		{h, "bash: ~/other/run.sh: No such file or directory", "--read HOME/other,"},
		{h, "touch: cannot touch 'ROOT/shared/x': Read-only file system", "--write ROOT/shared."},
		{h, "mkdir: cannot create directory ‘HOME/.cargo/x’: Read-only file system", "--write HOME/.cargo."},
		{denied, "cat: ROOT/shared/x: Permission denied", "--read ROOT/shared,"},
		{h, "cat: ../../../other/x: No such file or directory", "--read HOME/src/other,"},
		{h, "ls: cannot access '../../../other/a b': No such file or directory", "--read HOME/src/other,"},
		{h, "HOME/other/x does not exist. Its directory does not exist either.", "--read HOME/other,"},
		{h, "mkdir: cannot create directory ‘../../../new’: Read-only file system", "--write HOME/src."},
		{h, "touch: cannot touch 'HOME/x': Read-only file system", "--write DIR."},

		{h, "cat: HOME/one/x: No such file or directory\ncat: HOME/two/x: No such file or directory\ncat: HOME/one/y: No such file or directory\n", "--read HOME/one, or let commands change it with --write. This sandbox does not show HOME/two. If it exists, the user can show it with deft's flag --read HOME/two,"},
		{h, "cp: cannot copy 'HOME/one/x' to 'HOME/two/x': No such file or directory", "--read HOME/two,"},

		{h, "error: object directory HOME/big/.git/objects does not exist; check .git/objects/info/alternates", "--read HOME/big/.git/objects,"},
		{h, "error: unable to normalize alternate object path: HOME/big/./.git/objects", "--read HOME/big/.git/objects,"},
		{h, "fatal: not a git repository: HOME/gits/one.git", "--read HOME/gits/one.git,"},
		{h, "bash: data/q.txt: No such file or directory", "--read HOME/data,"},
		{h, "ls: cannot access 'data': No such file or directory", "--read HOME/data,"},
		{h, "HOME/src/repo/part/below/data is a symbolic link to a directory that does not exist", "--read HOME/data,"},
		{h, "bash: common/x: Read-only file system", "--write ROOT/shared."},
		{h, "cat: inside/x: No such file or directory", ""},
		{h, "cat: ../x: No such file or directory", ""},
		{h, "cat: x: No such file or directory", ""},
		{h, "cat: HOME/src/repo/part/x: No such file or directory", ""},
		{h, "cat: HOME/src/repo/x: No such file or directory", ""}, // the repository is shown
		{h, "cat: HOME/.cargo/x: No such file or directory", ""},   // as are toolchains
		{h, "cat: HOME/.npmrc: No such file or directory", ""},
		{h, "cat: HOME/.ssh/id_rsa: No such file or directory", ""},
		{h, "cat: ROOT/shared/x: No such file or directory", ""},
		{h, "bash: /usr/local/bin/x: No such file or directory", ""},
		{h, "bash: /tmp/x: Permission denied", ""},
		{h, "/no/such/program: No such file or directory", ""},
		{h, "touch: cannot touch '/etc/x': Read-only file system", ""},
		{h, "touch: cannot touch 'HOME/src/repo/part/x': Permission denied", ""},
		{h, "git@github.com:/org/repo: Permission denied (publickey).", ""},
		{h, "fatal: https://host.test/other/x: permission denied", ""},
		{h, "HOME/other/x is fine", ""},
		{h, "cat: HOME/other/x: No such file or directory" + strings.Repeat(" later output", 1000), ""},
		{denied, "cat: HOME/other/x: No such file or directory", ""}, // it would be denied
		{denied, "bash: HOME/x: Permission denied", "--write DIR."},
		{denied, "cat: HOME/.ssh/id_rsa: Permission denied", ""},
		{denied, "cat: /etc/shadow: Permission denied", ""},
	} {
		fill := strings.NewReplacer("HOME", home, "ROOT", root).Replace
		got := c.hint.explain(fill(c.output), h.workspace+"/below")
		if c.want == "" && got != "" || !strings.Contains(got, fill(c.want)) {
			t.Errorf("%.90s: %q, want %q", c.output, got, c.want)
		}
	}
}

// TestPathHintNextToWorkspace: a workspace below a directory that is the sandbox's own has hidden
// neighbours, which a command's own files there are not.
func TestPathHintNextToWorkspace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	work := filepath.Join(root, "work")
	must.Succeed(t, os.MkdirAll(filepath.Join(work, "below"), 0o755))
	must.Succeed(t, os.Mkdir(filepath.Join(root, "shown"), 0o755))
	h := pathHint{
		workspace: work, home: "/root", hidden: true, system: func(string) bool { return true },
		private: func(path string) bool { return workspacedir.Within(path, root) },
	}
	denied := h
	denied.hidden = false
	shown := h
	shown.private = func(string) bool { return false }
	for _, c := range []struct {
		hint         pathHint
		output, want string
	}{
		{h, "cat: ../../outside.txt: No such file or directory", "If it is a directory, the user can show it with deft's flag --read ROOT/outside.txt, or let commands change it with --write; a file can be copied into the workspace."},
		{h, "ROOT/other/x does not exist. Its directory does not exist either.", ""},
		{h, "bash: ROOT/x: No such file or directory", ""},
		{h, "fatal: not a git repository: ROOT/gits/one.git", "--read ROOT/gits/one.git,"},
		{h, "error: unable to normalize alternate object path: ROOT/work/../big/.git/objects", "--read ROOT/big/.git/objects,"},
		{h, "error: object directory ROOT/big/.git/objects does not exist; check .git/objects/info/alternates", "--read ROOT/big/.git/objects,"},
		{h, "cat: ../x: No such file or directory", ""},
		{h, "bash: ../../shown/x: Read-only file system", "ROOT/shown is read-only in this sandbox. The user can let commands change it with deft's flag --write ROOT/shown."},
		{h, "create ROOT/shown/x: read-only file system", "--write ROOT/shown."},
		{shown, "create ROOT/shown/x: read-only file system", ""},
		{denied, "cat: ../../outside.txt: No such file or directory", ""},
		{shown, "cat: ../../outside.txt: No such file or directory", ""}, // as below /usr
	} {
		got := c.hint.explain(strings.ReplaceAll(c.output, "ROOT", root), filepath.Join(work, "below"))
		if c.want == "" && got != "" || !strings.Contains(got, strings.ReplaceAll(c.want, "ROOT", root)) {
			t.Errorf("%s: %q, want %q", c.output, got, c.want)
		}
	}
	h.private = func(path string) bool { return workspacedir.Within(path, filepath.Dir(root)) }
	if got := h.explain("cat: "+root+"/x: No such file or directory", work); !strings.Contains(got, "--read "+root+"/x,") {
		t.Errorf("deeper: %q", got)
	}
}
