//go:build race

package lockorder

import "testing"

// TestLockOrder panics for a lock that is taken out of order.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	var first, second Mutex[Opening]
	var stored, other Mutex[Configuration]
	first.Lock()
	second.Lock() // of a guest
	stored.Lock()
	for name, lock := range map[string]func(){"an earlier one": func() { new(Mutex[Slot]).Lock() }, "one of the same kind": other.Lock} {
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
	new(Mutex[Slot]).Lock()
}
