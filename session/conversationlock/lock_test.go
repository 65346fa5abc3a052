package conversationlock_test

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/session/locktest"
)

// holder is the environment variable that makes the test binary a process
// that takes a lock, says so, and waits to be killed.
const holder = "DEFT_TEST_LOCK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holder); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	b, err := conversationlock.Open(dir)
	if err == nil {
		_, err = b.Acquire(context.Background(), event.ConversationID(os.Args[1]))
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	time.Sleep(math.MaxInt64) // select {} would be a deadlock, which ends the process
	runtime.KeepAlive(b)
}

func open(t *testing.T, dir string) *conversationlock.Locks {
	t.Helper()
	b, err := conversationlock.Open(dir)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func take(t *testing.T, b *conversationlock.Locks, id event.ConversationID) func() {
	t.Helper()
	release, err := b.Acquire(t.Context(), id)
	must.Succeed(t, err)
	return release
}

func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(t *testing.T) func() session.Lock {
		dir := t.TempDir()
		return func() session.Lock { return open(t, dir) }
	})
}

func TestKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := event.NewConversationID()
	cmd := exec.Command(os.Args[0], string(id))
	cmd.Env = append(os.Environ(), holder+"="+dir)
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	b := open(t, dir)
	if _, err := b.Acquire(t.Context(), id); !errors.Is(err, conversationlock.ErrLocked) {
		t.Errorf("taken beside another process: %v", err)
	}
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	take(t, b, id)
}

func TestBadID(t *testing.T) {
	t.Parallel()
	if _, err := open(t, t.TempDir()).Acquire(t.Context(), "../x"); err == nil || errors.Is(err, conversationlock.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

// TestInheritedLock waits for a lock whose file is about to be closed, as the
// child of a killed process closes it when it starts its program.
func TestInheritedLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := event.NewConversationID()
	one, other := open(t, dir), open(t, dir)
	take(t, one, id)
	closed := make(chan error, 1)
	go func() { closed <- one.Close() }()
	take(t, other, id)
	must.Report(t, <-closed)
}

// TestCanceled does not wait for a lock when the caller has given up.
func TestCanceled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := event.NewConversationID()
	take(t, open(t, dir), id)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, dir).Acquire(ctx, id); !errors.Is(err, conversationlock.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestHeldBadID(t *testing.T) {
	t.Parallel()
	if _, err := open(t, t.TempDir()).Held("no id"); err == nil {
		t.Error("no error for what is no id")
	}
}
