package editor_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

func TestNothingButFilesIsOpened(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	fifo := b.path("fifo")
	must.Succeed(t, unix.Mkfifo(fifo, 0o600))
	must.Succeed(t, os.Symlink(fifo, b.path("link")))
	must.Succeed(t, os.Symlink("loop", b.path("loop")))
	for path, want := range map[string]string{
		fifo:           "named pipe",
		b.path("link"): "named pipe",
		"/dev/zero":    "a device",
		"/dev/tty":     "a device",
		b.path("loop"): "",
	} {
		b.fails(view(path), want)
		b.fails(replace(path, "a", "b"), "")
		b.fails(insert(path, 0, "b"), "")
		b.fails(undo(path), "")
	}
}

func TestProcessFilesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	for name, target := range map[string]string{
		"environ": "/proc/self/environ", "dir": "/proc/self", "one": "/proc/1/environ",
	} {
		must.Succeed(t, os.Symlink(target, b.path(name)))
		b.fails(view(b.path(name)), "not shown")
		b.fails(view(target), "not shown")
	}
	b.fails(view(b.path("dir/environ")), "not shown")
	b.fails(view("/proc/thread-self/root/etc"), "not shown")
	b.fails(view("/proc/self/../self/environ"), "not shown")
	b.fails(view("//proc//self/environ"), "not shown")
	b.fails(create("/proc/self/oom_score_adj2", "x"), "not shown")
	b.fails(replace("/proc/self/comm", "a", "b"), "not shown")
	b.fails(view("/proc/kmsg"), "not shown")
	if got := b.ok(view("/proc/version")); !strings.Contains(got, "Linux") {
		t.Errorf("/proc/version, whose size is 0, reads as %q", got)
	}
}

func TestModeAndLinksAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("run.sh", "echo a\n")
	must.Succeed(t, os.Chmod(path, 0o4751))
	must.Succeed(t, unix.Chmod(path, 0o4751))
	must.Succeed(t, os.Symlink("run.sh", b.path("link")))
	must.Succeed(t, os.Link(path, b.path("hard")))
	if got := b.ok(replace(b.path("link"), "a", "b")); !strings.Contains(got, "1 other hard links") {
		t.Errorf("edit = %q", got)
	}
	var st unix.Stat_t
	must.Succeed(t, unix.Stat(path, &st))
	if st.Mode&0o7777 != 0o4751 {
		t.Errorf("mode = %o", st.Mode&0o7777)
	}
	if to, err := os.Readlink(b.path("link")); err != nil || to != "run.sh" {
		t.Errorf("link = %q, %v", to, err)
	}
	if b.read("run.sh") != "echo b\n" || b.read("hard") != "echo a\n" {
		t.Errorf("files = %q, %q", b.read("run.sh"), b.read("hard"))
	}
}

func TestReadOnlyFilesAreNotReplaced(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	b := setup(t, files.Config{})
	path := b.write("f", "a\n")
	must.Succeed(t, os.Chmod(path, 0o444))
	b.fails(replace(path, "a", "b"), "permission denied")
}

func TestNoTemporaryFilesStay(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "a\n")
	b.ok(replace(path, "a", "b"))
	b.ok(create(b.path("g"), "x"))
	b.fails(create(b.path("g"), "x"), "exists")
	b.fails(replace(path, "zzz", "b"), "")
	entries, err := os.ReadDir(b.dir)
	must.Succeed(t, err)
	if len(entries) != 2 {
		t.Errorf("entries = %v", entries)
	}
}

func TestConcurrentEditsAreAllKept(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "0,1,2,3,4,5,6,7,8,9,")
	var wg sync.WaitGroup
	for i := range 10 {
		digit := string(rune('0' + i))
		wg.Go(func() {
			b.run(replace(path, digit+",", "<"+digit+">"))
		})
	}
	wg.Wait()
	if got := b.read("f"); got != "<0><1><2><3><4><5><6><7><8><9>" {
		t.Errorf("file = %q", got)
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "a\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	action := replace(path, "a", "b")
	obs, err := b.x.Execute(ctx, tool.Call{Action: &action})
	if err != nil || !obs.Result().IsError {
		t.Errorf("%v, %v", obs, err)
	}
	if b.read("f") != "a\n" {
		t.Error("an interrupted edit changed the file")
	}
}

func TestOtherActionsAreAnError(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	if _, err := b.x.Execute(t.Context(), tool.Call{Action: &event.ThinkAction{}}); err == nil {
		t.Error("an action of another tool was accepted")
	}
}
