// Package filestest is the conformance suite of tools that read and change files: hostile
// paths, and what an edit keeps.
//
// # Usage
//
//	filestest.Run(t, filestest.Tool{New: edit.New, Change: func(path, old, new string) event.Action { … }})
package filestest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

// Tool is a tool under test. Fields are nil for missing abilities.
type Tool struct {
	New func(*files.Files) tool.Executor
	// Read shows a file.
	Read func(path string) event.Action
	// Change replaces the line old of a file, whose lines are "first", old and "last", by with.
	Change func(path, old, with string) event.Action
	// Create makes a file with one line.
	Create func(path, line string) event.Action
}

// Bench is a workspace with a tool.
type Bench struct {
	t     *testing.T
	Dir   string
	Files *files.Files
	x     tool.Executor
}

// NewBench returns a workspace with the executor that make returns.
func NewBench(t *testing.T, cfg files.Config, make func(*files.Files) tool.Executor) *Bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	b := &Bench{t: t, Dir: filepath.Join(dir, "work")}
	must.Succeed(t, os.Mkdir(b.Dir, 0o755))
	cfg.Workspace, cfg.UndoDir = b.Dir, filepath.Join(dir, "undo")
	b.Files, err = files.New(cfg)
	must.Succeed(t, err)
	b.x = make(b.Files)
	t.Cleanup(func() { must.Report(t, b.x.Close()) })
	return b
}

// Path returns the path of a file below the workspace.
func (b *Bench) Path(name string) string { return filepath.Join(b.Dir, name) }

