// Package egresslisten is the part of a sandbox's proxy (package egressproxy) that runs
// inside, in the first stage: it makes the listeners, sends them out, and says where
// programs find the proxy. It is apart because it must import little: see
// sandbox/process/internal/inside.
//
// Functions are safe for concurrent use. Errors come from the system calls.
package egresslisten

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProxyArg is the hidden first argument that makes the binary the proxy of a sandbox.
const ProxyArg = "sandbox-egress"

// RelayArg is the hidden first argument that makes the binary a relay. The path of the
// proxy's socket follows.
const RelayArg = "sandbox-relay"

// WantsRelay is sent by the first stage instead of listeners.
const WantsRelay = 'r'

// RelayOptions are for sandboxes with a kernel of their own.
type RelayOptions struct {
	Self string // the binary
	Path string // where the proxy's UNIX socket will be
}

// Listen listens on the loopback interface of the calling process's network
// namespace and sends the listeners to the proxy through a UNIX socket. It returns
// their port. Where the kernel can send no listeners, the socket gets a message that says
// so, and a relay is started if options are given.
func Listen(socket int, relay *RelayOptions) (port int, err error) {
	fds, port, err := listenLoopback()
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(fds...), nil, 0)
	if !errors.Is(err, unix.EINVAL) || relay == nil {
		return port, err
	}
	if err := unix.Sendto(socket, []byte{WantsRelay}, 0, nil); err != nil {
		return 0, err
	}
	return port, startRelay(relay.Self, relay.Path, fds)
}

// listenLoopback listens on one free port of 127.0.0.1 and, if there is IPv6, ::1.
func listenLoopback() (fds []int, port int, err error) {
	const backlog = 128
	for range 8 { // the port may be in use on ::1
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, 0, err
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return nil, 0, err
		}
		if err := unix.Listen(fd, backlog); err != nil {
			return nil, 0, err
		}
		own, err := unix.Getsockname(fd)
		if err != nil {
			return nil, 0, err
		}
		port := own.(*unix.SockaddrInet4).Port
		fd6, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if errors.Is(err, unix.EAFNOSUPPORT) {
			return []int{fd}, port, nil
		}
		if err != nil {
			return nil, 0, err
		}
		err = unix.Bind(fd6, &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}})
		if err == nil {
			err = unix.Listen(fd6, backlog)
		}
		switch {
		case err == nil:
			return []int{fd, fd6}, port, nil
		case !errors.Is(err, unix.EADDRINUSE): // IPv6 is turned off
			unix.Close(fd6)
			return []int{fd}, port, nil
		}
		unix.Close(fd)
		unix.Close(fd6)
	}
	return nil, 0, unix.EADDRINUSE
}

// Environment returns an environment in which programs find the proxy. The token has
// letters and digits only.
func Environment(env []string, port int, token string) []string {
	user := ""
	if token != "" {
		user = "deft:" + token + "@"
	}
	proxy := "http://" + user + "127.0.0.1:" + strconv.Itoa(port)
	const own = "localhost,127.0.0.1,::1"
	set := []string{"NODE_USE_ENV_PROXY=1"} // Node.js's own client asks for this
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		set = append(set, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	set = append(set, "NO_PROXY="+own, "no_proxy="+own)
	if token == "" { // Java sends no password to a proxy for HTTPS
		at := ".proxyHost=127.0.0.1 -D%s.proxyPort=" + strconv.Itoa(port)
		java := fmt.Sprintf(" -Dhttp"+at+" -Dhttps"+at, "http", "https")
		for _, name := range []string{"MAVEN_OPTS", "GRADLE_OPTS"} {
			own := ""
			for _, kv := range env {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					own = value
				}
			}
			set = append(set, name+"="+strings.TrimSpace(own+java))
		}
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	})
	return append(env, set...)
}

// startRelay starts the binary self as a relay for listeners.
func startRelay(self, path string, listeners []int) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	for _, fd := range listeners {
		files = append(files, uintptr(fd))
	}
	_, err = syscall.ForkExec(self, []string{"deft", RelayArg, path}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=none"}, Sys: &syscall.SysProcAttr{Setsid: true}, Files: files,
	})
	if err != nil {
		return fmt.Errorf("start the relay to the sandbox's proxy: %w", err)
	}
	return nil // the first process of the sandbox collects it
}
