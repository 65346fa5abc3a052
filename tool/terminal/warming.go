package terminal

import (
	"context"
	"sync"
)

// warming holds the warm-ups that are under way, so that closing the terminal
// need not wait for them.
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
		return ctx, cancel // the terminal is closed: a warm-up finds that out by itself
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

// stop ends all warm-ups and prevents new ones.
func (w *warming) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for cancel := range w.stops {
		(*cancel)()
	}
}
