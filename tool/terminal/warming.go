package terminal

import (
	"context"
	"sync"
)

// warming are the warm-ups that are under way, so that whoever closes the
// terminal need not wait for them.
type warming struct {
	mu      sync.Mutex
	stopped bool
	stops   map[*context.CancelFunc]struct{}
}

// begin returns a context that ends with ctx, or when all warm-ups are
// stopped. done must be called.
func (w *warming) begin(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return ctx, cancel // there is nothing to be done, which takes no time
	}
	if w.stops == nil {
		w.stops = map[*context.CancelFunc]struct{}{}
	}
	key := &cancel
	w.stops[key] = struct{}{}
	return ctx, func() {
		w.mu.Lock()
		delete(w.stops, key)
		w.mu.Unlock()
		cancel()
	}
}

// stop ends the warm-ups for ever.
func (w *warming) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for cancel := range w.stops {
		(*cancel)()
	}
}
