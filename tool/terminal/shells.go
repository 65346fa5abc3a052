package terminal

import (
	"context"
	"errors"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// MaxShells is how many shells agents have beside the first one. The one that has not been
// used for longest ends when another is needed, with its programs.
const MaxShells = 16

// NewShells returns the executor of terminal actions of several agents that work in one
// place: each has a shell of its own, by the Agent of the call. It is warmed for the first.
func NewShells(cfg Config) tool.Executor {
	if explain := cfg.Explain; explain != nil {
		var mu sync.Mutex // it is for one caller at a time
		cfg.Explain = func(output string, status int, dir string) string {
			mu.Lock()
			defer mu.Unlock()
			return explain(output, status, dir)
		}
	}
	return &agentShells{cfg: cfg, Executor: New(cfg)}
}

type agentShells struct {
	tool.Executor // of calls that name no agent
	cfg           Config

	mu     sync.Mutex
	others []*agentShell // the one used last is the last
}

// agentShell is the shell of one agent.
type agentShell struct {
	tool.Executor
	agent string
	calls int // that run or wait
}

var (
	_ tool.Executor = (*agentShells)(nil)
	_ tool.Warmer   = (*agentShells)(nil)
)

// Warm implements [tool.Warmer].
func (s *agentShells) Warm(ctx context.Context) error { return s.Executor.(tool.Warmer).Warm(ctx) }

// Execute implements [tool.Executor].
func (s *agentShells) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	if c.Agent == "" {
		return s.Executor.Execute(ctx, c)
	}
	own, unused := s.take(c.Agent)
	defer s.put(own)
	var errs []error
	for _, x := range unused {
		errs = append(errs, x.Close())
	}
	obs, err := own.Execute(ctx, c)
	return obs, errors.Join(append(errs, err)...)
}

// take returns the shell of an agent, and those that are to end because of it.
func (s *agentShells) take(agent string) (own *agentShell, unused []*agentShell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*agentShell
	for _, x := range s.others {
		if x.agent == agent {
			own = x
		} else {
			kept = append(kept, x)
		}
	}
	if own == nil {
		own = &agentShell{Executor: New(s.cfg), agent: agent}
	}
	own.calls++
	s.others = nil
	for i, x := range kept {
		if x.calls == 0 && len(kept)-i >= MaxShells {
			unused = append(unused, x)
		} else {
			s.others = append(s.others, x)
		}
	}
	s.others = append(s.others, own)
	return own, unused
}

func (s *agentShells) put(x *agentShell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.calls--
}

// Close implements [tool.Executor].
func (s *agentShells) Close() error {
	s.mu.Lock()
	others := s.others
	s.mu.Unlock()
	errs := []error{s.Executor.Close()}
	for _, x := range others {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
