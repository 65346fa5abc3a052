//go:build race

package lockorder

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// Mutex is a [sync.Mutex] that panics if it is locked out of order.
type Mutex[O Place] struct {
	mu    sync.Mutex
	owner int64 // the goroutine that has locked it
}

// held are the places of the locks that each goroutine holds.
var held = struct {
	sync.Mutex
	by map[int64][]int
}{by: map[int64][]int{}}

// Lock locks the mutex.
func (m *Mutex[O]) Lock() {
	var o O
	me := goroutine()
	held.Lock()
	mine := slices.Clone(held.by[me])
	held.Unlock()
	for _, place := range mine {
		// Slots of a child and its parent, and workers of a host and its guests, are
		// locked together.
		if place > o.place() || place == o.place() && o.place() > (Opening{}).place() {
			panic(fmt.Sprintf("lock %d is taken while lock %d is held; see package session/internal/lockorder", o.place(), place))
		}
	}
	m.mu.Lock()
	held.Lock()
	m.owner = me
	held.by[me] = append(held.by[me], o.place())
	held.Unlock()
}

// Unlock unlocks the mutex, which another goroutine may have locked.
func (m *Mutex[O]) Unlock() {
	var o O
	held.Lock()
	mine := held.by[m.owner]
	if i := slices.Index(mine, o.place()); i >= 0 {
		mine = slices.Delete(mine, i, i+1)
	}
	if len(mine) == 0 {
		delete(held.by, m.owner)
	} else {
		held.by[m.owner] = mine
	}
	held.Unlock()
	m.mu.Unlock()
}

// goroutine returns the number of the calling goroutine.
func goroutine() int64 {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("goroutine ")), []byte(" "))
	id, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("no goroutine in %q", line))
	}
	return id
}
