package workspacedir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/workspacedir"
)

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	must.Succeed(t, os.MkdirAll(dir, 0o700))
	return dir
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	home, data := mkdir(t, dir, "user"), mkdir(t, dir, "user", "data")
	mkdir(t, home, ".config", "gh")
	mkdir(t, home, "project", "sub")
	for name, to := range map[string]string{"ssh": "user/.ssh", "usr": "/usr", "data": "user/data", "project": "user/project"} {
		must.Succeed(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	must.Succeed(t, os.Symlink(mkdir(t, dir, "keys"), filepath.Join(home, ".aws")))
	rules := workspacedir.Rules{Home: home, Data: []string{filepath.Join(dir, "data")}}
	for ws, want := range map[string]string{
		home + "/project": home + "/project", home + "/new/deep": home + "/new/deep", dir + "/project/sub": home + "/project/sub",
		home + "/.dotfiles": home + "/.dotfiles", "/usr/src/app": "/usr/src/app", home + "/data2": home + "/data2",
		"": "", "/": "", "/usr": "", "/usr/local": "", "/usr/local/x": "", "/usr/src": "", "/etc/x": "", "/proc/self": "", "/var/lib": "", "/home": "", "/root": "", "/tmp": "", "/var/tmp": "", "/tmp/project": "/tmp/project",
		dir + "/usr/share": "", "/proc/self/root": "", "/proc/self/root/usr": "", home: "", dir: "", home + "/": "", home + "/project/..": "",
		home + "/.ssh": "", home + "/.ssh/new": "", dir + "/ssh": "", dir + "/ssh/x": "", home + "/.config": "", home + "/.config/gh": "",
		dir + "/keys": "", dir + "/keys/x": "", data: "", data + "/x/y": "", dir + "/data/x": "", "a\x00b": "",
	} {
		got, err := rules.Check(ws)
		switch {
		case got != want, (err == nil) != (want != ""):
			t.Errorf("%q: %q, %v", ws, got, err)
		case err != nil && !fault.Is(err, fault.Invalid):
			t.Errorf("%q: %v", ws, err)
		}
	}
	if _, err := os.Lstat(home + "/new"); err == nil {
		t.Error("the check made a directory")
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ws, other := mkdir(t, dir, "ws"), mkdir(t, dir, "other")
	id, err := workspacedir.Identify(ws)
	must.Succeed(t, err)
	if err := id.Verify(ws); err != nil {
		t.Errorf("the same directory: %v", err)
	}
	if err := (workspacedir.Identity{}).Verify(dir + "/none"); err != nil {
		t.Errorf("an unknown identity: %v", err)
	}
	move := func(from, to string) {
		t.Helper()
		must.Succeed(t, os.Rename(from, to))
	}
	refused := func(what string) {
		t.Helper()
		if err := id.Verify(ws); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
		if root, err := id.Open(ws); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: open: %v %v", what, root, err)
		}
	}
	move(ws, dir+"/moved")
	refused("it is gone")
	move(other, ws)
	refused("another directory")
	move(ws, other)
	must.Succeed(t, os.Symlink("moved", ws))
	refused("a link to the same directory")
	must.Succeed(t, os.Remove(ws))
	move(dir+"/moved", ws)
	if err := id.Verify(ws); err != nil {
		t.Errorf("it is back: %v", err)
	}
	root, err := id.Open(ws)
	must.Succeed(t, err)
	defer root.Close()
	if _, err := workspacedir.Identify("/etc/passwd"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a file: %v", err)
	}
	// Device numbers may differ after a boot.
	now := id
	now.Device, now.Boot = id.Device+1<<32, "earlier"
	if err := now.Verify(ws); err != nil {
		t.Errorf("after a boot: %v", err)
	}
}
