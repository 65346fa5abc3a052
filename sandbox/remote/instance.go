package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/tunnel"
)

// Level is the level of isolation that reports name: the API decides about it.
const Level = "remote"

// stopTime bounds the wait for the end of a sandbox that was told to end.
const stopTime = 30 * time.Second

// instance is one start of a sandbox.
type instance struct {
	*life
	p           *Provider
	id, session string
	runtimeID   string
	image       string
	workspace   string
	began       time.Time
	dialer      tunnel.Dialer
	reused      bool
}

// life is shared by all finders of a sandbox.
type life struct {
	done chan struct{}
	once sync.Once

	mu       sync.Mutex
	reason   sandbox.Reason
	paused   bool // by this client
	stopping bool // by this client: its server ends as if by itself
}

func (l *life) ended(why sandbox.Reason) {
	l.once.Do(func() {
		l.mu.Lock()
		if l.stopping && why.Cause == sandbox.CauseUnknown {
			why = sandbox.Reason{Cause: sandbox.CauseKilled, Message: "stopped"}
		}
		l.reason = why
		l.mu.Unlock()
		close(l.done)
	})
}

// removed notes that the Runtime API has the sandbox no more: a caller that asks now for
// vanished sandboxes must not get an answer of a moment ago.
func (in *instance) removed() sandbox.Reason {
	in.p.listed.forget()
	why := sandbox.Reason{Cause: sandbox.CauseRemoved, Message: "the Runtime API has it no more"}
	in.ended(why)
	return why
}

// instance returns the sandbox of a runtime, which it watches, once its server answers.
func (p *Provider) instance(ctx context.Context, id, session string, rt runtime) (*instance, error) {
	p.mu.Lock()
	in := p.live[id]
	p.mu.Unlock()
	d := tunnel.Dialer{URL: rt.URL, Key: rt.SessionKey, Transport: p.o.Transport}
	if in != nil && in.runtimeID == rt.ID && in.dialer.URL == d.URL && in.dialer.Key == d.Key {
		select {
		case <-in.done:
		default:
			return in, nil
		}
	}
	in = &instance{
		life: &life{done: make(chan struct{})}, p: p, id: id, session: session, runtimeID: rt.ID, image: rt.Image, workspace: rt.WorkingDir,
		began: p.startedAt(id), dialer: d,
	}
	var conn net.Conn
	if rt.Status != statusPaused {
		var err error
		if conn, err = in.reach(ctx); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return nil, fault.New(fault.Canceled, "the provider is closed")
	}
	p.live[id] = in
	p.wg.Go(func() { in.watch(p.ctx, conn) })
	return in, nil
}

// reach waits until the server in the runtime answers: the API says that a runtime runs
// before its address leads there.
func (in *instance) reach(ctx context.Context) (net.Conn, error) {
	pause := 20 * time.Millisecond
	for {
		conn, err := in.dialer.Watch(ctx)
		if !fault.Is(err, fault.Unavailable) {
			return conn, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, time.Second)
	}
}

// watch finds out when the sandbox ends. A connection that is lost says little: the API
// knows.
func (in *instance) watch(ctx context.Context, conn net.Conn) {
	pause := 100 * time.Millisecond
	for {
		if conn != nil {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, _ = io.Copy(io.Discard, conn) // nothing comes, but its end
			stop()
			_ = conn.Close()
			conn, pause = nil, 100*time.Millisecond
		}
		if ctx.Err() != nil {
			return
		}
		rt, err := in.p.api.session(ctx, in.session)
		switch {
		case fault.Is(err, fault.NotFound) || err == nil && rt.ID != in.runtimeID:
			in.removed()
		case err == nil && rt.Status != statusRunning && rt.Status != statusPaused:
			in.ended(statusOf(in.id, rt).Reason)
		case err == nil && rt.Status == statusRunning:
			if conn, err = in.dialer.Watch(ctx); err != nil {
				in.p.o.Log.Info("a remote sandbox cannot be watched", "sandbox", in.id, "err", err)
			}
		}
		select {
		case <-in.done:
			return
		default:
		}
		if conn == nil {
			if sleep(ctx, pause) != nil {
				return
			}
			pause = min(2*pause, 30*time.Second)
		}
	}
}

// statusOf is how a runtime is.
func statusOf(id string, rt runtime) sandbox.Status {
	st := sandbox.Status{ID: id, State: sandbox.Ended, Workspace: rt.WorkingDir, Image: rt.Image}
	switch rt.Status {
	case statusRunning, statusStarting:
		st.State = sandbox.Running
	case statusPaused:
		st.State = sandbox.Paused
	default:
		st.Reason = sandbox.Reason{Cause: sandbox.CauseUnknown, Message: cmp.Or(rt.Reason, "the Runtime API says "+rt.Status)}
		if strings.Contains(rt.Reason, "memory") {
			st.Reason.Cause = sandbox.CauseOutOfMemory
		}
	}
	return st
}

// ID implements [sandbox.Sandbox].
func (in *instance) ID() string { return in.id }

// Reused implements [sandbox.Sandbox].
func (in *instance) Reused() bool { return in.reused }

// Done implements [sandbox.Sandbox].
func (in *instance) Done() <-chan struct{} { return in.done }

