//go:build !race

package lockorder

import "sync"

// Mutex is a [sync.Mutex] with a place in the order.
type Mutex[O Place] struct{ sync.Mutex }
