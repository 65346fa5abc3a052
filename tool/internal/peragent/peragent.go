// Package peragent gives each of several agents that work in one place an executor of its own,
// such as a shell.
//
// # Usage
//
//	all := peragent.New(16, func() tool.Executor { return newShell() })
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Errors come from the executors.
package peragent

import (
	"context"
	"errors"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Executors hand each call to the executor of its agent. Make them with [New].
type Executors struct {
	First tool.Executor // of calls that name no agent
	most  int
	open  func() tool.Executor

	mu     sync.Mutex
	others []*own // the one used last is the last
}

// own is the executor of one agent.
type own struct {
	tool.Executor
	agent string
	calls int // that run or wait
}

// New returns executors made by open. At most so many exist beside the first one: the executor that
// has not been used for longest ends when another is needed.
func New(most int, open func() tool.Executor) *Executors {
	return &Executors{First: open(), most: most, open: open}
}

// Execute implements [tool.Executor].
func (s *Executors) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	if c.Agent == "" {
		return s.First.Execute(ctx, c)
	}
	x, unused := s.take(c.Agent)
	defer s.put(x)
	var errs []error
	for _, other := range unused {
		errs = append(errs, other.Close())
	}
	obs, err := x.Execute(ctx, c)
	return obs, errors.Join(append(errs, err)...)
}

// take returns the executor of an agent, and the ones that are to end because of it.
func (s *Executors) take(agent string) (x *own, unused []*own) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*own
	for _, other := range s.others {
		if other.agent == agent {
			x = other
		} else {
			kept = append(kept, other)
		}
	}
	if x == nil {
		x = &own{Executor: s.open(), agent: agent}
	}
	x.calls++
	s.others = nil
	for i, other := range kept {
		if other.calls == 0 && len(kept)-i >= s.most {
			unused = append(unused, other)
		} else {
			s.others = append(s.others, other)
		}
	}
	s.others = append(s.others, x)
	return x, unused
}

func (s *Executors) put(x *own) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.calls--
}

// Close implements [tool.Executor].
func (s *Executors) Close() error {
	s.mu.Lock()
	others := s.others
	s.mu.Unlock()
	errs := []error{s.First.Close()}
	for _, x := range others {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
