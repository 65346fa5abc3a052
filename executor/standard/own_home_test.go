package standard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestOwnHome has a home in memory: a file of a command there is named once, and the editor
// writes nothing there.
func TestOwnHome(t *testing.T) {
	t.Parallel()
	home, err := os.MkdirTemp("/dev/shm", "deft-home-") //nolint:usetesting // a directory in memory
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	workspace := filepath.Join(t.TempDir(), "work")
	must.Succeed(t, os.Mkdir(filepath.Join(home, "there"), 0o755))
	system := func(path string) bool { return process.IsSystemPath(path) }
	h := newOwnHome(workspace, home, system)
	if h == nil || h.written("") != "" {
		t.Fatal("a home in memory is not the sandbox's own, or has been written to")
	}
	for _, name := range []string{".bash_history", "report.txt"} {
		must.Succeed(t, os.WriteFile(filepath.Join(home, name), nil, 0o600))
	}
	if got := h.written(""); !strings.HasPrefix(got, home+"/report.txt will be lost") || !strings.Contains(got, workspace) || !strings.Contains(got, "--write DIR") {
		t.Errorf("%q", got)
	}
	if got := h.written(""); got != "" {
		t.Errorf("again: %q", got)
	}
	write := func(path string) {
		must.Succeed(t, os.MkdirAll(filepath.Join(home, filepath.Dir(path)), 0o755))
		must.Succeed(t, os.WriteFile(filepath.Join(home, path), []byte(path), 0o600))
	}
	for _, c := range []struct{ file, command, want string }{
		{".bashrc", "echo 'alias x=y' >> ~/.bashrc", "/.bashrc will be lost"},
		{".gitconfig", "git config --global user.name me", "/.gitconfig will be lost"},
		{".gitconfig", "git config --global user.email me", ""}, // it was named
		{".config/tool/state.json", "tool --version", ""},
		{".config/app/config.toml", "cp app.toml ~/.config/app/config.toml", "/.config/app/config.toml will be lost"},
		{".ssh/config", `cat > "$HOME/.ssh/config" <<END`, "/.ssh/config will be lost"},
		{".vim/one.vim", "tee ${HOME}/.vim/one.vim; true", "/.vim/one.vim will be lost"},
		{".kube/config", "cp k '" + home + "/.kube/config'", "/.kube/config will be lost"},
		{".cache/x", "pip install x", ""},
		{".python_history", "python3", ""},
		{".wget-hsts", "wget x", ""},
	} {
		write(c.file)
		got := h.written(c.command)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	if got := h.written("ls /elsewhere/.config ~/.none ~/.config/app"); strings.Contains(got, "none") || strings.Contains(got, "elsewhere") {
		t.Errorf("files that are not there: %q", got)
	}
	// The directory around a workspace in memory is the sandbox's own as well.
	must.Succeed(t, os.MkdirAll(filepath.Join(home, "src/project"), 0o755))
	around := newOwnHome(filepath.Join(home, "src/project"), "", func(path string) bool { return path == home })
	must.Succeed(t, os.Mkdir(filepath.Join(home, "src/other"), 0o755))
	if got := around.written(""); !strings.HasPrefix(got, home+"/src/other will be lost") || !around.loses(home+"/src/other/x") || around.loses(home+"/src/project/x") {
		t.Errorf("around the workspace: %q", got)
	}
	if !belowTmp("/tmp/work") || belowTmp("/tmp") || belowTmp("/tmpfs/x") {
		t.Error("the directories below /tmp")
	}
	for path, lost := range map[string]bool{
		filepath.Join(home, "notes.md"): true, filepath.Join(home, "new/dir/notes.md"): true, filepath.Join(home, ".bashrc"): true,
		filepath.Join(workspace, "notes.md"): false, "/etc/notes.md": false, "notes.md": false,
	} {
		err := h.guard(path)
		if (err != nil) != lost || lost && !strings.Contains(err.Error(), "--write DIR") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if newOwnHome(home, home, system) != nil || newOwnHome(workspace, "/proc", system) != nil || newOwnHome(workspace, "", system) != nil {
		t.Error("another home is the sandbox's own")
	}
}

// TestOwnHomeUnchanged reads a directory again if it has another time of change, or had changed
// just before it was read: the next change may then have the same time.
func TestOwnHomeUnchanged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))
	var st unix.Stat_t
	must.Succeed(t, unix.Stat(home, &st))
	earlier := st.Ctim
	earlier.Sec--
	for _, c := range []struct {
		last reading
		want int
	}{
		{reading{}, 1}, {reading{changed: st.Ctim}, 1}, {reading{changed: st.Ctim, settled: true}, 0}, {reading{changed: earlier, settled: true}, 1},
	} {
		h := &ownHome{places: []string{home}, read: map[string]reading{home: c.last}}
		if got := h.entries(); len(got) != c.want {
			t.Errorf("after %+v: %q", c.last, got)
		}
		if got := h.read[home].changed; got != st.Ctim {
			t.Errorf("after %+v: noted %v, want %v", c.last, got, st.Ctim)
		}
	}
}
