package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// state is the content of Dir/<id>/state.json for a running sandbox. A PID may be
// reused or come from before a reboot, hence start time and boot.
type state struct {
	PID     int            `json:"pid"`
	Started uint64         `json:"started"` // clock ticks after boot, proc(5) stat field 22
	Boot    string         `json:"boot"`
	Key     isolationKey   `json:"key"`
	Report  sandbox.Report `json:"report"`
	Cgroups []string       `json:"cgroups,omitempty"`
	// WatchedMemory is a limit that no control group holds.
	WatchedMemory int64     `json:"watched_memory,omitempty"`
	Caches        string    `json:"caches,omitempty"` // directory of its writes to caches
	Tmp           string    `json:"tmp,omitempty"`    // private directory of the landlock level
	Since         time.Time `json:"since"`
	Paused        bool      `json:"paused,omitempty"`
}

// isolationKey is the part of the Spec and the Options that decides on the
// isolation: a running sandbox is reused only for the same one. The environment,
// which may contain secrets, is not stored.
type isolationKey struct {
	Level     string          `json:"level"`
	Workspace string          `json:"workspace"`
	Hidden    []string        `json:"hidden"`
	Readable  []string        `json:"readable"`
	Writable  []string        `json:"writable"`
	Network   sandbox.Network `json:"network"`
	Limits    sandbox.Limits  `json:"limits"`
	EnvMark   string          `json:"env_mark,omitempty"`
	Alias     string          `json:"alias,omitempty"`
}

func (p *Provider) isolationKey(s sandbox.Spec) isolationKey {
	return isolationKey{p.opt.Level, s.Workspace, sorted(s.Hidden), sorted(s.Readable), sorted(s.Writable), s.Network, s.Limits, s.EnvMark, s.Alias}
}

func sorted(paths []string) []string { return slices.Sorted(slices.Values(paths)) }

func (a isolationKey) equal(b isolationKey) bool {
	return a.Level == b.Level && a.Workspace == b.Workspace && slices.Equal(a.Hidden, b.Hidden) &&
		slices.Equal(a.Readable, b.Readable) && slices.Equal(a.Writable, b.Writable) &&
		a.Network == b.Network && a.Limits == b.Limits && a.EnvMark == b.EnvMark && a.Alias == b.Alias
}

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // compares equal within this boot; the start time still differs
	}
	return strings.TrimSpace(string(b))
})

// alive reports whether the process that st names still runs.
func (st state) alive() bool {
	stat, err := readStat(st.PID)
	return err == nil && stat.started == st.Started && st.Boot == bootID() &&
		stat.state != 'Z' && stat.state != 'X'
}

type procStat struct {
	state   byte
	ppid    int
	started uint64
}

func readStat(pid int) (procStat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(b)
}

// parseStat reads proc(5)'s stat line. The command name may contain any character,
// so fields are counted from its last parenthesis.
func parseStat(b []byte) (procStat, error) {
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return procStat{}, errors.New("malformed stat line")
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return procStat{}, fmt.Errorf("parse parent: %w", err)
	}
	started, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("parse start time: %w", err)
	}
	return procStat{f[0][0], ppid, started}, nil
}

func readState(dir string) (state, error) {
	var st state
	b, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return st, fault.New(fault.NotFound, "no sandbox "+filepath.Base(dir)+" runs")
	}
	if err != nil {
		return st, fmt.Errorf("read sandbox state: %w", err)
	}
	if err := json.Unmarshal(b, &st); err != nil || st.PID <= 1 {
		return st, fault.New(fault.Corrupt, "the state of sandbox "+filepath.Base(dir)+" is damaged").
			Hint("if none of its processes runs, delete " + dir + "/state.json").Because(err)
	}
	return st, nil
}

func writeState(dir string, st state) error {
	b, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encode sandbox state: %w", err)
	}
	tmp := filepath.Join(dir, "state.json.new")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write sandbox state: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "state.json")); err != nil {
		return fmt.Errorf("write sandbox state: %w", err)
	}
	return nil
}

// lock waits for the lock file of a sandbox, which is held while one starts and at the
// end of a stop, or of a workspace's caches. A file that was deleted meanwhile is no lock.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, "lock")
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open sandbox lock: %w", err)
		}
		for {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock sandbox: %w", err)
		}
		if inside.SameFile(path, int(f.Fd())) {
			return func() { f.Close() }, nil
		}
		f.Close()
	}
}

// sweepInterval is between two sweeps.
const sweepInterval = time.Minute

// sweep cleans up after sandboxes that ended while no provider ran. Their journals
// and logs stay. One whose lock is held is skipped. It looks at all sandboxes, so it does
// that once in a while.
func (p *Provider) sweep() {
	p.mu.Lock()
	recent := time.Since(p.swept) < sweepInterval
	if !recent {
		p.swept = time.Now()
	}
	p.mu.Unlock()
	if recent {
		return
	}
	entries, err := os.ReadDir(p.opt.Dir)
	if err != nil {
		return // making the sandbox's directory has just worked; the next start tries again
	}
	for _, e := range entries {
		dir := p.dir(e.Name())
		if st, err := readState(dir); err != nil || st.alive() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if st, err := readState(dir); err == nil && !st.alive() {
				_ = tidy(dir, st) // if it is still busy, the next start tries again
			}
		}
		f.Close()
	}
}
