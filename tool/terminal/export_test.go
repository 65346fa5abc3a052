package terminal

import (
	"context"

	"github.com/deft-dev/deft/tool"
)

// WaitIdle returns when nothing runs in the terminal.
func WaitIdle(x tool.Executor) {
	s := x.(*executor).session
	for !s.idle() {
		<-s.wake
	}
}

// WaitDead returns when the shell has ended.
func WaitDead(x tool.Executor) {
	s := x.(*executor).session
	for s.alive() {
		<-s.wake
	}
}

// Turn takes one of the turns of a Starter.
func Turn(ctx context.Context, s *Starter) (leave func(), err error) { return s.inner().Turn(ctx) }
