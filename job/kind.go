package job

import (
	"cmp"
	"context"
	"time"
)

// Kind describes a kind of jobs to an [Engine].
type Kind struct {
	// Name is stored with each job.
	Name string
	// Attempts is how often a job is run that fails with [Again]: 1 if 0, without a bound
	// if negative.
	Attempts int
	// Pause is the pause after a first failure (1 s). It doubles with each further one, up
	// to MaxPause (5 min).
	Pause, MaxPause time.Duration
	// AtOnce bounds the runs at one time on one server; 0 for no bound.
	AtOnce int
	// EndsWithServer makes a job fail whose server has ended, instead of being run by the
	// next one: for an effect that must not be repeated.
	EndsWithServer bool
	Handler        Handler
}

// Handler does the jobs of a kind.
type Handler interface {
	// Run does the remaining work of a job, until ctx ends. The result decides about the job:
	// nil ends it as Done, [ErrPark] parks it, [Again] leads to another run, any other error
	// ends it as Failed. When ctx ends because the server closes, the job continues
	// elsewhere, whatever Run returns; [ErrCancelled] is the cause when the job is cancelled.
	Run(ctx context.Context, r *Run) error
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, r *Run) error

// Run implements [Handler].
func (f HandlerFunc) Run(ctx context.Context, r *Run) error { return f(ctx, r) }

// Defaults of [Kind].
const (
	defaultPause    = time.Second
	defaultMaxPause = 5 * time.Minute
)

// kind is a registered kind with its defaults.
type kind struct {
	Kind
	busy chan struct{} // has a token for each run; nil for no bound
}

func newKind(k Kind) *kind {
	k.Attempts = cmp.Or(k.Attempts, 1)
	k.Pause = cmp.Or(k.Pause, defaultPause)
	if k.MaxPause == 0 {
		k.MaxPause = max(k.Pause, defaultMaxPause)
	}
	out := &kind{Kind: k}
	if k.AtOnce > 0 {
		out.busy = make(chan struct{}, k.AtOnce)
	}
	return out
}

// last reports whether no attempt is left after some failures.
func (k *kind) last(failures int) bool { return k.Attempts > 0 && failures >= k.Attempts }

// pause is the pause after some failures in a row.
func (k *kind) pause(failures int) time.Duration {
	d := k.Pause
	for i := 1; i < failures && d < k.MaxPause; i++ {
		d *= 2
	}
	return min(d, k.MaxPause)
}

// begin waits for a permit to run. end returns it.
func (k *kind) begin(ctx context.Context) (end func(), err error) {
	if k.busy == nil {
		return func() {}, ctx.Err()
	}
	select {
	case k.busy <- struct{}{}:
		return func() { <-k.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