// Write makes a file.
func (b *Bench) Write(name, content string) string {
	b.t.Helper()
	path := b.Path(name)
	must.Succeed(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(b.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// Content returns the content of a file, "(none)" if there is none.
func (b *Bench) Content(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(b.Path(name))
	if os.IsNotExist(err) {
		return "(none)"
	}
	must.Succeed(b.t, err)
	return string(raw)
}

// Run runs an action.
func (b *Bench) Run(a event.Action) event.Observation {
	b.t.Helper()
	obs, err := b.x.Execute(b.t.Context(), tool.Call{Action: a})
	must.Succeed(b.t, err)
	return obs
}

// OK runs an action that must succeed, and returns its text.
func (b *Bench) OK(a event.Action) string {
	b.t.Helper()
	r := b.Run(a).Result()
	if r.IsError {
		b.t.Fatalf("%+v failed: %s", a, event.JoinText(r.Content))
	}
	return event.JoinText(r.Content)
}

// Fails runs an action that must fail with a text that has all of want.
func (b *Bench) Fails(a event.Action, want ...string) {
	b.t.Helper()
	r := b.Run(a).Result()
	got := event.JoinText(r.Content)
	if !r.IsError {
		b.t.Errorf("%+v succeeded: %s", a, got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			b.t.Errorf("%+v: %q does not say %q", a, got, w)
		}
	}
}

// Run tests a tool.
func Run(t *testing.T, x Tool) {
	t.Helper()
	t.Run("paths", func(t *testing.T) { t.Parallel(); paths(t, x) })
	t.Run("nothing but files is opened", func(t *testing.T) { t.Parallel(); specials(t, x) })
	t.Run("another tool's action", func(t *testing.T) {
		t.Parallel()
		b := NewBench(t, files.Config{}, x.New)
		if _, err := b.x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
			t.Error("it was accepted")
		}
	})
	if x.Change != nil {
		t.Run("an edit keeps", func(t *testing.T) { t.Parallel(); keeps(t, x) })
		t.Run("guards", func(t *testing.T) { t.Parallel(); guards(t, x) })
		t.Run("interrupted", func(t *testing.T) { t.Parallel(); interrupted(t, x) })
	}
}

const three = "first\nold\nlast\n"

// each calls f with the actions of a tool on a path.
func (x Tool) each(path string, f func(event.Action)) {
	if x.Read != nil {
		f(x.Read(path))
	}
	if x.Change != nil {
		f(x.Change(path, "old", "new"))
	}
	if x.Create != nil {
		f(x.Create(path, "new"))
	}
}

func paths(t *testing.T, x Tool) {
	b := NewBench(t, files.Config{}, x.New)
	b.Write("f", three)
	outside := b.Write("../outside", three)
	must.Succeed(t, os.Symlink("f", b.Path("link")))
	must.Succeed(t, os.Symlink(outside, b.Path("out")))
	must.Succeed(t, os.Symlink("nowhere", b.Path("dangling")))
	for _, path := range []string{b.Path("f"), "f", "./d/../f", "link", "out", "../outside"} {
		if x.Read != nil {
			if got := b.OK(x.Read(path)); !strings.Contains(got, "old") {
				t.Errorf("%s: %q", path, got)
			}
		}
		if x.Change != nil { // as file_editor: the sandbox decides what can be written
			b.OK(x.Change(path, "old", "new"))
			name := "f"
			if strings.Contains(path, "out") {
				name = "../outside"
			}
			if got := b.Content(name); got != "first\nnew\nlast\n" {
				t.Errorf("%s: %q", path, got)
			}
			b.Write(name, three)
		}
	}
	if to, err := os.Readlink(b.Path("out")); err != nil || to != outside {
		t.Errorf("the link is %q, %v", to, err)
	}
	if x.Read != nil {
		b.Fails(x.Read("dangling"), "symbolic link to nowhere, which does not exist")
	}
	for _, path := range []string{"", " ", "~/f", "a\x00b"} {
		x.each(path, func(a event.Action) { b.Fails(a) })
	}
	x.each(b.Dir, func(a event.Action) { b.Fails(a, "is a directory") })
	if x.Create != nil {
		b.OK(x.Create("deep/er/new", "new"))
		if got := b.Content("deep/er/new"); got != "new\n" {
			t.Errorf("a new file: %q", got)
		}
		b.Fails(x.Create("dangling", "new"), "symbolic link to nowhere")
		if got := b.Content("nowhere"); got != "(none)" {
			t.Errorf("written through a link: %q", got)
		}
		b.Fails(x.Create("too/"+strings.Repeat("l", 300), "new"), "too long")
		if _, err := os.Lstat(b.Path("too")); !os.IsNotExist(err) {
			t.Errorf("a directory of a file that could not be made: %v", err)
		}
	}
}

func specials(t *testing.T, x Tool) {
	b := NewBench(t, files.Config{}, x.New)
	must.Succeed(t, unix.Mkfifo(b.Path("fifo"), 0o600))
	must.Succeed(t, os.Symlink("loop", b.Path("loop")))
	must.Succeed(t, os.Symlink("/proc/self/environ", b.Path("environ")))
	must.Succeed(t, os.Symlink("/proc/self", b.Path("process")))
	for _, path := range []string{"fifo", "loop", "environ", "process/environ", "/proc/self/environ", "/dev/zero", "/proc/1/environ", "/proc/self/../self/environ"} {
		x.each(path, func(a event.Action) { b.Fails(a) })
	}
}

func keeps(t *testing.T, x Tool) {
	for name, c := range map[string]struct{ before, after string }{
		"CRLF":             {"first\r\nold\r\nlast\r\n", "first\r\nnew\r\nlast\r\n"},
		"no last newline":  {"first\nold\nlast", "first\nnew\nlast"},
		"byte order mark":  {"\xef\xbb\xbffirst\nold\nlast\n", "\xef\xbb\xbffirst\nnew\nlast\n"},
		"UTF-16":           {"\xff\xfe" + wide(three), "\xff\xfe" + wide("first\nnew\nlast\n")},
		"an old encoding":  {"first\nold\nlast\ncaf\xe9\n", "first\nnew\nlast\ncaf\xe9\n"},
		"mixed line ends":  {"first\r\nold\nlast\n", "first\r\nnew\nlast\n"},
		"an old Macintosh": {"first\rold\rlast\r", "first\rnew\rlast\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := NewBench(t, files.Config{}, x.New)
			path := b.Write("f", c.before)
			must.Succeed(t, os.Chmod(path, 0o751))
			b.OK(x.Change("f", "old", "new"))
			if got := b.Content("f"); got != c.after {
				t.Errorf("%q, want %q", got, c.after)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o751 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			defer b.Files.Lock()()
			if _, err := b.Files.Undo(path); err != nil || b.Content("f") != c.before {
				t.Errorf("undone: %q, %v", b.Content("f"), err)
			}
		})
	}
}

func wide(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

func guards(t *testing.T, x Tool) {
	var locked string
	b := NewBench(t, files.Config{Guard: func(real string) error {
		if strings.HasPrefix(real, locked) {
			return files.Refuse("%s is locked", real)
		}
		return nil
	}}, x.New)
	locked = b.Path("locked")
	b.Write("locked/f", three)
	must.Succeed(t, os.Symlink("locked", b.Path("way")))
	for _, path := range []string{"locked/f", "way/f"} {
		b.Fails(x.Change(path, "old", "new"), "is locked")
	}
	if x.Create != nil {
		b.Fails(x.Create("way/deep/new", "new"), "is locked")
		if b.Content("locked/deep/new") != "(none)" {
			t.Error("a file was made")
		}
		if _, err := os.Stat(b.Path("locked/deep")); err == nil {
			t.Error("a directory was made")
		}
	}
	if got := b.Content("locked/f"); got != three {
		t.Errorf("changed to %q", got)
	}
}

func interrupted(t *testing.T, x Tool) {
	b := NewBench(t, files.Config{}, x.New)
	b.Write("f", three)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	obs, err := b.x.Execute(ctx, tool.Call{Action: x.Change("f", "old", "new")})
	if err != nil || !obs.Result().IsError || b.Content("f") != three {
		t.Errorf("%v, %v: %q", obs, err, b.Content("f"))
	}
}
