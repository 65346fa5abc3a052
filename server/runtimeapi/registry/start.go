package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/bootstrap"
)

// Start returns the runtime of a session, and starts or resumes it. One that still starts
// after 20 seconds is returned as it is, and its start goes on.
func (r *Registry) Start(ctx context.Context, q Request) (Runtime, error) {
	began := time.Now()
	if err := checkNames(q); err != nil {
		return Runtime{}, err
	}
	c, err := r.class(&q)
	if err != nil {
		return Runtime{}, err
	}
	if q.Command, err = q.Command.inEnvironment(q.Environment); err != nil {
		return Runtime{}, err
	}
	if q.SessionID == "" {
		q.SessionID = newID()
	}
	for {
		e, err := r.find(ctx, q, c)
		if err != nil {
			return Runtime{}, err
		}
		wait, cancel := context.WithTimeout(ctx, startWait)
		taken := e.take(wait)
		cancel()
		if !taken {
			if ctx.Err() != nil {
				return Runtime{}, fault.Wrap(context.Cause(ctx), fault.Canceled, "start a runtime")
			}
			return e.snapshot(), nil
		}
		e.mu.Lock()
		gone := e.gone
		e.mu.Unlock()
		if gone { // it was stopped meanwhile
			e.release()
			continue
		}
		return r.begin(ctx, e, q, c, began)
	}
}

// begin starts the runtime if it does not run, and waits for a while. It gives the turn
// back.
func (r *Registry) begin(ctx context.Context, e *entry, q Request, c class, began time.Time) (Runtime, error) {
	if rt := e.snapshot(); rt.Digest != digest(q, c) && rt.State != Stopped {
		e.release()
		return Runtime{}, fault.New(fault.Conflict, "the session "+q.SessionID+" has a runtime with another image, command or resources").Hint("stop it first")
	}
	done := make(chan error, 1)
	start, cancel := context.WithTimeout(r.ctx, startTime)
	e.setCancel(cancel)
	r.wg.Go(func() { // also if the client gives up: it comes back for it
		defer e.release()
		defer r.pool.Hold()()
		defer cancel()
		defer e.setCancel(nil)
		err := r.run(start, e, q, c, began)
		if err != nil && errors.Is(start.Err(), context.Canceled) {
			r.o.Log.Info("a start has ended, since the runtime was stopped", "session", q.SessionID, "err", err)
			err = fault.New(fault.Conflict, "the runtime was stopped while it started").Hint("start its session again")
		}
		done <- err
	})
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return e.snapshot(), err
	case <-timer.C:
		e.leave()
		return e.snapshot(), nil
	case <-ctx.Done():
		e.leave()
		return Runtime{}, fault.Wrap(context.Cause(ctx), fault.Canceled, "start a runtime")
	}
}

// leave records that nobody waits for the end of a start: if it fails, the reason has to be
// found later.
func (e *entry) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unseen = true
}

func (e *entry) setCancel(cancel func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = cancel
}

// run makes a runtime run. The caller holds its turn.
func (r *Registry) run(ctx context.Context, e *entry, q Request, c class, began time.Time) error {
	e.mu.Lock()
	e.unseen = false
	e.mu.Unlock()
	switch rt := e.snapshot(); rt.State {
	case Running:
		return nil
	case Paused:
		return r.resume(ctx, e)
	case Stopped:
		if err := r.update(ctx, e, func(rt *Runtime) error {
			rt.Restarts, rt.Reasons = rt.Restarts+1, append(slices.Clone(rt.Reasons), rt.Reason)
			rt.Reasons = rt.Reasons[max(0, len(rt.Reasons)-10):]
			rt.State, rt.Reason, rt.Digest, rt.Image, rt.Port = Starting, "", digest(q, c), q.Image, q.Command.Port
			rt.Given = q.Command.Given
			return r.open(rt)
		}); err != nil {
			return err
		}
	}
	s, ready, err := r.launch(ctx, e, q, c)
	if err != nil {
		return r.notStarted(e, err)
	}
	err = r.update(ctx, e, func(rt *Runtime) error {
		rt.State, rt.WorkingDir = Running, ready.Dir
		return nil
	})
	if err != nil {
		return r.notStarted(e, err)
	}
	e.mu.Lock()
	e.sandbox, e.used = s, time.Now()
	e.mu.Unlock()
	r.watch(e, s)
	r.claims.add(time.Since(began), e.snapshot().Warm)
	return nil
}

