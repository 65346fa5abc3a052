package docker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
	"github.com/deft-dev/deft/sandbox/internal/socketpath"
)

// A container has no network of the engine's. With a Spec.Network its first stage
// listens on the container's own loopback interface, hands these listeners to the
// proxy's process outside through inside.ProxySocket, and waits until that runs. gVisor cannot
// hand them over: the proxy listens on inside.RelaySocket then, which a relay inside connects to.

// proxyStart starts the proxy of one container. Its methods do nothing if the
// container has no network.
type proxyStart struct {
	p        *Provider
	s        sandbox.Spec
	listener *net.UnixListener // nil without a network
	failed   chan error        // gets at most one
	wg       sync.WaitGroup
}

// listenForProxy waits for the first stage's listeners.
func (p *Provider) listenForProxy(s sandbox.Spec) (_ *proxyStart, err error) {
	ps := &proxyStart{p: p, s: s, failed: make(chan error, 1)}
	if s.Network.None() {
		return ps, nil
	}
	if ps.listener, err = p.listenUnix(s.ID, runDir, inside.ProxySocket, "unixpacket"); err != nil {
		return nil, fmt.Errorf("listen for the container's first stage: %w", err)
	}
	return ps, nil
}

// listenUnix listens on a socket that the container can connect to.
func (p *Provider) listenUnix(id, dir, name, network string) (*net.UnixListener, error) {
	path, release, err := socketpath.Short(filepath.Join(p.dir(id), dir, name))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // path may no longer be valid then
	// The container's user may be another one; the parent directory keeps all others out.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// start takes the first stage's connection, in the background, and starts the proxy,
// which ends with the process first. It is called at most once.
func (ps *proxyStart) start(first int) {
	if ps.listener == nil {
		return
	}
	ps.wg.Go(func() {
		if err := ps.serve(first); err != nil && !errors.Is(err, net.ErrClosed) {
			ps.failed <- err
		}
	})
}

func (ps *proxyStart) serve(first int) error {
	conn, err := ps.listener.AcceptUnix()
	if err != nil {
		return err
	}
	defer conn.Close()
	socket, err := ps.listeners(conn)
	if err != nil {
		return err
	}
	defer socket.Close()
	log, err := os.OpenFile(filepath.Join(ps.p.dir(ps.s.ID), inside.LogName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the sandbox's log: %w", err)
	}
	defer log.Close()
	pid, err := egressproxy.Start(egressproxy.Options{Self: ps.p.opt.Self, First: first, Network: ps.s.Network, Hosts: ps.s.Container.ExtraHosts, Socket: socket, Log: log})
	if pid != 0 {
		err = errors.Join(err, ps.p.proxies.Collect(pid))
	}
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte{0})
	return err
}

// listeners returns the socket by which the proxy gets its listeners.
func (ps *proxyStart) listeners(conn *net.UnixConn) (*os.File, error) {
	relay, err := egressproxy.Relayed(conn)
	if err != nil {
		return nil, fmt.Errorf("wait for the container's listeners: %w", err)
	}
	if !relay {
		return conn.File()
	}
	l, err := ps.p.listenUnix(ps.s.ID, relayDir, inside.RelaySocket, "unix")
	if err != nil {
		return nil, fmt.Errorf("listen for the container's relay: %w", err)
	}
	defer l.Close() // the proxy has it
	return egressproxy.Handed(l)
}

// close waits for the work that start has begun, and removes the socket.
func (ps *proxyStart) close() {
	if ps.listener == nil {
		return
	}
	ps.listener.Close()
	ps.wg.Wait()
	_ = os.Remove(filepath.Join(ps.p.dir(ps.s.ID), runDir, inside.ProxySocket)) // one that stays accepts nothing
}
