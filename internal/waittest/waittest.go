// Package waittest waits in tests for the work of other processes, which tell nobody when it
// is done. Work of the test's own process is waited for with channels or testing/synctest.
//
// # Usage
//
//	waittest.Until(t, "the command runs", func() bool { return len(processes("sleep")) > 0 })
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A wait has no limit of its own, because a slow
// machine is no failure: it ends the test shortly before go test would (-timeout), and says
// what it waited for.
package waittest

import (
	"testing"
	"time"
)

// Pauses between two looks: work that is done at once costs no time, and work that takes long
// is not slowed by looks.
const (
	shortest = 2 * time.Millisecond
	longest  = 100 * time.Millisecond
)

// reserve is the time that a test which fails has to clean up and to say why.
const reserve = 20 * time.Second

// looks is how often a thing looks the same before it counts as still.
const looks = 10

// Still returns when look has returned the same ten times in a row. A slow machine can let a
// thing seem still that is not: a test that then finds it unfinished must be right either way.
func Still[T comparable](t *testing.T, what string, look func() T) {
	t.Helper()
	var last T
	same := 0
	Until(t, what, func() bool {
		now := look()
		if now != last {
			last, same = now, 0
		}
		same++
		return same >= looks
	})
}

// Until returns when done reports true. What says what is waited for.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	var ends <-chan time.Time // never, if go test has no limit
	if end, ok := t.Deadline(); ok {
		timer := time.NewTimer(time.Until(end) - reserve)
		defer timer.Stop()
		ends = timer.C
	}
	for pause := shortest; !done(); pause = min(2*pause, longest) {
		select {
		case <-time.After(pause):
		case <-ends:
			t.Fatalf("go test's time is over, waiting for this: %s", what)
		}
	}
}
