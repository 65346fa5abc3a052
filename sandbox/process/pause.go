package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// The file with which a freezer suspends a group, and its values, in either
// version of control groups.
const (
	freezerV1 = "freezer.state"
	freezerV2 = "cgroup.freeze"
)

// Pause implements sandbox.Sandbox. The freezer of its control group suspends
// everything at once; without one each process is stopped by a signal, which they
// can see when they go on.
func (in *instance) Pause(ctx context.Context) error { return in.locked(ctx, in.pause) }

// Resume implements sandbox.Sandbox.
func (in *instance) Resume(ctx context.Context) error { return in.locked(ctx, in.resume) }

func (in *instance) locked(ctx context.Context, do func(context.Context) error) error {
	unlock, err := lock(in.p.dir(in.id))
	if errors.Is(err, fs.ErrNotExist) {
		return in.gone()
	}
	if err != nil {
		return err
	}
	defer unlock()
	return do(ctx)
}

// pause records before it begins: after a crash in between, resume finds something
// to do.
func (in *instance) pause(ctx context.Context) error {
	st, err := in.current()
	if err != nil {
		return err
	}
	st.Paused = true
	if err := writeState(in.p.dir(in.id), st); err != nil {
		return err
	}
	return freeze(ctx, st)
}

func (in *instance) resume(context.Context) error {
	st, err := in.current()
	if err != nil || !st.Paused {
		return err
	}
	if err := thaw(st); err != nil {
		return err
	}
	st.Paused = false
	return writeState(in.p.dir(in.id), st)
}

// current reads the state anew: another process may have paused the sandbox.
func (in *instance) current() (state, error) {
	st, err := readState(in.p.dir(in.id))
	if fault.Is(err, fault.NotFound) || err == nil && (st.PID != in.st.PID || st.Started != in.st.Started || !st.alive()) {
		return st, in.gone()
	}
	return st, err
}

func (in *instance) gone() error { return fault.New(fault.NotFound, "sandbox "+in.id+" has ended") }

// freezer returns the file of the sandbox's freezer and the values for the two
// states; "" if there is none.
func (st state) freezer() (file, frozen, thawed string) {
	for _, dir := range st.Cgroups {
		if f := filepath.Join(dir, freezerV1); exists(f) {
			return f, "FROZEN", "THAWED"
		}
		if f := filepath.Join(dir, freezerV2); exists(f) {
			return f, "1", "0"
		}
	}
	return "", "", ""
}

// freeze suspends all processes of a sandbox.
func freeze(ctx context.Context, st state) error {
	if file, frozen, _ := st.freezer(); file != "" {
		return setFreezer(file, frozen)
	}
	// A process that has been stopped starts no other, so each round finds fewer.
	for ctx.Err() == nil {
		if !signalRest(st, syscall.SIGSTOP) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fault.Wrap(context.Cause(ctx), fault.Timeout, "pause the sandbox")
}

// thaw lets them go on.
func thaw(st state) error {
	if file, _, thawed := st.freezer(); file != "" {
		return setFreezer(file, thawed)
	}
	signalRest(st, syscall.SIGCONT)
	return nil
}

func setFreezer(file, to string) error {
	if err := os.WriteFile(file, []byte(to), 0); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("set the freezer: %w", err)
	}
	return nil
}

// signalRest sends SIGSTOP to the processes of a sandbox that run, or SIGCONT to
// those that are stopped, and reports whether there were any.
func signalRest(st state, sig syscall.Signal) (any bool) {
	for _, pid := range append([]int{st.PID}, descendants(st.PID)...) {
		now, err := readStat(pid)
		if err != nil || (now.state == 'T') == (sig == syscall.SIGSTOP) {
			continue
		}
		if syscall.Kill(pid, sig) == nil { // else it has ended
			any = true
		}
	}
	return any
}
