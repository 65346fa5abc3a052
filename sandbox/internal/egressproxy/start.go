package egressproxy

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/egress"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
)

// MaxFiles bounds the descriptors of a proxy: two for each connection, and some for
// look-ups.
const MaxFiles = 2*egress.MaxConnections + 128

// The proxy's descriptors.
const (
	fdConfig = 3 // a pipe with a config
	fdFirst  = 4 // a pidfd of the sandbox's first process
	fdSocket = 5 // a UNIX socket by which the listeners come
)

// config is the proxy's configuration. It comes through a pipe, because it may
// hold the password of the host's proxy.
type config struct {
	Network sandbox.Network
	Hosts   []sandbox.ExtraHost
	Token   string
	Proxies map[string]string // the host's variables for proxies
}

// proxyVariables tell the proxy through which other one the host reaches the
// network (see net/http.ProxyFromEnvironment).
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}

// Options say which proxy to start.
type Options struct {
	// Self is the binary.
	Self string
	// First is the process with which the proxy ends.
	First int
	// Network has the hosts that may be reached.
	Network sandbox.Network
	// Hosts are names that are not looked up.
	Hosts []sandbox.ExtraHost
	// Token must be shown by programs; "" for none.
	Token string
	// Socket is the end of a UNIX socket by which the listeners come.
	Socket *os.File
	// Log takes the proxy's standard output and error.
	Log *os.File
}

// Start starts the proxy and returns its process id. The caller collects it.
func Start(o Options) (pid int, err error) {
	first, err := unix.PidfdOpen(o.First, 0)
	if err != nil {
		return 0, fmt.Errorf("watch the sandbox for its proxy: %w", err)
	}
	defer unix.Close(first)
	r, w, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make pipe: %w", err)
	}
	defer w.Close()
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	pid, err = syscall.ForkExec(o.Self, []string{"deft", egresslisten.ProxyArg, strconv.Itoa(MaxFiles)}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=none"}, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), o.Log.Fd(), o.Log.Fd(), r.Fd(), uintptr(first), o.Socket.Fd()},
	})
	if err != nil {
		return 0, fmt.Errorf("start the sandbox's proxy: %w", err)
	}
	c := config{Network: o.Network, Hosts: o.Hosts, Token: o.Token, Proxies: map[string]string{}}
	for _, name := range proxyVariables {
		if v := os.Getenv(name); v != "" {
			c.Proxies[name] = v
		}
	}
	if err := json.NewEncoder(w).Encode(c); err != nil {
		return pid, fmt.Errorf("configure the sandbox's proxy: %w", err)
	}
	return pid, nil
}
