// Package peer tells which user of this machine is at the other end of a connection over
// loopback: a server without a key is for its own user only.
//
// # Usage
//
//	server := http.Server{ConnContext: peer.Context}
//	err := peer.Check(r) // for rest.Options
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. The kernel is asked once for each connection, when
// the first request needs it. Somebody else, and a peer that the kernel does not know, is an
// error of kind Denied.
package peer

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"

	"github.com/deft-dev/deft/fault"
)

type key struct{}

// Context is the ConnContext of an [http.Server] whose requests are checked.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, key{}, sync.OnceValue(func() error {
		return check(c.LocalAddr().String(), c.RemoteAddr().String())
	}))
}

// Check refuses a request that another user of this machine sends. Root may, as it may read
// and change every process.
func Check(r *http.Request) error {
	if asked, ok := r.Context().Value(key{}).(func() error); ok {
		return asked()
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return refused.Because(errUnknown)
	}
	return check(local.String(), r.RemoteAddr)
}

var (
	refused = fault.New(fault.Denied, "this server has no key and is for its own user only; another user of this machine sent the request").
		Hint("set OH_SESSION_API_KEYS_0 (or --session-api-key-file), and send the key")
	errUnknown = fault.New(fault.Unavailable, "the kernel does not say whose connection it is")
)

func check(local, remote string) error {
	to, err := netip.ParseAddrPort(local)
	if err != nil {
		return refused.Because(errUnknown)
	}
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return refused.Because(errUnknown)
	}
	to, from = netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	uid, err := owner(from, to)
	if err != nil {
		return refused.Because(err)
	}
	return allow(uid, os.Geteuid())
}

// allow decides about the user of a connection.
func allow(uid, own int) error {
	if uid != own && uid != 0 {
		return refused
	}
	return nil
}
