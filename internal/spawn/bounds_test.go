package spawn_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/spawn"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	must.Succeed(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConfined(t *testing.T) {
	t.Parallel()
	if !spawn.CanConfine() {
		if os.Getenv("CI") == "true" {
			t.Fatal("this kernel has no Landlock with ABI 2")
		}
		t.Skip("this kernel has no Landlock with ABI 2")
	}
	dir := t.TempDir()
	for _, name := range []string{"in/file", "out/file", "work/file", "work/moved"} {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte(name), 0o600))
	}
	must.Succeed(t, os.Symlink("../out", dir+"/in/link"))
	b := spawn.Bounds{Confined: true, Read: []*os.File{open(t, dir+"/in")}, Write: []*os.File{open(t, dir+"/work")}}
	run := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Dir = dir
		var out strings.Builder
		cmd.Stdout = &out
		err := b.Run(cmd)
		return out.String(), err
	}
	for script, works := range map[string]bool{
		"cat in/file": true, "cat work/file": true, "echo x > work/new": true, "mkdir work/d; mv work/moved work/d/": true, "echo x >/dev/null": true,
		"cat out/file": false, "cat in/link/file": false, "ls out": false, "echo x > in/new": false, "echo x > out/new": false, "cat /etc/passwd": false, "ln -s x in/l": false,
	} {
		if out, err := run(script); (err == nil) != works {
			t.Errorf("%s: %q, %v", script, out, err)
		}
	}
	// This process is as free as before.
	if _, err := os.ReadFile(dir + "/out/file"); err != nil {
		t.Error(err)
	}
}

func TestMemoryBound(t *testing.T) {
	t.Parallel()
	for memory, works := range map[uint64]bool{0: true, 1 << 30: true, 64 << 20: false} {
		// awk doubles a text to 128 MB.
		cmd := exec.CommandContext(t.Context(), "awk", `BEGIN { s = "x"; for (i = 0; i < 27; i++) s = s s; print length(s) }`)
		if err := (spawn.Bounds{Memory: memory}).Run(cmd); (err == nil) != works {
			t.Errorf("%d bytes: %v", memory, err)
		}
	}
	if err := (spawn.Bounds{Memory: 1 << 20}).Run(exec.CommandContext(t.Context(), "/nonexistent")); err == nil {
		t.Error("a program that does not exist ran")
	}
}

func TestFileBound(t *testing.T) {
	t.Parallel()
	for file, works := range map[uint64]bool{0: true, 64 << 10: true, 32 << 10: false} {
		path := filepath.Join(t.TempDir(), "file")
		cmd := exec.CommandContext(t.Context(), "dd", "if=/dev/zero", "of="+path, "bs=1024", "count=48")
		if err := (spawn.Bounds{File: file}).Run(cmd); (err == nil) != works {
			t.Errorf("%d bytes: %v", file, err)
		}
		if info, err := os.Stat(path); err != nil || file > 0 && info.Size() > int64(file) {
			t.Errorf("%d bytes: the file has %v, %v", file, info, err)
		}
	}
}
