package actionserver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

const (
	// reapAfter is how long a zombie must have existed, at least, before it
	// counts as an orphan; at most twice that.
	reapAfter = time.Second
	// killTimeout bounds the killing of processes that tools left behind.
	killTimeout = 2 * time.Second
)

// orphans adopts processes that descendants of this one left behind.
//
// A zombie is either an orphan, which only we can reap, or a child that
// os/exec is about to wait for, whose status must not be taken from it. The
// two look alike, but os/exec waits in a goroutine of its own and is done
// within microseconds. So a zombie is reaped once two checks a second apart
// have found it. Checks happen only after a SIGCHLD and while there are zombies:
// an idle server is never woken.
//
// The alternative, a first process that only reaps and the server as its
// child, would cost each sandbox another process and milliseconds at its
// start.
type orphans struct {
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
}

// OwnProcess does for a process that exists for another server alone the work of
// Options.OwnProcess: it hides its memory and reaps orphans. end kills the remaining
// processes.
func OwnProcess(log *slog.Logger) (end func() error, err error) {
	o, err := ownProcess(log)
	if err != nil {
		return nil, err
	}
	return o.end, nil
}

// ownProcess prepares a process that exists for the server alone.
func ownProcess(log *slog.Logger) (*orphans, error) {
	// Commands run as the same user. Without this they could read the
	// server's memory, environment and descriptors under /proc.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("protect the action server's memory: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &orphans{log: log, cancel: cancel, done: make(chan struct{})}
	go o.reap(ctx)
	return o, nil
}

func (o *orphans) reap(ctx context.Context) {
	defer close(o.done)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	check := time.NewTimer(reapAfter) // orphans may have come before the signal handler
	defer check.Stop()
	armed := true
	var seen map[child]bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			if !armed {
				check.Reset(reapAfter)
				armed = true
			}
		case <-check.C:
			seen = o.reapKnown(seen)
			if armed = len(seen) > 0; armed {
				check.Reset(reapAfter)
			}
		}
	}
}

// reapKnown reaps the zombies that were found before and returns the others.
func (o *orphans) reapKnown(seen map[child]bool) map[child]bool {
	all, err := children()
	if err != nil {
		o.log.Warn("find orphans", "error", err)
		return nil
	}
	fresh := map[child]bool{}
	for c, zombie := range all {
		switch {
		case !zombie:
		case seen[c]:
			// An error means that it has just been reaped elsewhere.
			_, _ = unix.Wait4(c.pid, nil, unix.WNOHANG, nil)
		default:
			fresh[c] = true
		}
	}
	return fresh
}

// end kills the processes that tools left running, and waits for them.
func (o *orphans) end() error {
	o.cancel()
	<-o.done
	killed := make(chan error, 1)
	go func() { killed <- killChildren() }()
	select {
	case err := <-killed:
		return err
	case <-time.After(killTimeout):
		return fault.New(fault.Timeout, "processes that tools left behind cannot be killed")
	}
}

// killChildren kills and reaps until there is no child: the children of killed
// processes become children of this one.
func killChildren() error {
	for {
		all, err := children()
		if err != nil {
			return fmt.Errorf("find processes that tools left behind: %w", err)
		}
		if len(all) == 0 {
			return nil
		}
		for c := range all {
			// Both fail only for a child that has ended.
			_ = unix.Kill(c.pid, unix.SIGKILL)
			_, _ = unix.Wait4(c.pid, nil, 0, nil)
		}
	}
}
