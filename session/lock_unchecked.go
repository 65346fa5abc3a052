//go:build !race

package session

import "sync"

// mutex is a [sync.Mutex] with a place in the order of locks.
type mutex[O order] struct{ sync.Mutex }
