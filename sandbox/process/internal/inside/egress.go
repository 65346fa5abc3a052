package inside

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/seccomp"
)

// Restricted is the second argument of a proxy that has given up its rights. Before, it is
// how many descriptors the proxy may have.
const Restricted = "restricted"

// runEgress gives up the proxy's rights and executes the binary again, since rights belong
// to a thread.
func runEgress(files string) {
	runtime.LockOSThread()
	n, err := strconv.ParseUint(files, 10, 32)
	if err == nil {
		err = restrictEgress(n)
	}
	fmt.Fprintln(os.Stderr, "sandbox proxy:", err)
	os.Exit(1)
}

// restrictEgress leaves this process without capabilities, and without the right to
// change files, to listen and to signal others.
func restrictEgress(files uint64) error {
	for res, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: files} {
		if err := unix.Setrlimit(res, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set limits: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := landlockEgress(); err != nil {
		return fmt.Errorf("apply Landlock: %w", err)
	}
	if err := dropCapabilities(nil); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := seccomp.Load(false, true); err != nil {
		return fmt.Errorf("load seccomp filter: %w", err)
	}
	return syscall.Exec("/proc/self/exe", []string{"deft", egresslisten.ProxyArg, Restricted}, os.Environ())
}

// landlockEgress refuses everything that changes files, as far as the kernel can.
func landlockEgress() error {
	abi, err := landlock.ABI()
	if err != nil {
		return nil // the sandbox's report says that there is no Landlock
	}
	limited := limitedBy(abi, &Plan{Level: LevelLandlock})
	limited.Files &^= landlock.Read
	limited.Network &^= landlock.ConnectTCP
	rules, err := landlock.New(limited)
	if err != nil {
		return err
	}
	defer rules.Close()
	return rules.RestrictThread()
}
