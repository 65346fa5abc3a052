package lease_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lease"
)

// holder is the environment variable that makes the test binary a process
// that takes a lease, says so, and waits to be killed.
const holder = "DEFT_TEST_LEASE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holder); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	b, err := lease.Open(dir)
	if err == nil {
		_, err = b.Take(event.ConversationID(os.Args[1]))
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	select {}
}

func open(t *testing.T, dir string) *lease.Book {
	t.Helper()
	b, err := lease.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func take(t *testing.T, b *lease.Book, id event.ConversationID) func() {
	t.Helper()
	release, err := b.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := open(t, dir), open(t, dir)
	id, second := event.NewConversationID(), event.NewConversationID()
	release := take(t, one, id)
	for name, b := range map[string]*lease.Book{"the same book": one, "another book": other} {
		if _, err := b.Take(id); !errors.Is(err, lease.ErrHeld) {
			t.Errorf("taken twice, by %s: %v", name, err)
		}
	}
	take(t, other, second)()
	release()
	release() // has nothing to give back any more
	again := take(t, other, id)
	if _, err := one.Take(id); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("a second release gave back the lease of another: %v", err)
	}
	again()
}

func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := event.NewConversationID()
	one := open(t, dir)
	take(t, one, id)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	take(t, open(t, dir), id)
}

func TestKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := event.NewConversationID()
	cmd := exec.Command(os.Args[0], string(id))
	cmd.Env = append(os.Environ(), holder+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	b := open(t, dir)
	if _, err := b.Take(id); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("taken beside another process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	take(t, b, id)
}

func TestBadID(t *testing.T) {
	t.Parallel()
	if _, err := open(t, t.TempDir()).Take("../x"); err == nil || errors.Is(err, lease.ErrHeld) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkTake(b *testing.B) {
	book, err := lease.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer book.Close()
	for range 1000 { // so many conversations are at work
		if _, err := book.Take(event.NewConversationID()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		release, err := book.Take(event.NewConversationID())
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
