package executor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// syncDelay is how long a record may stay off the disk. Only a crash of the
// machine makes the difference, and then the journal says "effect unknown" for
// what it does not have. Syncing at once would instead compete with the event
// stream for the disk at the very moment when the stream stores the result.
const syncDelay = 200 * time.Millisecond

// syncer brings a file's data to the disk behind the writers' backs: wakes
// within the delay share one sync. Nothing runs while nothing is written.
type syncer struct {
	kick chan struct{}
	quit chan struct{}
	done chan struct{}
}

func (s *syncer) start(f *os.File, failed func(error)) {
	s.kick = make(chan struct{}, 1)
	s.quit = make(chan struct{})
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for range s.kick {
			select {
			case <-time.After(syncDelay):
			case <-s.quit:
			}
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
	close(s.quit)
	close(s.kick)
	<-s.done
}
