package sandbox

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Network has the hosts that the commands in a sandbox may reach. All of it goes
// through an HTTP proxy that the provider runs outside. No mode allows the
// machine's own addresses, loopback, link-local addresses or the metadata services
// of clouds; private addresses are for hosts that are granted by name.
//
// The text is one of:
//
//	none                       nothing; also ""
//	open                       every public host
//	open,wiki.corp             every public host, and this one even if its address is private
//	x.org,.corp,[fd00::7]:443   these hosts only
//
// A host is a name, a name with all names below it (".corp" or "*.corp"), or an
// address; a port limits it to that port. ParseNetwork checks and normalizes it.
type Network string

// The modes without hosts of their own.
const (
	NetworkNone Network = "none"
	NetworkOpen Network = "open"
)

// ParseNetwork reads a Network, in any case and with spaces around commas. The
// error is of kind fault.Invalid.
func ParseNetwork(text string) (Network, error) {
	var hosts []string
	none, open := false, false
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		switch entry {
		case "":
		case string(NetworkNone):
			none = true
		case string(NetworkOpen):
			open = true
		default:
			g, err := parseGrant(entry)
			if err != nil {
				return "", err
			}
			hosts = append(hosts, g.String())
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	switch {
	case none && (open || len(hosts) > 0):
		return "", fault.New(fault.Invalid, "the network cannot be none and something else: "+text)
	case open:
		hosts = append([]string{string(NetworkOpen)}, hosts...)
	case len(hosts) == 0:
		return NetworkNone, nil
	}
	return Network(strings.Join(hosts, ",")), nil
}

// None reports whether nothing can be reached.
func (n Network) None() bool { return n == "" || n == NetworkNone }

// Open reports whether every public host can be reached.
func (n Network) Open() bool {
	return n == NetworkOpen || strings.HasPrefix(string(n), string(NetworkOpen)+",")
}

// Mode is "none", "list" or "open".
func (n Network) Mode() string {
	switch {
	case n.None():
		return "none"
	case n.Open():
		return "open"
	}
	return "list"
}

// Grants reports whether a host is granted by name: a lower-case name without a
// final dot, or an address.
func (n Network) Grants(host string, port uint16) bool {
	addr, err := netip.ParseAddr(host)
	literal := err == nil
	for entry := range strings.SplitSeq(string(n), ",") {
		if entry == "" || entry == string(NetworkNone) || entry == string(NetworkOpen) {
			continue
		}
		g, err := parseGrant(entry)
		if err != nil || g.port != 0 && g.port != port {
			continue
		}
		switch {
		case g.addr.IsValid():
			if literal && g.addr == addr.Unmap() {
				return true
			}
		case literal: // names are no patterns of addresses
		case g.name == host, g.below && strings.HasSuffix(host, "."+g.name):
			return true
		}
	}
	return false
}

// grant is one entry of a Network.
type grant struct {
	addr  netip.Addr // valid for an address
	name  string     // else a name
	below bool       // and all names below it
	port  uint16     // 0: every port
}

func (g grant) String() string {
	s := g.name
	switch {
	case g.addr.Is6() && g.port != 0:
		s = "[" + g.addr.String() + "]"
	case g.addr.IsValid():
		s = g.addr.String()
	case g.below:
		s = "." + g.name
	}
	if g.port != 0 {
		s += ":" + strconv.Itoa(int(g.port))
	}
	return s
}

// parseGrant reads a lower-case entry.
func parseGrant(entry string) (g grant, err error) {
	bad := fault.New(fault.Invalid, strconv.Quote(entry)+" is not a host that the network can be limited to").
		Hint("give names or addresses, with a port or without, for example --net=pypi.org,.example.com:443")
	host := entry
	if a, err := netip.ParseAddr(entry); err == nil && a.Zone() == "" {
		return grant{addr: a.Unmap()}, nil
	}
	if i := strings.LastIndexByte(entry, ':'); i >= 0 && !strings.HasSuffix(entry, "]") {
		port, err := strconv.ParseUint(entry[i+1:], 10, 16)
		if err != nil || port == 0 {
			return g, bad
		}
		host, g.port = entry[:i], uint16(port)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if err != nil || !closed || !a.Is6() || a.Zone() != "" {
			return g, bad
		}
		g.addr = a.Unmap()
		return g, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		g.addr = a
		return g, nil
	}
	host = strings.TrimPrefix(host, "*")
	g.name = strings.TrimSuffix(strings.TrimPrefix(host, "."), ".")
	g.below = g.name != strings.TrimSuffix(host, ".")
	if !ValidHostname(g.name) || strings.HasPrefix(entry, "*") && !g.below {
		return g, bad
	}
	return g, nil
}

// ValidHostname reports whether a lower-case text is a host name that can mean
// no address: "127.1" and "0x7f000001", which some programs take for addresses,
// are not.
func ValidHostname(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
		last = label
	}
	if strings.Trim(last, "0123456789") == "" { // a decimal or octal number
		return false
	}
	hex, isHex := strings.CutPrefix(last, "0x")
	return !isHex || strings.Trim(hex, "0123456789abcdef") != ""
}
