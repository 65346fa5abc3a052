// Package addresses tells kinds of IP addresses apart: public on the Internet,
// private, or leading to this machine or to its cloud.
//
// # Usage
//
//	own, err := addresses.Own()
//	reach, what := addresses.Classify(a, own)
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Own fails if the machine does not tell its
// addresses; nothing is to be reached then.
package addresses

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Reach says for which hosts an address is reached that input of others names.
type Reach int

// Who may be reached.
const (
	Public  Reach = iota // every host
	Private              // a host that was granted by name
	Never                // no host
)

// ranges are those whose addresses are not public, from the registries of
// special-purpose addresses (RFC 6890) and the documents of the clouds. The first
// one that contains an address decides.
var ranges = func() (out []struct {
	netip.Prefix
	Reach
	what string
}) {
	for _, r := range []struct {
		Reach
		what     string
		prefixes []string
	}{
		{Never, "a cloud's metadata service", []string{
			"169.254.169.254/32", "169.254.170.0/24", "fd00:ec2::254/128", "fd00:ec2::23/128", // Amazon: instances, containers, EKS
			"fd20:ce::254/128",   // Google
			"168.63.129.16/32",   // Azure
			"100.100.100.200/32", // Alibaba
			"192.0.0.192/32",     // Oracle
		}},
		{Never, "a loopback address", []string{"127.0.0.0/8", "::1/128"}},
		{Never, "an unspecified address", []string{"0.0.0.0/8", "::/128"}},
		{Never, "a link-local address", []string{"169.254.0.0/16", "fe80::/10", "fec0::/10"}},
		{Never, "a multicast address", []string{"224.0.0.0/4", "ff00::/8"}},
		{Never, "a reserved address", []string{"240.0.0.0/4"}},
		{Private, "a private address", []string{
			"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7",
		}},
		{Private, "an address with a special purpose", []string{
			"192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "192.88.99.0/24",
			"2001::/23", "2001:db8::/32", "3fff::/20",
		}},
	} {
		for _, p := range r.prefixes {
			out = append(out, struct {
				netip.Prefix
				Reach
				what string
			}{netip.MustParsePrefix(p), r.Reach, r.what})
		}
	}
	return out
}()

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local    = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	teredo        = netip.MustParsePrefix("2001::/32")
	compatible    = netip.MustParsePrefix("::/96")
)

// Classify says which hosts may have an address, and its kind. own are the machine's
// addresses. The text is for errors, empty for a public address.
func Classify(a netip.Addr, own []netip.Addr) (Reach, string) {
	a = a.WithZone("").Unmap()
	for _, o := range own {
		if o.WithZone("").Unmap() == a {
			return Never, "an address of this machine"
		}
	}
	for _, r := range ranges {
		if teredo.Contains(a) {
			break // an IPv4 address is in it
		}
		if r.Contains(a) {
			return r.Reach, r.what
		}
	}
	if a.Is4() {
		return Public, ""
	}
	if inner, ok := embedded(a); ok {
		return Classify(inner, own)
	}
	if !globalUnicast.Contains(a) {
		return Private, "an address that is not public"
	}
	return Public, ""
}

// embedded returns the IPv4 address that a gateway sends packets for an IPv6
// address to. For the local NAT64 prefix, whose layout only its operator knows, it
// is one that no host may have.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case nat64.Contains(a), compatible.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case nat64Local.Contains(a):
		return netip.IPv4Unspecified(), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(a):
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214
		return netip.AddrFrom4([4]byte(b[12:])), true
	}
	return netip.Addr{}, false
}

// Own returns the addresses of the machine's interfaces.
func Own() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr())
		}
	}
	return own, nil
}

// hostsFile has names of this machine, hosts(5).
const hostsFile = "/etc/hosts"

// OwnNames returns the names by which the machine knows itself: its host name, and the names that
// the file of hosts gives an address of this machine. They are in lower case.
func OwnNames(own []netip.Addr) []string {
	var names []string
	if name, err := os.Hostname(); err == nil && name != "" {
		short, _, _ := strings.Cut(name, ".")
		names = append(names, name, short, short+".local") // as mDNS has it, RFC 6762
	}
	if raw, err := os.ReadFile(hostsFile); err == nil { // it may be missing
		names = append(names, namesIn(string(raw), own)...)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.ToLower(name), ".")
	}
	return names
}

// namesIn returns the names in a file of hosts that lead to this machine.
func namesIn(hosts string, own []netip.Addr) (names []string) {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		a, err := netip.ParseAddr(fields[0])
		if err != nil || !OfMachine(a, own) {
			continue
		}
		names = append(names, fields[1:]...)
	}
	return names
}

// OfMachine reports whether an address leads to this machine.
func OfMachine(a netip.Addr, own []netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return a.IsLoopback() || a.IsUnspecified() || slices.ContainsFunc(own, func(o netip.Addr) bool { return o.WithZone("").Unmap() == a })
}
