package standard

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
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

// made is an executor of a call that has succeeded.
type made struct{ tool.Executor }

func (made) Execute(context.Context, tool.Call) (event.Observation, error) {
	return &event.FileEditorObservation{ObservationBase: event.ObservationBase{Content: event.Texts("made")}}, nil
}

// TestTemporary names a file that is made where the sandbox has a directory of its own.
func TestTemporary(t *testing.T) {
	t.Parallel()
	memory, err := os.MkdirTemp("/dev/shm", "deft-tmp-") //nolint:usetesting // a directory in memory
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	workspace := filepath.Join(memory, "work")
	must.Succeed(t, os.Mkdir(workspace, 0o755))
	for _, c := range []struct {
		action event.Action
		hidden bool
		named  bool
	}{
		{&event.FileEditorAction{Command: event.EditCreate, Path: memory + "/report.md"}, true, true},
		{&event.WriteFileAction{FilePath: memory + "/report.md"}, true, true},
		{&event.EditAction{FilePath: memory + "/report.md", NewString: "x"}, true, true},
		{&event.EditAction{FilePath: memory + "/report.md", OldString: "x"}, true, false},
		{&event.FileEditorAction{Command: event.EditView, Path: memory + "/report.md"}, true, false},
		{&event.FileEditorAction{Command: event.EditCreate, Path: workspace + "/report.md"}, true, false},
		{&event.FileEditorAction{Command: event.EditCreate, Path: memory + "/report.md"}, false, false},
		{&event.FileEditorAction{Command: event.EditCreate, Path: "/etc/report.md"}, true, false},
	} {
		x := explained{made{}, pathHint{workspace: workspace, hidden: c.hidden, private: process.IsPrivatePath}}
		obs, err := x.Execute(t.Context(), tool.Call{Action: c.action})
		must.Succeed(t, err)
		got := event.JoinText(obs.Result().Content)
		if named := strings.Contains(got, "[") && strings.Contains(got, "--write DIR") && strings.Contains(got, workspace); named != c.named {
			t.Errorf("%+v: %q", c.action, got)
		}
	}
}
