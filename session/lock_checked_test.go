//go:build race

package session

import "testing"

// TestLockOrder panics for a lock that is taken out of order.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	var first, second mutex[openingOrder]
	var stored, other mutex[configurationOrder]
	first.Lock()
	second.Lock() // of a guest
	stored.Lock()
	for name, lock := range map[string]func(){"an earlier one": func() { new(mutex[slotOrder]).Lock() }, "one of the same kind": other.Lock} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %s", name)
				}
			}()
			lock()
		}()
	}
	stored.Unlock()
	done := make(chan struct{})
	go func() { // unlocks for another goroutine
		defer close(done)
		second.Unlock()
		first.Unlock()
	}()
	<-done
	new(mutex[slotOrder]).Lock()
}
