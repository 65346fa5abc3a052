// Package locktest is the conformance suite of locks, for every implementation of
// [session.Lock].
//
// # Usage
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) func() session.Lock { … })
//	}
//
// # Concurrency and failure
//
// The tests run in parallel. They report through t only.
package locktest

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// Run runs the suite. set returns a function that opens locks of one set, each as
// another process does. The suite closes the locks that it opens.
func Run(t *testing.T, set func(t *testing.T) (open func() session.Lock)) {
	for name, test := range map[string]func(*testing.T, func() session.Lock){
		"OneAtATime":    testOneAtATime,
		"CloseReleases": testCloseReleases,
		"Held":          testHeld,
		"ManyAtOnce":    testManyAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := set(t)
			test(t, func() session.Lock {
				l := open()
				t.Cleanup(func() { _ = l.Close() }) // some tests close it
				return l
			})
		})
	}
}

func acquire(t *testing.T, l session.Lock, id event.ConversationID) func() {
	t.Helper()
	release, err := l.Acquire(t.Context(), id)
	must.Succeed(t, err)
	return release
}

func testOneAtATime(t *testing.T, open func() session.Lock) {
	one, other := open(), open()
	id, second := event.NewConversationID(), event.NewConversationID()
	release := acquire(t, one, id)
	for name, l := range map[string]session.Lock{"the same process": one, "another process": other} {
		if _, err := l.Acquire(t.Context(), id); !fault.Is(err, fault.Conflict) {
			t.Errorf("acquired twice, by %s: %v", name, err)
		}
	}
	acquire(t, other, second)()
	release()
	release() // releases nothing any more
	again := acquire(t, other, id)
	release()
	if _, err := one.Acquire(t.Context(), id); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second release released the lock of another: %v", err)
	}
	again()
	acquire(t, one, id)()
}

func testCloseReleases(t *testing.T, open func() session.Lock) {
	one, other := open(), open()
	id := event.NewConversationID()
	acquire(t, one, id)
	must.Succeed(t, one.Close())
	acquire(t, other, id)
}

func testHeld(t *testing.T, open func() session.Lock) {
	one, other := open(), open()
	id := event.NewConversationID()
	check := func(when string, want bool) {
		t.Helper()
		for name, l := range map[string]session.Lock{"its own": one, "another": other} {
			if held, err := l.Held(id); held != want || err != nil {
				t.Errorf("%s: %s process says %v, %v", when, name, held, err)
			}
		}
	}
	check("before", false)
	release := acquire(t, one, id)
	check("while it is locked", true)
	release()
	check("after", false)
}

// testManyAtOnce has several goroutines of two processes compete for some locks.
func testManyAtOnce(t *testing.T, open func() session.Lock) {
	const conversations, rounds = 3, 20
	locks := []session.Lock{open(), open()}
	var ids []event.ConversationID
	working := make([]chan struct{}, conversations)
	for i := range conversations {
		ids = append(ids, event.NewConversationID())
		working[i] = make(chan struct{}, 1)
	}
	done := make(chan int)
	for w := range 4 {
		go func() {
			n := 0
			for i := range rounds {
				c := (w + i) % conversations
				release, err := locks[w%2].Acquire(t.Context(), ids[c])
				if fault.Is(err, fault.Conflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					break
				}
				select {
				case working[c] <- struct{}{}:
					n++
					<-working[c]
				default:
					t.Error("two work on one conversation")
				}
				release()
			}
			done <- n
		}()
	}
	all := 0
	for range 4 {
		all += <-done
	}
	if all == 0 {
		t.Error("no lock was ever acquired")
	}
}
