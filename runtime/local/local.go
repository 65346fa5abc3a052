// Package local runs actions in this process: a [runtime.Runtime] over an
// [executor.Executor]. It is for tools that have no effect on a sandbox (finish,
// think, task_tracker), for conversations without a sandbox, and for tests.
//
// # Usage
//
//	x := executor.New(tools, executor.InMemoryRepeatable())
//	rt := local.New(x)
//	defer rt.Close()
//
// # Concurrency and failure
//
// As [executor.Executor]. The runtime owns the executor: Close interrupts running
// actions, waits up to CloseTimeout for them, and closes the tools and the
// journal.
package local

import (
	"context"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/tool"
)

// CloseTimeout is how long Close waits for interrupted actions.
const CloseTimeout = 10 * time.Second

// Runtime is a [runtime.Runtime] in this process. Make one with [New].
type Runtime struct {
	x *executor.Executor

	mu   sync.Mutex
	acks []event.ID // not yet recorded in the journal
}

var (
	_ runtime.Runtime      = (*Runtime)(nil)
	_ runtime.Acknowledger = (*Runtime)(nil)
)

// New returns a Runtime over x, which it owns from now on.
func New(x *executor.Executor) *Runtime { return &Runtime{x: x} }

// Execute implements [runtime.Runtime].
func (r *Runtime) Execute(ctx context.Context, q tool.Request) (event.Observation, error) {
	return r.x.Execute(ctx, q)
}

// Interrupt implements [runtime.Runtime].
func (r *Runtime) Interrupt(_ context.Context, id event.ID) error {
	r.x.Interrupt(id)
	return nil
}

// Ack implements [runtime.Acknowledger]. Ids that the journal fails to record are
// repeated with the next call.
func (r *Runtime) Ack(ids ...event.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acks = append(r.acks, ids...)
	if r.x.Ack(r.acks...) == nil {
		r.acks = nil
	}
}

// Close implements [runtime.Runtime].
func (r *Runtime) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	return r.x.Close(ctx)
}