// notStarted removes the leftovers of a start. A runtime that never ran is forgotten if
// its client is told why; one with files of an earlier run is stopped, with the reason.
func (r *Registry) notStarted(e *entry, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	e.mu.Lock()
	rt, unseen := e.rt, e.unseen
	e.mu.Unlock()
	if rt.Restarts == 0 && !unseen {
		err := r.forget(ctx, e)
		if err == nil {
			return cause
		}
		r.o.Log.Warn("a failed start cannot be undone", "runtime", rt.ID, "err", err) // it is tried again later
	} else if err := r.o.Provider.Remove(ctx, rt.ID); err != nil {
		r.o.Log.Warn("the sandbox of a failed start cannot be removed", "runtime", rt.ID, "err", err)
	}
	if err := r.ended(ctx, e, "it could not be started: "+withHint(cause)); err != nil {
		r.o.Log.Error("a failed start cannot be stored", "runtime", rt.ID, "err", err)
	}
	return cause
}

// withHint is an error as a person reads it.
func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + ": " + hint
	}
	return err.Error()
}

// launch takes a sandbox of the pool, or starts one, and gives it its command.
func (r *Registry) launch(ctx context.Context, e *entry, q Request, c class) (sandbox.Sandbox, bootstrap.Ready, error) {
	rt := e.snapshot()
	s, err := e.claimed, error(nil)
	e.claimed = nil
	if s == nil {
		s, err = r.startSandbox(ctx, rt.ID, r.program(q.Command), c)
	}
	if err != nil {
		return nil, bootstrap.Ready{}, err
	}
	ready, err := bootstrap.Assign(ctx, s, r.assignment(rt, q, r.root(rt, s)))
	return s, ready, err
}

// program is the program that becomes what a command says.
func (r *Registry) program(c Command) string {
	if c.Given || c.Args[0] != agentServer {
		return cmp.Or(r.o.Small, r.o.Self)
	}
	return r.o.Self
}

// startSandbox starts a sandbox whose program waits.
func (r *Registry) startSandbox(ctx context.Context, id, program string, c class) (sandbox.Sandbox, error) {
	spec, err := r.spec(id, program, c)
	if err != nil {
		return nil, err
	}
	s, err := r.o.Provider.Start(ctx, spec)
	if c.RuntimeClass != "" && fault.Is(err, fault.Unsupported) {
		return nil, fault.New(fault.Unsupported, FieldRuntime+" "+c.RuntimeClass).Because(err).
			Hint(fault.HintOf(err) + "; leave it out, or start the server with --ignore " + FieldRuntime)
	}
	return s, err
}

// spec describes the sandbox of a class.
func (r *Registry) spec(id, program string, c class) (sandbox.Spec, error) {
	dir := r.workspace(id)
	err := os.Mkdir(filepath.Dir(dir), 0o711) // the container's user enters the workspace
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return sandbox.Spec{}, fault.Wrap(err, fault.Denied, "make the workspace")
	}
	if err := own(dir, c); err != nil {
		return sandbox.Spec{}, err
	}
	s := sandbox.Spec{
		ID: id, Argv: []string{program, "sandbox-server"}, Env: r.o.Env, Workspace: dir, Hidden: r.o.Hidden, Network: r.o.Network,
		Limits: scaled(r.o.Limits, c.Factor),
	}
	if !r.o.Containers {
		s.Alias = workspaceInside
	} else {
		if err := os.WriteFile(r.machineID(id), []byte(newMachineID()), 0o444); err != nil && !errors.Is(err, fs.ErrPermission) { // an earlier run's stays
			return sandbox.Spec{}, fault.Wrap(err, fault.Denied, "make the machine id")
		}
		s.Container = c.container()
		s.Container.Mounts = []sandbox.Mount{
			{Source: dir, Target: workspaceInside, Mode: sandbox.MountReadWrite},
			{Source: r.machineID(id), Target: "/etc/machine-id", Mode: sandbox.MountReadOnly},
		}
	}
	return s, nil
}

// workspaceInside is where clients of OpenHands expect the workspace.
const workspaceInside = "/workspace"

// root is where the workspace is inside: at its own path where neither an image nor an
// alias can have it at workspaceInside.
func (r *Registry) root(rt Runtime, s sandbox.Sandbox) string {
	if slices.ContainsFunc(s.Report().Missing, func(m sandbox.Missing) bool { return m.Feature == string(sandbox.FeatureAlias) }) {
		return r.workspace(rt.ID)
	}
	return workspaceInside
}

