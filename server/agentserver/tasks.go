package agentserver

import (
	"context"
	"sync"
)

// tasks are a server's work beside its requests. They are started while it is
// opened.
type tasks struct {
	cancels []context.CancelFunc
	running sync.WaitGroup
}

// start runs one until its context ends, which stop does.
func (t *tasks) start(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancels = append(t.cancels, cancel)
	t.running.Go(func() { run(ctx) })
}

// stop ends all, and waits for that.
func (t *tasks) stop() {
	for _, cancel := range t.cancels {
		cancel()
	}
	t.running.Wait()
}
