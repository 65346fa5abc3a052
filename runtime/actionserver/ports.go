package actionserver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
)

// Ports say which ports of the sandbox controllers see.
type Ports struct {
	// Hidden are the ports of the sandbox's own parts, such as its proxy.
	Hidden []int
}

// portRoutes adds the routes of ports.
func (s *server) portRoutes(mux *http.ServeMux) {
	handle := func(pattern string, do func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			defer s.presence.enter()()
			err := error(fault.New(fault.Unsupported, "this sandbox has no network of its own"))
			if s.ports != nil {
				err = do(w, r)
			}
			if err != nil {
				refuse(w, err)
			}
		})
	}
	handle("GET /v1/ports", s.listPorts)
	handle("POST /v1/ports/{port}/connect", s.connectPort)
}

func (s *server) listPorts(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.Port{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return fault.Wrap(err, fault.Internal, "read the sandbox's sockets")
		}
		for line := range strings.Lines(string(raw)) {
			if p, ok := listening(line); ok && !slices.Contains(s.ports.Hidden, p.Port) && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b protocol.Port) int { return a.Port - b.Port })
	reply(w, protocol.Ports{Ports: list})
	return nil
}

// listening reads a line of /proc/net/tcp or tcp6, proc_pid_net(5): the words of an
// address are in the machine's byte order.
func listening(line string) (p protocol.Port, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[3] != "0A" {
		return p, false
	}
	address, port, _ := strings.Cut(f[1], ":")
	ip, err := hex.DecodeString(address)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(ip)%4 != 0 {
		return p, false
	}
	for word := range slices.Chunk(ip, 4) { // little-endian on all machines that Deft runs on
		slices.Reverse(word)
	}
	return protocol.Port{Port: int(n), Address: net.IP(ip).String()}, true
}

// portTimeout is how long a program in the sandbox may take to accept a connection.
const portTimeout = 5 * time.Second

// dialPort connects to a program of the sandbox.
func dialPort(ctx context.Context, port string) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	var first error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		first = cmp.Or(first, err)
	}
	return nil, fault.Wrap(first, fault.Unavailable, "nothing in the sandbox answers on port "+port)
}

// connectPort connects the client to a program until both have closed their sides.
func (s *server) connectPort(w http.ResponseWriter, r *http.Request) error {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil || port == 0 {
		return fault.New(fault.Invalid, "a port is a number from 1 to 65535")
	}
	if err := s.enterProgram(); err != nil {
		return err
	}
	defer s.programsLeft.Done()
	target, err := dialPort(r.Context(), strconv.FormatUint(port, 10))
	if err != nil {
		return err
	}
	defer target.Close()
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "take the connection over")
	}
	defer conn.Close()
	if err := s.connectTarget(conn, buf.Reader, target); err != nil {
		s.log.Debug("connection to a port", "port", port, "error", err) // either side may leave at any time
	}
	return nil
}

func (s *server) connectTarget(conn net.Conn, in *bufio.Reader, target *net.TCPConn) error {
	if err := conn.SetDeadline(time.Time{}); err != nil { // of HTTP
		return err
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol.PortUpgrade); err != nil {
		return err
	}
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-s.stopping:
			_, _ = conn.Close(), target.Close() // both are only given up
		case <-over:
		}
	}()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(target, httputil.NewChunkedReader(in))
		if err == nil {
			err = target.CloseWrite()
		} else { // the client is gone
			err = errors.Join(err, target.Close())
		}
		sent <- err
	}()
	chunks := httputil.NewChunkedWriter(conn)
	_, err := io.Copy(chunks, target)
	if err == nil {
		err = chunks.Close()
		_, blank := io.WriteString(conn, "\r\n") // the chunked form ends with an empty line
		err = errors.Join(err, blank)
	}
	if err != nil {
		err = errors.Join(err, conn.Close())
	}
	err = errors.Join(err, <-sent)
	close(over)
	<-stopped
	return err
}
