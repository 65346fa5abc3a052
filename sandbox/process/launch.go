package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
	"github.com/deft-dev/deft/sandbox/internal/limits"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// startTimeout bounds the init stage, which takes milliseconds.
const startTimeout = 60 * time.Second

// setupError is a failure before the program could start.
type setupError struct {
	step  string
	msg   string
	errno syscall.Errno
}

func (e *setupError) Error() string { return e.step + ": " + e.msg }
func (e *setupError) Unwrap() error { return e.errno }

// launch tries the levels in order, strongest first, until one works.
func (p *Provider) launch(ctx context.Context, s sandbox.Spec) (*instance, error) {
	levels := []string{p.opt.Level}
	if p.opt.Level == LevelAuto {
		levels = []string{LevelNamespaces, LevelLandlock}
	}
	caches := ""
	if p.opt.Level != LevelNone && p.opt.Home != "" {
		dir, release, err := p.claimCaches(s)
		if err != nil {
			return nil, err
		}
		defer release()
		caches = dir
	}
	var missing []sandbox.Missing
	var last *setupError
	for _, level := range levels {
		in, err := p.launchAt(ctx, s, level, caches, missing)
		for n := 1; n < maxStarts && errors.Is(err, errKilled); n++ {
			in, err = p.launchAt(ctx, s, level, caches, missing)
		}
		var setup *setupError
		if !errors.As(err, &setup) {
			return in, err
		}
		if setup.step == "exec" {
			return nil, fault.New(fault.Invalid, "cannot run "+s.Argv[0]+" in the sandbox").Because(setup)
		}
		last = setup
		missing = append(missing, sandbox.Missing{Feature: level, Reason: setup.Error()})
	}
	if last.step == inside.StepNetwork {
		return nil, fault.New(fault.Unsupported, "this host cannot limit the network as asked").
			Hint("start without --net, or with --net for every public host; `deft doctor` shows the state of this machine").Because(errors.New(last.msg))
	}
	return nil, fault.New(fault.Unsupported, "this host cannot isolate commands").
		Hint("`deft doctor` shows the missing parts; `--sandbox none` runs without isolation").Because(last)
}

// launchAt starts the sandbox at one level, or returns a *setupError if the
// level does not work on this host.
func (p *Provider) launchAt(ctx context.Context, s sandbox.Spec, level, caches string, missing []sandbox.Missing) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	st := state{Caches: caches, Since: time.Now(), Boot: bootID(), Key: p.isolationKey(s), Report: sandbox.Report{Level: level, Missing: slices.Clone(missing)}}
	if level == LevelLandlock {
		tmp, err := os.MkdirTemp("", "deft-")
		if err != nil {
			return nil, fmt.Errorf("make private temporary directory: %w", err)
		}
		st.Tmp = tmp
	}
	err := p.run(ctx, s, &st)
	if err != nil {
		if st.PID != 0 {
			if !errors.Is(err, errInitDied) {
				_ = syscall.Kill(st.PID, syscall.SIGKILL) // our child, not yet reaped
			} else if reapKilled(st.PID) {
				err = errKilled
			}
			_, _ = syscall.Wait4(st.PID, nil, 0, nil) // fails if it was reaped
		}
		return nil, errors.Join(err, tidy(p.dir(s.ID), st))
	}
	in, err := p.watch(s.ID, st)
	if fault.Is(err, fault.NotFound) { // it has ended already
		ended := fault.New(fault.Unavailable, "the sandbox's program ended at once").
			Hint("see " + filepath.Join(p.dir(s.ID), logName))
		if reapKilled(st.PID) {
			ended = errKilled
		}
		return nil, errors.Join(ended, tidy(p.dir(s.ID), st))
	}
	return in, err
}

// maxStarts is how many programs in a row may be killed while they start.
const maxStarts = 3

var (
	errKilled = fault.New(fault.Unavailable, "the sandbox's program was killed at once").
			Hint("does it have enough memory? --memory 64M or more; `dmesg` may say what killed it")
	errInitDied = fault.New(fault.Internal, "the sandbox's init stage ended").
			Hint("does the program's main call process.MaybeInit first?")
)

