package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system of a size, as mount(8) writes it. The test is
// skipped where this process may not, but not in CI as root.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("deft-test", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("CI") == "true" && os.Getuid() == 0 {
			t.Fatalf("root cannot mount a small file system: %v", err)
		}
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { must.Report(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// growDisk makes a small disk larger.
func growDisk(t *testing.T, dir, size string) {
	t.Helper()
	must.Succeed(t, unix.Mount("deft-test", dir, "tmpfs", unix.MS_REMOUNT, "size="+size))
}

// TestDiskFull fills a file system of its own. Where this process may not
// mount one, TestFileTooLarge stands in for it.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t, "1m")
	s := open(t, dir)
	id := newConversation(t, s)
	stored := appendUntilFull(t, s, id)
	if stored == 0 {
		t.Fatal("the disk was full from the start")
	}
	checkIntact(t, s, id, stored)

	// A request that does not fit does not take a smaller one with it, and
	// once there is space all goes on.
	growDisk(t, dir, "8m")
	for range 20 {
		if _, err := s.Append(t.Context(), id, bigMessage()); err != nil {
			t.Fatalf("append with space again: %v", err)
		}
		stored++
	}
	checkIntact(t, s, id, stored)
	must.Succeed(t, s.Close())
	checkIntact(t, open(t, dir), id, stored)
}

func bigMessage() event.Event { return event.NewUserMessage(strings.Repeat("x", 10_000)) }

func appendUntilFull(t testing.TB, s eventstream.Stream, id event.ConversationID) (stored int) {
	t.Helper()
	for range 1000 {
		_, err := s.Append(context.Background(), id, bigMessage())
		if err == nil {
			stored++
			continue
		}
		if !fault.Is(err, fault.Full) || fault.HintOf(err) == "" {
			t.Fatalf("got %v of kind %s, want %s with a hint", err, fault.KindOf(err), fault.Full)
		}
		return stored
	}
	t.Fatal("the disk never filled")
	return 0
}

func checkIntact(t testing.TB, s eventstream.Stream, id event.ConversationID, want int) {
	t.Helper()
	n := 0
	for r, err := range s.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		if n++; int(r.Seq) != n {
			t.Fatalf("got event %d at position %d", r.Seq, n)
		}
	}
	info, err := s.Info(t.Context(), id)
	if err != nil || n != want || int(info.Events) != want {
		t.Fatalf("read %d events, Info has %d (%v), want %d", n, info.Events, err, want)
	}
}

// TestFileTooLarge runs into a limit on the size of files, in a process of
// its own.
func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id := newConversation(t, s)
	must.Succeed(t, s.Close())
	out, err := command(t, "fill", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "full, still readable: ") {
		t.Fatalf("the child says %v: %s", err, out)
	}
	var stored int
	if _, err := fmt.Sscanf(string(out), "full, still readable: %d", &stored); err != nil {
		t.Fatal(err)
	}
	checkIntact(t, open(t, dir), id, stored)
}

// fillDisk is the child of TestFileTooLarge. Its result is its message.
func fillDisk(dir string) error {
	limit := unix.Rlimit{Cur: 500_000, Max: 500_000}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	page, err := s.List(context.Background(), eventstream.ListQuery{})
	if err != nil {
		return err
	}
	id := page.Infos[0].ID
	stored := 0
	for {
		if _, err = s.Append(context.Background(), id, bigMessage()); err != nil {
			break
		}
		stored++
	}
	if !fault.Is(err, fault.Full) {
		return fmt.Errorf("kind %s: %w", fault.KindOf(err), err)
	}
	n := 0
	for _, err := range s.Read(context.Background(), id, 1) {
		if err != nil {
			return err
		}
		n++
	}
	if n != stored {
		return fmt.Errorf("stored %d, read %d", stored, n)
	}
	// Left open, as after a crash.
	return fmt.Errorf("full, still readable: %d", n)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(dir string) error
		want    fault.Kind
	}{
		"text": {func(dir string) error {
			return os.WriteFile(dir+"/events.db", []byte("hello, I am a text file"), 0o600)
		}, fault.Corrupt},
		"empty":     {func(dir string) error { return os.WriteFile(dir+"/events.db", nil, 0o600) }, fault.Corrupt},
		"lost":      {func(dir string) error { return os.WriteFile(dir+"/events.db-wal", []byte("x"), 0o600) }, fault.Corrupt},
		"directory": {func(dir string) error { return os.Mkdir(dir+"/events.db", 0o700) }, fault.Corrupt},
		"older":     {func(dir string) error { return execSQL(dir, "PRAGMA user_version = 6") }, fault.Unsupported},
		"newer":     {func(dir string) error { return execSQL(dir, "PRAGMA user_version = 99") }, fault.Unsupported},
		"foreign":   {func(dir string) error { return execSQL(dir, "PRAGMA user_version = 0") }, fault.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must.Succeed(t, tc.prepare(dir))
			s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			if err == nil {
				err = errors.Join(errors.New("it opened"), s.Close())
			}
			if !fault.Is(err, tc.want) || fault.HintOf(err) == "" {
				t.Fatalf("got %v of kind %s (hint %q), want %s", err, fault.KindOf(err), fault.HintOf(err), tc.want)
			}
		})
	}
	t.Run("denied", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may read everything")
		}
		dir := t.TempDir() + "/none"
		must.Succeed(t, os.Mkdir(dir, 0))
		_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if !fault.Is(err, fault.Denied) {
			t.Fatalf("got %v of kind %s", err, fault.KindOf(err))
		}
	})
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/a/b"
	s := open(t, dir)
	newConversation(t, s)
	for name, want := range map[string]os.FileMode{"": 0o700, "/events.db": 0o600, "/events.db-wal": 0o600, "/events.lock": 0o600} {
		st, err := os.Stat(dir + name)
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%q has mode %v (%v), want %v", name, st.Mode(), err, want)
		}
	}
}
