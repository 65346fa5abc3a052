package egress

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// names is a name server of the test: the addresses of each name, or, per query,
// the next of several answers.
type names struct {
	mu      sync.Mutex
	addrs   map[string][]string
	next    map[string]func() []string
	queries []string
}

func (n *names) lookup(name string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queries = append(n.queries, name)
	if f := n.next[name]; f != nil {
		return f()
	}
	return n.addrs[name]
}

// asked returns the names that were looked up.
func (n *names) asked() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.queries, " ")
}

// resolver serves the names and returns a resolver that asks for them.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must.Succeed(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(n.respond(buf[:size]), from)
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// respond answers a query with one question (RFC 1035 section 4).
func (n *names) respond(query []byte) []byte {
	end, labels := 12, []string{}
	for query[end] != 0 {
		size := int(query[end])
		labels = append(labels, string(query[end+1:end+1+size]))
		end += 1 + size
	}
	end += 5
	kind := binary.BigEndian.Uint16(query[end-4:])
	out := append([]byte{}, query[:end]...)
	binary.BigEndian.PutUint16(out[2:], 0x8180)
	binary.BigEndian.PutUint16(out[10:], 0) // no additional records
	count := uint16(0)
	for _, text := range n.lookup(strings.Join(labels, ".")) {
		a := netip.MustParseAddr(text)
		if a.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		raw := a.AsSlice()
		out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
		out = append(out, raw...)
		count++
	}
	binary.BigEndian.PutUint16(out[6:], count)
	return out
}
