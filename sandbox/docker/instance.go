package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
	"github.com/deft-dev/deft/sandbox/internal/logfile"
	"github.com/deft-dev/deft/sandbox/internal/socketpath"
)

// instance is a container as one Provider sees it, with a watcher that waits for
// its end.
type instance struct {
	p      *Provider
	id     string // of the sandbox
	name   string // the engine's id of the container
	status sandbox.Status
	report sandbox.Report
	stop   atomic.Bool   // Stop has removed it
	ended  chan struct{} // closed by the watcher when the container has ended
	reason sandbox.Reason
}

// handle is the result of Start and Get: reused differs per call.
type handle struct {
	*instance
	reused bool
}

var _ sandbox.Sandbox = handle{}

// watch returns the instance of a running container. The first one starts the
// goroutine that waits for its end, which Close ends too.
func (p *Provider) watch(id string, found *container.InspectResponse) (*instance, error) {
	started, err := time.Parse(time.RFC3339Nano, found.State.StartedAt)
	if err != nil {
		return nil, fmt.Errorf("read when container %s started: %w", found.ID, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.New(fault.Canceled, "the sandbox provider is closed")
	}
	if in := p.live[id]; in != nil && in.name == found.ID {
		return in, nil
	}
	in := &instance{
		p: p, id: id, name: found.ID, report: reportOf(found), ended: make(chan struct{}),
		status: sandbox.Status{
			ID: id, State: sandbox.Running, Started: started,
			Workspace: found.Config.Labels[labelWork], Image: found.Config.Labels[labelImage],
		},
	}
	p.live[id] = in
	wait := in.engineWait()
	p.wg.Go(func() { in.wait(wait) })
	return in, nil
}

func (in *instance) engineWait() client.ContainerWaitResult {
	return in.p.engine.ContainerWait(in.p.ctx, in.name, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
}

// Containers may run on while the engine is restarted (its option live-restore).
const (
	engineAway  = time.Minute // until a container counts as ended
	engineRetry = 200 * time.Millisecond
)

// wait returns when the container has ended or the provider is closed.
func (in *instance) wait(w client.ContainerWaitResult) {
	var exit *container.WaitResponse
	var err error
	for exit == nil {
		select {
		case r := <-w.Result:
			exit = &r
			continue
		case err = <-w.Error:
		}
		if in.p.ctx.Err() != nil {
			return
		}
		if !in.runsOn() {
			break
		}
		w = in.engineWait()
	}
	if in.p.ctx.Err() != nil {
		return
	}
	in.p.mu.Lock()
	if in.p.live[in.id] == in {
		delete(in.p.live, in.id)
	}
	in.p.mu.Unlock()
	in.reason = in.reasonOf(exit, err)
	close(in.ended)
}

// runsOn waits until the engine answers, and reports whether the container runs.
func (in *instance) runsOn() bool {
	ctx, cancel := context.WithTimeout(in.p.ctx, engineAway)
	defer cancel()
	for {
		found, err := in.p.engine.ContainerInspect(ctx, in.name, client.ContainerInspectOptions{})
		if err == nil && !found.Container.State.Running || fault.Is(engineError(err, ""), fault.NotFound) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(engineRetry):
		}
		if err == nil {
			return true
		}
	}
}

// reasonOf says why the container has ended, and removes it: its journal and log
// are files of the provider.
func (in *instance) reasonOf(exit *container.WaitResponse, failed error) sandbox.Reason {
	ctx, cancel := context.WithTimeout(in.p.ctx, startTimeout)
	defer cancel()
	found, err := in.p.engine.ContainerInspect(ctx, in.name, client.ContainerInspectOptions{})
	if err = engineError(err, "look at container"); err != nil {
		switch {
		case fault.Is(err, fault.NotFound) && in.stop.Load():
			return sandbox.Reason{Cause: sandbox.CauseKilled, Message: "killed"}
		case fault.Is(err, fault.NotFound):
			return sandbox.Reason{Cause: sandbox.CauseRemoved, Message: "the container was removed"}
		case failed != nil:
			err = failed
		}
		return sandbox.Reason{Cause: sandbox.CauseUnknown, Message: err.Error()}
	}
	const killed = 128 + 9
	switch state := found.Container.State; {
	case state.OOMKilled:
		return sandbox.Reason{Cause: sandbox.CauseOutOfMemory, Message: "it used more memory than its limit allows"}
	case state.ExitCode == killed:
		return sandbox.Reason{Cause: sandbox.CauseKilled, Message: "killed"}
	case exit == nil:
		return sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: state.ExitCode, Message: "it ended while the engine did not answer: " + failed.Error()}
	}
	return sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: int(exit.StatusCode)}
}

// reportOf describes a container's isolation.
func reportOf(found *container.InspectResponse) sandbox.Report {
	h := found.HostConfig
	r := sandbox.Report{Level: Level, Bounds: boundsOf(h), Features: []string{
		"runtime-" + h.Runtime, "user-" + found.Config.User, "capabilities-none", "no-new-privs", "seccomp",
	}}
	if n := sandbox.Network(found.Config.Labels[labelNet]); n.None() {
		r.Features = append(r.Features, "network-none")
	} else {
		r.Features = append(r.Features, "egress-proxy")
	}
	if h.Memory > 0 {
		r.Features = append(r.Features, "cgroup-memory")
	}
	if h.PidsLimit != nil && *h.PidsLimit > 0 {
		r.Features = append(r.Features, "cgroup-pids")
	}
	if h.StorageOpt["size"] != "" {
		r.Features = append(r.Features, "disk-limit")
	}
	if h.ReadonlyRootfs {
		r.Features = append(r.Features, "read-only-image")
	}
	return r
}

