package landlock_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
	"github.com/deft-dev/deft/internal/must"
)

// confined calls try on a thread with rules, which ends with it.
func confined(t *testing.T, limited landlock.Limits, allow func(*landlock.Rules) error, try func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		rules, err := landlock.New(limited)
		if err == nil {
			defer rules.Close()
			err = errors.Join(allow(rules), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		}
		if err == nil {
			err = rules.RestrictThread()
		}
		if err == nil {
			try()
		}
		done <- err
	}()
	must.Report(t, <-done)
}

func version(t *testing.T, least int) int {
	t.Helper()
	abi, err := landlock.ABI()
	if err != nil || abi < least {
		t.Skipf("this kernel has Landlock %d, %v", abi, err)
	}
	return abi
}

func TestFiles(t *testing.T) {
	t.Parallel()
	abi := version(t, 1)
	dir := t.TempDir()
	for _, name := range []string{"read", "write", "hidden"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600))
	}
	open := func(name string, flag int) error {
		fd, err := unix.Open(filepath.Join(dir, name), flag|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	confined(t, landlock.Limits{Files: landlock.Rights(abi)}, func(r *landlock.Rules) error {
		return errors.Join(r.AllowPath(dir+"/read", landlock.Read), r.AllowPath(dir+"/write", landlock.All), r.AllowPath(dir+"/missing", landlock.All))
	}, func() {
		for _, c := range []struct {
			name string
			flag int
			want error
		}{
			{"read", unix.O_RDONLY, nil}, {"read", unix.O_WRONLY, unix.EACCES}, {"write", unix.O_RDWR, nil}, {"hidden", unix.O_RDONLY, unix.EACCES},
		} {
			if err := open(c.name, c.flag); !errors.Is(err, c.want) {
				t.Errorf("open %s with %#x: %v, want %v", c.name, c.flag, err, c.want)
			}
		}
	})
	if err := open("hidden", unix.O_RDONLY); err != nil {
		t.Errorf("another thread is confined too: %v", err)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	version(t, landlock.NetworkABI)
	var ports []int
	for range 2 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		must.Succeed(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	connect := func(port int) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
	}
	limited := landlock.Limits{Network: landlock.ConnectTCP}
	confined(t, limited, func(r *landlock.Rules) error { return r.AllowConnect(ports[0]) }, func() {
		if err := connect(ports[0]); err != nil {
			t.Errorf("the allowed port: %v", err)
		}
		if err := connect(ports[1]); !errors.Is(err, unix.EACCES) {
			t.Errorf("another port: %v", err)
		}
	})
}