// reapKilled collects a child that has ended or is about to, and reports
// whether it was killed, which says nothing about the program.
func reapKilled(pid int) bool {
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(pid, &ws, 0, nil)
	return err == nil && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// run forks the init stage in its control groups, gives it the plan
// and waits for the program to start. st.PID is set once there is a process.
func (p *Provider) run(ctx context.Context, s sandbox.Spec, st *state) error {
	files, err := p.open(s.ID)
	if err != nil {
		return err
	}
	defer closeAll(files)
	planR, planW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer planW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		planR.Close()
		return fmt.Errorf("make pipe: %w", err)
	}
	defer outR.Close()
	// The plan takes about as long as the start of the init stage, which waits for it.
	var pl plan
	var planErr error
	var planning sync.WaitGroup
	planning.Go(func() { pl, planErr = p.plan(s, st.Report.Level, st.Caches) })
	defer planning.Wait()
	attr := procAttr(st.Report.Level, s.Workspace)
	attr.Files = append(fds(files), planR.Fd(), outW.Fd())
	proxyIn, outside, err := proxySockets(s, st.Report.Level)
	if err != nil {
		planR.Close()
		outW.Close()
		return err
	}
	if proxyIn != nil {
		attr.Files = append(attr.Files, proxyIn.Fd())
		defer outside.Close()
	}
	argv := []string{"deft", inside.Arg}
	if st.Report.Level == LevelLandlock {
		argv = []string{"deft", KeepArg, strconv.Itoa(len(attr.Files))}
	}
	held := limits.WithDefaults(s.Limits)
	groups := makeGroups(p.cgroupName(s.ID), held)
	pid, err := forkInto(groups, p.opt.Self, argv, attr)
	record(groups, st)
	planR.Close()
	outW.Close()
	if proxyIn != nil {
		proxyIn.Close()
	}
	if err != nil {
		return forkError(err)
	}
	st.PID = pid
	if st.Report.Level == LevelNamespaces {
		if err := mapOwners(pid, s.Workspace); err != nil {
			return err
		}
	}
	stat, err := readStat(pid)
	if err != nil {
		return fmt.Errorf("read process state: %w", err)
	}
	st.Started = stat.started
	processes := processLimit(held, st)
	st.WatchedMemory = watchLimit(held, st)
	if planning.Wait(); planErr != nil {
		return planErr
	}
	pl.Tmp, pl.Processes, pl.TmpBytes = st.Tmp, processes, p.tmpBytes(held)
	if outside != nil {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		proxy, err := egressproxy.Start(egressproxy.Options{
			Self: p.opt.Self, First: pid, Network: s.Network, Token: pl.Token, Socket: outside, Log: files[1],
		})
		if proxy != 0 {
			err = errors.Join(err, p.proxies.Collect(proxy))
		}
		if err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() {
		_ = planW.SetDeadline(time.Now())
		_ = outR.SetDeadline(time.Now())
	})
	defer stop()
	err = talk(planW, outR, pl, &st.Report, func() error {
		st.Report.Bounds = bounds(held, pl.TmpBytes, st.Report)
		return writeState(p.dir(s.ID), *st)
	})
	if ctx.Err() != nil {
		return fault.Wrap(context.Cause(ctx), fault.Canceled, "start sandbox")
	}
	return err
}

// talk sends the plan, reads the outcome, and sends the start signal once commit
// has recorded the sandbox; the program's start closes the pipe. If this process
// dies before the signal, the init stage ends: a program never runs unrecorded.
func talk(w io.WriteCloser, r io.Reader, pl plan, rep *sandbox.Report, commit func() error) error {
	out := json.NewEncoder(w)
	sent := out.Encode(pl)
	dec := json.NewDecoder(r)
	reported := false
	for {
		var o inside.Outcome
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read from the init stage: %w", err)
		}
		if o.Step != "" {
			return &setupError{o.Step, o.Err, o.Errno}
		}
		rep.Features = append(rep.Features, o.Features...)
		for _, m := range o.Missing {
			rep.Missing = append(rep.Missing, sandbox.Missing(m))
		}
		if reported = true; sent == nil {
			if err := commit(); err != nil {
				return err
			}
			sent = out.Encode(inside.StartSignal)
		}
	}
	if !reported || sent != nil {
		return errors.Join(errInitDied, sent)
	}
	return nil
}

// open makes the program's descriptors 0 to 4.
func (p *Provider) open(id string) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	dir := p.dir(id)
	for _, o := range []struct {
		path string
		flag int
	}{
		{os.DevNull, os.O_RDONLY},
		{filepath.Join(dir, logName), os.O_WRONLY | os.O_CREATE | os.O_APPEND},
	} {
		f, err := os.OpenFile(o.path, o.flag, 0o600)
		if err != nil {
			return files, fmt.Errorf("open sandbox log: %w", err)
		}
		files = append(files, f)
	}
	l, err := listen(dir)
	if err != nil {
		return files, err
	}
	files = append(files, l)
	j, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return files, fmt.Errorf("open journal: %w", err)
	}
	return append(files, j), nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// fds orders the files as descriptors: input, output twice, socket, journal.
func fds(f []*os.File) []uintptr {
	return []uintptr{f[0].Fd(), f[1].Fd(), f[1].Fd(), f[2].Fd(), f[3].Fd()}
}

// procAttr asks for the namespaces of the level and gives the init stage, and only
// that, the capabilities to set them up. [mapOwners] sets the ids that exist
// inside.
func procAttr(level, workspace string) *syscall.ProcAttr {
	attr := &syscall.ProcAttr{
		Dir: "/",
		Env: []string{"GOMAXPROCS=2", "GOGC=off"},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	if level != LevelNamespaces {
		return attr
	}
	attr.Sys.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		attr.Sys.AmbientCaps = append(attr.Sys.AmbientCaps, c)
	}
	return attr
}

// mapOwners sets the ids that exist in the init stage's user namespace. Go's own way
// (SysProcAttr.UidMappings) does it before the exec: until then the child's files
// under /proc are this process's, and if that is not dumpable, as one that holds keys
// must not be, an ordinary user cannot open them.
func mapOwners(pid int, workspace string) error {
	uid, gid := ownerOf(workspace)
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	for _, f := range [][2]string{
		{"uid_map", owners(os.Geteuid(), uid)}, {"setgroups", "deny"}, {"gid_map", owners(os.Getegid(), gid)},
	} {
		err := os.WriteFile(dir+f[0], []byte(f[1]), 0)
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			return &setupError{"make namespaces", f[0] + ": " + errno.Error(), errno}
		}
		if err != nil {
			return fmt.Errorf("map the ids of a sandbox: %w", err)
		}
	}
	return nil
}

// forkError distinguishes a host that refuses namespaces from other failures.
func forkError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		switch errno {
		case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS:
			return &setupError{"make namespaces", errno.Error(), errno}
		case unix.EAGAIN:
			return fault.New(fault.Unavailable, "there is no room for another process").
				Hint("allow the sandbox, or the user, more of them: --pids, `ulimit -u`").Because(err)
		}
	}
	return fmt.Errorf("start the sandbox's init stage: %w", err)
}
