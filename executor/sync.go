package executor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// syncDelay is how long a record may be unsynced. That matters only if the machine
// crashes, and then the answer for a missing record is "effect unknown". Syncing
// at once would compete with the event stream for the disk just when the stream
// stores the result.
const syncDelay = 200 * time.Millisecond

// syncer syncs a file in the background: wakes within the delay share one sync.
// Nothing runs while nothing is written.
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

// wake asks for a sync. It must not be called after stop.
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