// inside returns a path as it is inside, where the workspace is at root.
func inside(path, root string) string {
	if path != workspaceInside && !strings.HasPrefix(path, workspaceInside+"/") {
		return path
	}
	return filepath.Join(root, strings.TrimPrefix(path, workspaceInside))
}

// assignment is the assignment of the runtime's program.
func (r *Registry) assignment(rt Runtime, q Request, root string) bootstrap.Assignment {
	a := bootstrap.Assignment{Args: slices.Clone(q.Command.Args)}
	if q.Command.Given {
		a.Port = q.Command.Port
	}
	for i, arg := range a.Args {
		name, value, inline := strings.Cut(arg, "=")
		if inline && strings.HasPrefix(name, "--") {
			a.Args[i] = name + "=" + inside(value, root)
		} else {
			a.Args[i] = inside(arg, root)
		}
	}
	for name, value := range q.Environment {
		a.Env = append(a.Env, name+"="+inside(value, root))
	}
	slices.Sort(a.Env)
	switch {
	case q.Command.Given: // requests are checked before they reach it
	case a.Args[0] == actionServer:
		a.Env = append(a.Env, "SESSION_API_KEY="+rt.SessionKey)
	default:
		a.Env = append(a.Env, "OH_SESSION_API_KEYS_0="+rt.SessionKey)
	}
	dir := q.WorkingDir
	if !r.o.Containers {
		if dir = inside(dir, root); dir != root && !strings.HasPrefix(dir, root+"/") {
			dir = root
		}
	}
	a.Dirs = []string{dir, root}
	if dir == "" {
		a.Dirs = a.Dirs[1:]
	}
	return a
}

// find returns the entry of a session, and makes it within the owner's quota.
func (r *Registry) find(ctx context.Context, q Request, c class) (*entry, error) {
	key := session{q.Owner, q.SessionID}
	r.mu.Lock()
	if e := r.sessions[key]; e != nil {
		r.mu.Unlock()
		return e, nil
	}
	count := 0
	for _, e := range r.runtimes {
		if rt := e.snapshot(); rt.Owner == q.Owner && rt.State != Stopped {
			count++
		}
	}
	if q.Quota > 0 && count >= q.Quota {
		r.mu.Unlock()
		return nil, fault.New(fault.RateLimit, fmt.Sprintf("this key has %d runtimes, as many as it may", count)).Hint("stop one first")
	}
	now := time.Now().UTC()
	rt := Runtime{
		ID: newID(), Owner: q.Owner, SessionID: q.SessionID, SessionKey: newKey(), State: Starting, Image: q.Image,
		Digest: digest(q, c), Port: q.Command.Port, Given: q.Command.Given, Created: now, Changed: now,
	}
	var claimed sandbox.Sandbox
	if !q.Command.Given { // the pool's preparation is of use to Deft's servers only
		if m, ok := r.pool.Claim(c.name()); ok {
			rt.ID, rt.Warm, claimed = m.ID, true, r.waiting[m.ID]
			delete(r.waiting, m.ID)
		}
	}
	err := r.open(&rt) // before clients see it, who go by its address
	e := newEntry(rt)
	e.claimed = claimed
	e.turn <- struct{}{} // nobody uses it before it is stored
	r.sessions[key], r.runtimes[rt.ID] = e, e
	r.mu.Unlock()
	defer e.release()
	if err == nil && !rt.Warm { // if that is not stored, it has no owner, and is removed
		err = r.update(ctx, e, func(*Runtime) error { return nil })
	}
	if err != nil {
		return nil, r.notStarted(e, err)
	}
	return e, nil
}

// open gives a runtime an address. It has one before it runs: clients ask for it while they
// wait.
func (r *Registry) open(rt *Runtime) (err error) {
	rt.Address, err = r.o.Addresses.Open(rt.ID, rt.Address)
	return err
}

// digest identifies the parameters of a runtime's start.
func digest(q Request, c class) string {
	of := []any{c, q.Command.Args, q.WorkingDir}
	if q.Command.Given {
		of = append(of, q.Command.Port)
	}
	raw, err := json.Marshal(of)
	if err != nil { // texts and numbers
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// newID returns an id that nobody can guess, in letters that host names may have.
func newID() string { return strings.ToLower(rand.Text())[:20] }

// newMachineID returns the content of an /etc/machine-id (machine-id(5)).
func newMachineID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:]) + "\n"
}

// newKey returns a session key.
func newKey() string { return rand.Text() + rand.Text() }