// Level is the level of isolation that reports name.
const Level = "container"

// ID implements sandbox.Sandbox.
func (in *instance) ID() string { return in.id }

// Dial implements sandbox.Sandbox.
func (in *instance) Dial(ctx context.Context) (conn net.Conn, err error) {
	return socketpath.Dial(ctx, filepath.Join(in.p.dir(in.id), inside.SocketName))
}

// Report implements sandbox.Sandbox.
func (in *instance) Report() sandbox.Report { return in.report }

// Reused implements sandbox.Sandbox.
func (h handle) Reused() bool { return h.reused }

// Done implements sandbox.Sandbox.
func (in *instance) Done() <-chan struct{} { return in.ended }

// Status implements sandbox.Sandbox.
func (in *instance) Status(ctx context.Context) (sandbox.Status, error) {
	s := in.status
	select {
	case <-in.ended:
		s.State, s.Reason = sandbox.Ended, in.reason
		return s, nil
	default:
	}
	ctx, cancel := in.p.answering(ctx)
	defer cancel()
	found, err := in.p.engine.ContainerInspect(ctx, in.name, client.ContainerInspectOptions{})
	err = engineError(err, "look at container")
	switch {
	case fault.Is(err, fault.NotFound):
		s.State, s.Reason = sandbox.Ended, sandbox.Reason{Cause: sandbox.CauseRemoved}
	case err != nil:
		return s, err
	case !found.Container.State.Running:
		s.State, s.Reason = sandbox.Ended, sandbox.Reason{Cause: sandbox.CauseUnknown}
	case found.Container.State.Paused:
		s.State = sandbox.Paused
	}
	return s, nil
}

// Pause implements sandbox.Sandbox.
func (in *instance) Pause(ctx context.Context) error {
	var err error
	for range freezeAttempts {
		_, err = in.p.engine.ContainerPause(ctx, in.name, client.ContainerPauseOptions{})
		if err == nil || !strings.Contains(err.Error(), "unable to freeze") {
			break
		}
	}
	return in.settled(ctx, engineError(err, "pause container"), sandbox.Paused)
}

// freezeAttempts is how often runc is asked to freeze a container. On version 1 of control
// groups it gives up when processes start all the while, or the machine is busy, and thaws
// the frozen processes.
const freezeAttempts = 4

// Resume implements sandbox.Sandbox.
func (in *instance) Resume(ctx context.Context) error {
	_, err := in.p.engine.ContainerUnpause(ctx, in.name, client.ContainerUnpauseOptions{})
	return in.settled(ctx, engineError(err, "resume container"), sandbox.Running)
}

// settled forgives an error if the container is in the wanted state anyway: the
// engine refuses to pause a paused container.
func (in *instance) settled(ctx context.Context, err error, want sandbox.State) error {
	if err == nil {
		return nil
	}
	s, serr := in.Status(ctx)
	switch {
	case serr != nil:
		return serr
	case s.State == sandbox.Ended:
		return fault.New(fault.NotFound, "sandbox "+in.id+" has ended")
	case s.State == want:
		return nil
	}
	return err
}

// Stats implements sandbox.Sandbox.
func (in *instance) Stats(ctx context.Context) (s sandbox.Stats, err error) {
	r, err := in.p.engine.ContainerStats(ctx, in.name, client.ContainerStatsOptions{})
	if err != nil {
		return s, engineError(err, "measure container")
	}
	defer r.Body.Close()
	var raw container.StatsResponse
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		return s, fmt.Errorf("read what the container uses: %w", err)
	}
	s = sandbox.Stats{
		MemoryBytes: int64(raw.MemoryStats.Usage), CPU: time.Duration(raw.CPUStats.CPUUsage.TotalUsage), Processes: int(raw.PidsStats.Current),
	}
	if s.Processes == 0 {
		return s, fault.New(fault.NotFound, "sandbox "+in.id+" has ended")
	}
	return s, nil
}

// Logs implements sandbox.Sandbox.
func (in *instance) Logs(ctx context.Context, max int64, follow bool) (io.ReadCloser, error) {
	return logfile.Open(ctx, filepath.Join(in.p.dir(in.id), inside.LogName), max, follow, in.ended)
}

// Stop implements sandbox.Sandbox.
func (in *instance) Stop(ctx context.Context) error {
	unlock, err := in.p.lock(ctx, in.id)
	if fault.Is(err, fault.NotFound) { // removed
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	in.stop.Store(true)
	if err := in.p.delete(ctx, in.name); err != nil {
		return err
	}
	select {
	case <-in.ended:
		return nil
	case <-in.p.ctx.Done():
		return fault.New(fault.Canceled, "the sandbox provider is closed")
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Timeout, "sandbox "+in.id+" has not ended yet")
	}
}
