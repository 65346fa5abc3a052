package terminal

import (
	"context"
	"sync"

	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/peragent"
)

// MaxShells is how many shells agents have beside the first one. The one that has not been
// used for longest ends when another is needed, with its programs.
const MaxShells = 16

// NewShells returns the executor of terminal actions of several agents that work in one
// place: each has a shell of its own, by the Agent of the call. It is warmed for the first.
func NewShells(cfg Config) tool.Executor {
	if explain := cfg.Explain; explain != nil {
		var mu sync.Mutex // it is for one caller at a time
		cfg.Explain = func(command, output string, status int, dir string) string {
			mu.Lock()
			defer mu.Unlock()
			return explain(command, output, status, dir)
		}
	}
	return agentShells{peragent.New(MaxShells, func() tool.Executor { return New(cfg) })}
}

type agentShells struct{ *peragent.Executors }

var (
	_ tool.Executor = agentShells{}
	_ tool.Warmer   = agentShells{}
)

// Warm implements [tool.Warmer].
func (s agentShells) Warm(ctx context.Context) error { return s.First.(tool.Warmer).Warm(ctx) }
