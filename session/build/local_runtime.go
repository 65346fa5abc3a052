package build

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/tool"
)

// besideRuntime runs the tools that run beside the controller. Those without an
// effect outside of this process (finish, think, the task list) are run again if
// a process before this one may have begun them; the others, such as MCP's, are
// not: their actions end as interrupted.
type besideRuntime struct {
	pure, effects *local.Runtime
	kinds         map[string]bool // of actions without an effect
}

var (
	_ runtime.Runtime      = (*besideRuntime)(nil)
	_ runtime.Acknowledger = (*besideRuntime)(nil)
)

// newBesideRuntime returns the runtime of executors by kind of action.
func newBesideRuntime(execs map[string]tool.Executor) *besideRuntime {
	pure, effects := map[string]tool.Executor{}, map[string]tool.Executor{}
	r := &besideRuntime{kinds: map[string]bool{}}
	for kind := range localTools(nil) {
		r.kinds[kind] = true
	}
	for kind, x := range execs {
		if r.kinds[kind] {
			pure[kind] = x
		} else {
			effects[kind] = x
		}
	}
	r.pure = local.New(executor.New(pure, executor.InMemoryRepeatable()))
	r.effects = local.New(executor.New(effects, executor.InMemory()))
	return r
}

// Execute implements [runtime.Runtime].
func (r *besideRuntime) Execute(ctx context.Context, q tool.Request) (event.Observation, error) {
	if q.Action != nil && r.kinds[q.Action.Kind()] {
		return r.pure.Execute(ctx, q)
	}
	return r.effects.Execute(ctx, q)
}

// Interrupt implements [runtime.Runtime].
func (r *besideRuntime) Interrupt(ctx context.Context, id event.ID) error {
	return errors.Join(r.pure.Interrupt(ctx, id), r.effects.Interrupt(ctx, id))
}

// Ack implements [runtime.Acknowledger].
func (r *besideRuntime) Ack(ids ...event.ID) {
	r.pure.Ack(ids...)
	r.effects.Ack(ids...)
}

// Close implements [runtime.Runtime].
func (r *besideRuntime) Close() error { return errors.Join(r.pure.Close(), r.effects.Close()) }
