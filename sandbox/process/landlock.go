package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

// ruleNetPort is LANDLOCK_RULE_NET_PORT of landlock(7).
const ruleNetPort = 2

// Rights of Landlock's file system rules, see landlock(7).
const (
	llRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	llFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	llV1  = 1<<13 - 1 // all of ABI 1
	llAll = llV1 | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// landlock restricts this thread to the files of the plan. In namespaces that
// repeats what the mounts do; without them it is what protects the host, and it
// is an error if the kernel does not have it.
func landlock(pl *plan, exe int, o *outcome) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		if pl.Level == LevelLandlock {
			return errno
		}
		o.Missing = append(o.Missing, sandbox.Missing{Feature: "landlock", Reason: errno.Error()})
		return nil
	}
	attr := rulesetAttr(int(abi), pl)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("create ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	rs := ruleset{int(fd), attr.Handled_access_fs}
	if err := rs.fill(pl, exe); err != nil {
		return err
	}
	if attr.Handled_access_net != 0 && pl.ProxyPort != 0 {
		if err := rs.allowPort(pl.ProxyPort); err != nil {
			return fmt.Errorf("port of the proxy: %w", err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	o.Features = append(o.Features, "landlock-"+strconv.Itoa(int(abi)))
	if abi < signalScopeABI {
		o.Missing = append(o.Missing, sandbox.Missing{Feature: "signal-scope", Reason: "Landlock ABI 6 is needed to protect the action server and, without a PID namespace, the user's other processes from signals"})
	}
	if pl.Level == LevelLandlock {
		o.Missing = append(o.Missing, landlockGaps(int(abi), pl)...)
	}
	return nil
}

func rulesetAttr(abi int, pl *plan) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: llV1}
	if abi >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && pl.Level == LevelLandlock {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= signalScopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// landlockGaps lists what namespaces provide and Landlock does not.
func landlockGaps(abi int, pl *plan) []sandbox.Missing {
	gaps := []sandbox.Missing{
		{Feature: "pid-namespace", Reason: "processes of the host are listed inside; if the sandbox's first process is killed from outside, commands may survive until the next start"},
		{Feature: "private-tmp", Reason: "/tmp is closed; TMPDIR names a private directory instead"},
		{Feature: "file-modes", Reason: "Landlock cannot keep the user's own files outside from having their mode, owner or times changed"},
		{Feature: "unix-sockets", Reason: "refused by seccomp, since Landlock cannot keep them from the host's services"},
	}
	if pl.Network.None() {
		gaps = append(gaps, sandbox.Missing{Feature: "loopback", Reason: "without a network namespace all Internet sockets are refused"})
	} else {
		gaps = append(gaps,
			sandbox.Missing{Feature: "loopback", Reason: "without a network namespace nothing but the proxy can be reached, and nothing can listen"},
			sandbox.Missing{Feature: "one-port", Reason: "Landlock judges by port: servers elsewhere that listen at the proxy's port, which is chosen at random, can be reached without the proxy"})
	}
	if slices.ContainsFunc(pl.Hidden, func(h string) bool { return within(h, pl.Workspace) }) {
		gaps = append(gaps, sandbox.Missing{Feature: "hidden-in-workspace", Reason: "since a part of the workspace is hidden, no files can be made beside that part"})
	}
	if writableGit(pl) {
		gaps = append(gaps, sandbox.Missing{Feature: "git-configuration", Reason: "in the repository's directory outside the workspace, what names configuration and hooks is writable too"})
	}
	if abi < 3 {
		gaps = append(gaps, sandbox.Missing{Feature: "truncate", Reason: "Landlock ABI 3 is needed to protect writable files outside from being emptied"})
	}
	return gaps
}

// writableGit reports whether a writable grant has read-only ones in it, which
// rules cannot express.
func writableGit(pl *plan) bool {
	return slices.ContainsFunc(pl.Granted, func(g grant) bool {
		return g.Writable && slices.ContainsFunc(pl.Granted, func(in grant) bool {
			return !in.Writable && in != g && within(in.Path, g.Path)
		})
	})
}

type ruleset struct {
	fd      int
	handled uint64
}

func (rs ruleset) fill(pl *plan, exe int) error {
	rules := map[string]uint64{}
	if pl.Level == LevelNamespaces {
		rules["/"] = llRead
		for _, dir := range []string{"/tmp", "/var/tmp", "/run", "/dev", pl.Home} {
			rules[dir] = llAll
		}
	} else {
		for _, path := range landlockReadable(pl) {
			rules[path] = llRead
		}
		for _, name := range append(slices.Clone(deviceNodes), "ptmx", "pts") {
			rules["/dev/"+name] = llRead | llFile
		}
		rules[pl.Tmp] = llAll
	}
	for _, g := range pl.Granted {
		paths := []string{g.Path}
		if pl.Level == LevelLandlock {
			paths = allowedChildren(g.Path, slices.DeleteFunc(slices.Clone(pl.Hidden), func(h string) bool { return h == g.Path }))
		}
		for _, path := range paths {
			rules[path] |= llRead
			if g.Writable {
				rules[path] = llAll
			}
		}
	}
	for path, access := range rules {
		if err := rs.allow(path, access); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := rs.allowFD(exe, llRead); err != nil {
		return fmt.Errorf("%s: %w", pl.Argv[0], err)
	}
	writable := []string{pl.Workspace}
	if pl.Level == LevelLandlock {
		writable = allowedChildren(pl.Workspace, pl.Hidden)
	}
	for _, path := range writable {
		if err := rs.allow(path, llAll); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// landlockReadable lists what may be read when there are no mounts to hide the
// rest: everything but hidden, private and covered paths.
func landlockReadable(pl *plan) []string {
	hidden := slices.Concat(pl.Hidden, pl.Covered, privateDirs, []string{"/dev", pl.Workspace})
	if pl.Home != "" {
		hidden = append(hidden, pl.Home)
	}
	for i, h := range hidden {
		hidden[i] = resolve(h)
	}
	readable := allowedChildren("/", hidden)
	if pl.Home != "" && !within(pl.Home, pl.Workspace) {
		for _, rel := range pl.Shown {
			path := resolve(filepath.Join(pl.Home, rel))
			if !slices.ContainsFunc(pl.Hidden, func(h string) bool { return within(path, h) }) {
				readable = append(readable, allowedChildren(path, pl.Hidden)...)
			}
		}
	}
	for _, p := range exposed {
		if exists(p) {
			readable = append(readable, p)
		}
	}
	return readable
}

// allow adds a rule; a path that does not exist needs none.
func (rs ruleset) allow(path string, access uint64) error {
	if path == "" {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return rs.allowFD(fd, access)
}

func (rs ruleset) allowFD(fd int, access uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= llFile // the kernel refuses rights of directories on files
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access & rs.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rs.fd),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allowPort lets TCP connect to a port.
func (rs ruleset) allowPort(port int) error {
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)} // struct landlock_net_port_attr
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rs.fd),
		ruleNetPort, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
