package terminal

import "github.com/deft-dev/deft/tool"

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
