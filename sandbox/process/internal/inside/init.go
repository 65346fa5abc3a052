// Package inside is the init stage of a built-in sandbox (package sandbox/process): the
// binary, started again in new namespaces, makes mounts, gives up its rights and becomes
// the sandbox's program. The proxy of a sandbox gives up its rights here as well.
//
// # Usage
//
// The provider starts the binary with [Arg], sends a [Plan] as JSON and reads an
// [Outcome]. Whatever imports this package can be such a stage: it runs while the package
// is initialized and never returns from there.
//
// It imports hardly anything, and must go on so: Go initializes packages as soon as their
// imports are, in the order of their paths (the Go specification, "Program
// initialization"). So a start does not wait for the rest of a large binary to be
// initialized, which takes several milliseconds and a thousand page faults. Nothing but the
// speed depends on that order.
//
// # Concurrency and failure
//
// A stage is one process with one thread of work. Its failure is in its Outcome, with
// the step.
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/seccomp"
)

// Arg is the hidden first argument that makes the binary an init stage.
const Arg = "sandbox-init"

func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case Arg:
		runInit()
	case egresslisten.ProxyArg:
		if len(os.Args) == 3 && os.Args[2] != Restricted {
			runEgress(os.Args[2])
		}
	}
}

// runInit sets up the sandbox from within and becomes its program. It reports
// on FDOutcome; closing that without a further message means that exec worked.
func runInit() {
	// Credentials, Landlock and seccomp belong to a thread; exec makes this
	// one the only one.
	runtime.LockOSThread()
	w := json.NewEncoder(os.NewFile(FDOutcome, "outcome"))
	step, err := setUp(w)
	var errno syscall.Errno
	errors.As(err, &errno)
	if err := w.Encode(Outcome{Step: step, Err: err.Error(), Errno: errno}); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox init:", step, err)
	}
	os.Exit(1)
}

// setUp only returns on failure, with the step that failed. From the first
// step on that restricts this thread, Go's own threads are not restricted yet,
// but they run none of the program's code and end at exec.
func setUp(w *json.Encoder) (step string, err error) {
	var pl Plan
	for fd := FDListener; fd < FirstFree; fd++ {
		unix.CloseOnExec(fd)
	}
	in := json.NewDecoder(os.NewFile(FDPlan, "plan"))
	if err := in.Decode(&pl); err != nil {
		return "read plan", err
	}
	exe, err := unix.Open(pl.Argv[0], unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "exec", &os.PathError{Op: "open", Path: pl.Argv[0], Err: err}
	}
	var o Outcome
	if pl.Level == LevelNamespaces {
		if step, err := isolate(&pl, exe, &o); err != nil {
			return step, err
		}
	}
	if err := limitNetwork(&pl, &o); err != nil {
		return StepNetwork, err
	}
	if err := os.Chdir(pl.Workspace); err != nil {
		return "enter workspace", err
	}
	if pl.Level != LevelNone {
		if step, err := restrict(&pl, exe, &o); err != nil {
			return step, err
		}
	} else {
		o.Missing = append(o.Missing, Missing{Feature: "isolation", Reason: "turned off by the user"})
	}
	return become(&pl, exe, in, w, o)
}

// isolate gives the process its own root, devices and loopback interface.
func isolate(pl *Plan, exe int, o *Outcome) (step string, err error) {
	if step, err := newRoot(pl, exe, o); err != nil {
		return step, err
	}
	o.Features = append(o.Features, "user-namespace", "mount-namespace", "pid-namespace",
		"ipc-namespace", "uts-namespace", "cgroup-namespace")
	if err := raiseLoopback(); err != nil {
		return "raise loopback interface", err
	}
	o.Features = append(o.Features, "net-namespace")
	return "", nil
}

// restrict takes this thread's rights away, in an order in which each step still
// has the rights it needs.
func restrict(pl *Plan, exe int, o *Outcome) (step string, err error) {
	if err := limitResources(pl); err != nil {
		return "limit resources", err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "set no_new_privs", err
	}
	o.Features = append(o.Features, "no-new-privs")
	if pl.Level == LevelLandlock {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return "become subreaper", err
		}
		if err := setTemporary(pl); err != nil {
			return "fill the private directory", err
		}
	}
	if err := restrictFiles(pl, exe, o); err != nil {
		return "apply Landlock", err
	}
	if err := dropCapabilities(pl.KeepCaps); err != nil {
		return "drop capabilities", err
	}
	o.Features = append(o.Features, "no-capabilities")
	if len(pl.KeepCaps) > 0 {
		o.Features[len(o.Features)-1] = "few-capabilities"
	}
	if err := seccomp.Load(pl.Level == LevelLandlock, pl.Network); err != nil {
		return "load seccomp filter", err
	}
	o.Features = append(o.Features, "seccomp")
	return "", nil
}

// setTemporary points the usual variables, unless Env sets them, to the private
// directory.
func setTemporary(pl *Plan) error {
	for _, name := range []string{"TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if !isSet(pl.Env, name) {
			pl.Env = append(pl.Env, name+"="+pl.Tmp)
		}
	}
	for i := range pl.Caches {
		c := &pl.Caches[i]
		if err := os.MkdirAll(c.plain(), 0o700); err != nil {
			return err
		}
		pl.nameCache(c, c.plain())
	}
	for _, content := range pl.Cleaned {
		if content == "" || isSet(pl.Env, "GIT_CONFIG_GLOBAL") {
			continue
		}
		path := filepath.Join(pl.Tmp, ".gitconfig")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		pl.Env = append(pl.Env, "GIT_CONFIG_GLOBAL="+path)
	}
	return nil
}

func isSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// become replaces the init stage by the program, once the starter has recorded the
// sandbox. All descriptors but 0 to 4 close at that moment.
func become(pl *Plan, exe int, in *json.Decoder, w *json.Encoder, o Outcome) (step string, err error) {
	if err := unix.CloseRange(FDPlan, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return "close descriptors", err
	}
	for _, fd := range []uintptr{FDListener, fdJournal} {
		if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err != nil {
			return "keep descriptors", err
		}
	}
	path := pl.Argv[0]
	if !SameFile(path, exe) {
		// Hidden inside, as a test binary in /tmp is: run the opened file.
		path = "/proc/self/fd/" + strconv.Itoa(exe)
	}
	if err := w.Encode(o); err != nil {
		return "report", err
	}
	var word string
	if err := in.Decode(&word); err != nil || word != StartSignal {
		return "wait for the start signal", errors.Join(err, errors.New("the process that starts the sandbox has ended"))
	}
	return "exec", syscall.Exec(path, pl.Argv, pl.Env)
}
