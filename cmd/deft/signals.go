package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// stopSignals ask a run to stop: Ctrl-C, the end of the session, a manager.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// heeded are the stop signals that were not set to be ignored by whoever
// started this process, as nohup and background jobs of scripts do.
func heeded() []os.Signal {
	var out []os.Signal
	for _, s := range stopSignals {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

// untilTold returns a context that ends with the first stop signal. From then
// on the next one ends the process.
func untilTold(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	wanted := heeded()
	if len(wanted) == 0 { // none would mean all
		return context.WithCancel(ctx)
	}
	ctx, stop = signal.NotifyContext(ctx, wanted...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// onSignals makes the first signal pause the run, the second interrupt what
// runs in the sandbox, and the third leave at once.
func (j *job) onSignals(ctx context.Context, leave func()) (stop func()) {
	signals := make(chan os.Signal, 3)
	if wanted := heeded(); len(wanted) > 0 { // none would mean all
		signal.Notify(signals, wanted...)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			j.stopping.Store(true)
			switch n {
			case 1:
				j.view.warn("pausing; a running command ends first (Ctrl-C again stops it)")
				j.session.Pause()
			case 2:
				j.view.warn("stopping the running command (Ctrl-C again leaves at once)")
				wg.Go(func() {
					if _, err := j.session.Interrupt(ctx); err != nil && ctx.Err() == nil {
						j.view.warn("the command could not be stopped: " + err.Error())
					}
				})
			default:
				leave()
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}
