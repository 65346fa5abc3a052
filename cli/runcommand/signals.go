package runcommand

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// stopSignals ask a run to stop: Ctrl-C, the end of the session, a manager.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// active are the stop signals that the parent did not set to be ignored. It is asked
// for when the process starts: a terminal takes the others later, for its programs.
var active = slices.DeleteFunc(slices.Clone(stopSignals), signal.Ignored)

// ActiveSignals returns the signals that ask a process to stop, without those
// that its parent has set to be ignored, as nohup and background jobs of scripts
// do. An empty list must not be passed to signal.Notify, which would take all.
func ActiveSignals() []os.Signal { return slices.Clone(active) }

// catchSignals makes the first signal pause the run, the second interrupt actions
// in the sandbox, and the third leave at once.
func (r *runner) catchSignals(ctx context.Context, leave func()) (stop func()) {
	signals := make(chan os.Signal, 3)
	if len(active) > 0 {
		signal.Notify(signals, active...)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { r.followSignals(ctx, signals, done, leave) })
	return func() {
		r.mu.Lock()
		if r.signalled { // a terminal that was closed may send more of them until the process has ended
			signal.Ignore(syscall.SIGHUP)
		}
		r.mu.Unlock()
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}

// followSignals acts on signals until done is closed. A terminal that is closed may send SIGHUP
// several times: all of them only pause, so that a running command ends by itself.
func (r *runner) followSignals(ctx context.Context, signals <-chan os.Signal, done <-chan struct{}, leave func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	pausing := false
	for n := 1; ; n++ {
		var sig os.Signal
		select {
		case <-done:
			return
		case sig = <-signals:
		}
		r.mu.Lock()
		r.signalled = true
		r.mu.Unlock()
		if sig == syscall.SIGHUP {
			n--
			if pausing || n > 0 {
				continue
			}
			pausing = true
			wg.Go(func() { r.stop(ctx, r.c.Pause) })
			continue
		}
		switch n {
		case 1:
			if r.view.asksModel() {
				r.view.Warn("pausing")
			} else {
				r.view.Warn("pausing; a running command ends first (Ctrl-C again stops it)")
			}
			wg.Go(func() { r.stop(ctx, r.c.Pause) })
		case 2:
			r.view.Warn("stopping the running command (Ctrl-C again leaves at once)")
			wg.Go(func() { r.stop(ctx, r.c.Interrupt) })
		default:
			leave()
		}
	}
}

// told reports whether the user has asked to stop.
func (r *runner) told() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signalled
}

// stop stops the run, and keeps another from beginning.
func (r *runner) stop(ctx context.Context, how func(context.Context) error) {
	r.mu.Lock()
	r.stopping = true
	running := r.running
	r.mu.Unlock()
	r.endPrompt()
	if !running {
		return
	}
	if err := how(ctx); err != nil && ctx.Err() == nil {
		r.view.Warn("the run could not be stopped: " + err.Error())
	}
}

// UntilTold returns a context that ends with the first stop signal. From then
// on the next one ends the process.
func UntilTold(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	wanted := ActiveSignals()
	if len(wanted) == 0 { // none would mean all
		return context.WithCancel(ctx)
	}
	ctx, stop = signal.NotifyContext(ctx, wanted...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Exit is an exit code that has been explained to the user already.
type Exit int

// Error implements error.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitOf returns the Exit of a run that ended with a status and with the code of
// the last error event; nil for success.
func exitOf(status state.Status, code string) error {
	switch status {
	case state.Finished, state.Idle:
		return nil
	case state.Stuck:
		return Exit(fault.ExitStuck)
	case state.Paused, state.Confirming:
		return Exit(fault.ExitInterrupted)
	}
	switch code {
	case "MaxIterationsReached", "MaxBudgetReached":
		return Exit(fault.ExitLimit)
	case "LLMAuthenticationError", "LLMQuotaError", "LLMContentPolicyViolationError":
		return Exit(fault.ExitRefused)
	case "LLMServiceUnavailableError", "LLMTimeoutError", "LLMRateLimitError":
		return Exit(fault.ExitUnavailable)
	case "StorageFull", "StorageCorrupt":
		return Exit(fault.ExitStorage)
	}
	return Exit(fault.ExitError)
}
