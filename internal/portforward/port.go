package portforward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/fault"
)

// Port is a port of this machine that is passed on to one in a sandbox.
type Port struct {
	// Address is an address of this machine; 127.0.0.1 if none was named.
	Address netip.Addr `json:"address"`
	// Local is the port of this machine; 0 for a free one.
	Local int `json:"local"`
	// Port is the one in the sandbox.
	Port int `json:"port"`
}

// UnmarshalText reads PORT, LOCAL:PORT or ADDRESS:LOCAL:PORT, an IPv6 address in
// brackets. The error is of kind fault.Invalid.
func (p *Port) UnmarshalText(text []byte) error {
	refuse := func() error {
		return fault.New(fault.Invalid, "not a port: "+string(text)).Hint("give PORT, LOCAL:PORT or ADDRESS:LOCAL:PORT, for example 8080:80")
	}
	*p = Port{Address: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	local, inside := "", string(text)
	if i := strings.LastIndexByte(inside, ':'); i >= 0 {
		local, inside = inside[:i], inside[i+1:]
	} else {
		local = inside
	}
	if i := strings.LastIndexByte(local, ':'); i >= 0 {
		host, bracketed := strings.CutPrefix(local[:i], "[")
		host, closed := strings.CutSuffix(host, "]")
		address, err := netip.ParseAddr(host)
		if err != nil || bracketed != closed || bracketed != address.Is6() {
			return refuse()
		}
		p.Address, local = address, local[i+1:]
	}
	var err, lerr error
	p.Port, err = strconv.Atoi(inside)
	p.Local, lerr = strconv.Atoi(local)
	if err != nil || lerr != nil || p.Local < 0 || p.Local > 65535 || p.Port < 1 || p.Port > 65535 {
		return refuse()
	}
	return nil
}

// local is the address of this machine with its port.
func (p Port) local() string { return net.JoinHostPort(p.Address.String(), strconv.Itoa(p.Local)) }

// String describes a forwarded port for a user.
func (p Port) String() string { return fmt.Sprintf("%s is port %d of the sandbox", p.local(), p.Port) }

// Open are ports that accept connections; the zero value is none.
type Open struct {
	ports     []Port
	listeners []net.Listener
}

// Listen opens ports of this machine, all or none. The error is of kind fault.Conflict
// for one that is taken.
func Listen(ctx context.Context, ports []Port) (*Open, error) {
	o := &Open{}
	for _, p := range ports {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.local())
		if err != nil {
			hint := fmt.Sprintf("name another port of this machine, for example 0:%d for a free one", p.Port)
			return nil, errors.Join(fault.New(fault.Conflict, "open "+p.local()+" of this machine").Because(err).Hint(hint), o.Close())
		}
		p.Local = l.Addr().(*net.TCPAddr).Port
		o.ports, o.listeners = append(o.ports, p), append(o.listeners, l)
	}
	return o, nil
}

// Ports returns the open ports, with the numbers that were chosen for 0.
func (o *Open) Ports() []Port { return o.ports }

// Close closes the ports of an Open that is not served.
func (o *Open) Close() (err error) {
	for _, l := range o.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Serve passes connections on until ctx ends or a port fails, as [Serve] does, and closes
// the ports.
func (o *Open) Serve(ctx context.Context, dial func(ctx context.Context, port int) (Target, error), refused func(error)) error {
	all, ctx := errgroup.WithContext(ctx)
	for i, l := range o.listeners {
		all.Go(func() error {
			return Serve(ctx, l, func(ctx context.Context) (Target, error) { return dial(ctx, o.ports[i].Port) }, refused)
		})
	}
	return all.Wait()
}
