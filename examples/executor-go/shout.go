// Package shout is an executor class in Go. Linked into Deft it gives conversations that
// choose it a terminal whose output is in capitals; all other actions run as ever.
//
// # Usage
//
//	deft build --with deft.example/shout=examples/executor-go --source . -o deft-shout
//	./deft-shout run --executor shout "…"
//
// # Concurrency and failure
//
// The kinds of the executor that it wraps.
package shout

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool"
)

func init() {
	build.Register(func(c *build.Classes) { c.Executors["shout"] = newExecutors })
}

// newExecutors wraps the built-in executor of terminal actions.
func newExecutors(c build.ExecutorConfig) (map[string]tool.Executor, error) {
	all, err := build.NewExecutors(c)
	if err != nil {
		return nil, err
	}
	kind := (&event.TerminalAction{}).Kind()
	all[kind] = loud{all[kind]}
	return all, nil
}

type loud struct{ tool.Executor }

// Execute implements [tool.Executor].
func (l loud) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	o, err := l.Executor.Execute(ctx, c)
	if t, ok := o.(*event.TerminalObservation); ok {
		for i := range t.Content {
			t.Content[i].Text = strings.ToUpper(t.Content[i].Text)
		}
	}
	return o, err
}