// Report implements [sandbox.Sandbox].
func (in *instance) Report() sandbox.Report {
	return sandbox.Report{Level: Level, Features: []string{"runtime-api"}, Missing: []sandbox.Missing{
		{Feature: "known-isolation", Reason: "the Runtime API decides on it, and does not tell"},
	}}
}

// Dial implements [sandbox.Sandbox]. A sandbox that the API has paused is resumed. One that
// runs and does not answer, as behind a gateway that has not found it yet, is tried again
// for a bounded time.
func (in *instance) Dial(ctx context.Context) (net.Conn, error) {
	giveUp, pause := time.Now().Add(retryTime), 20*time.Millisecond
	for {
		conn, err := in.dialer.Dial(ctx)
		if !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.NotFound) {
			return conn, err
		}
		if why := in.unanswered(ctx, err); why != nil {
			return nil, why
		}
		if time.Now().After(giveUp) {
			return nil, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, time.Second)
	}
}

// unanswered returns why a sandbox whose server did not answer is not to be tried again:
// nil if it may answer now.
func (in *instance) unanswered(ctx context.Context, err error) error {
	in.mu.Lock()
	paused := in.paused
	in.mu.Unlock()
	rt, serr := in.p.api.session(ctx, in.session)
	switch {
	case fault.Is(serr, fault.NotFound), serr == nil && rt.ID != in.runtimeID:
		return fault.New(fault.Unavailable, "the sandbox was removed").Because(err)
	case serr != nil:
		return errors.Join(err, serr)
	case (rt.Status == statusRunning || rt.Status == statusStarting) && fault.Is(err, fault.Unavailable):
		return nil
	case rt.Status == statusRunning || rt.Status == statusStarting: // another server is there
		return err
	case rt.Status != statusPaused:
		return fault.New(fault.Unavailable, "the sandbox has ended").Because(err)
	case paused:
		return fault.New(fault.Unavailable, "the sandbox is paused").Because(err)
	}
	return in.p.api.change(ctx, "resume", in.runtimeID)
}

// Status implements [sandbox.Sandbox].
func (in *instance) Status(ctx context.Context) (sandbox.Status, error) {
	st := sandbox.Status{ID: in.id, State: sandbox.Ended, Workspace: in.workspace, Image: in.image}
	select {
	case <-in.done:
		in.mu.Lock()
		st.Reason = in.reason
		in.mu.Unlock()
		st.Started = in.began
		return st, nil
	default:
	}
	rt, err := in.p.api.session(ctx, in.session)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && rt.ID != in.runtimeID:
		st.Reason = in.removed()
	case err != nil:
		return sandbox.Status{}, err
	default:
		st = statusOf(in.id, rt)
	}
	st.Started = in.began
	return st, nil
}

// Pause implements [sandbox.Sandbox].
func (in *instance) Pause(ctx context.Context) error { return in.setPaused(ctx, true) }

// Resume implements [sandbox.Sandbox].
func (in *instance) Resume(ctx context.Context) error { return in.setPaused(ctx, false) }

func (in *instance) setPaused(ctx context.Context, paused bool) error {
	what := "resume"
	if paused {
		what = "pause"
	}
	err := in.p.api.change(ctx, what, in.runtimeID)
	if fault.Is(err, fault.Conflict) { // the API keeps runtimes that have ended, for their files
		if st, serr := in.Status(ctx); serr == nil && st.State == sandbox.Ended {
			return fault.New(fault.NotFound, "the sandbox has ended").Because(err)
		}
	}
	if err == nil {
		in.mu.Lock()
		in.paused = paused
		in.mu.Unlock()
	}
	return err
}

// Stats implements [sandbox.Sandbox]: a Runtime API measures nothing.
func (in *instance) Stats(context.Context) (sandbox.Stats, error) {
	return sandbox.Stats{}, fault.New(fault.Unsupported, "a Runtime API does not tell a sandbox's use of resources")
}

// Logs implements [sandbox.Sandbox]: a Runtime API keeps none for clients.
func (in *instance) Logs(context.Context, int64, bool) (io.ReadCloser, error) {
	return nil, fault.New(fault.Unsupported, "a Runtime API does not show the log of a sandbox")
}

// Stop implements [sandbox.Sandbox]: the action server ends, and with it the runtime, whose
// files stay. To stop it by the API would delete them.
func (in *instance) Stop(ctx context.Context) error {
	st, err := in.Status(ctx)
	if err != nil {
		return err
	}
	if st.State == sandbox.Paused {
		if err := in.Resume(ctx); err != nil {
			return err
		}
	}
	if st.State != sandbox.Ended {
		in.mu.Lock()
		in.stopping = true
		in.mu.Unlock()
		if err := in.shutDown(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	select {
	case <-in.done:
		return nil
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Timeout, "wait for the end of the remote sandbox")
	}
}

// shutDown tells the action server to end (runtime/protocol).
func (in *instance) shutDown(ctx context.Context) error {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return in.Dial(ctx) }}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://actions/v1/shutdown", nil)
	if err != nil {
		return err
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "tell the action server to end")
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // it may end before it has answered
	return resp.Body.Close()
}
