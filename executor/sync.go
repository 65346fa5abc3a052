package executor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncer brings a file's data to the disk behind the writers' backs: wakes
// that arrive during one sync share the next.
type syncer struct {
	kick chan struct{}
	done chan struct{}
}

func (s *syncer) start(f *os.File, failed func(error)) {
	s.kick = make(chan struct{}, 1)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for range s.kick {
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				failed(fmt.Errorf("sync the journal: %w", err))
			}
		}
	}()
}

// wake asks for a sync. Not to be called once stop was.
func (s *syncer) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// stop waits for the syncs that were asked for.
func (s *syncer) stop() {
	close(s.kick)
	<-s.done
}
