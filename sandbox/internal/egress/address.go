package egress

import (
	"net"
	"net/netip"
)

// reach says which hosts may have an address.
type reach int

const (
	public  reach = iota // every host
	private              // a host that was granted by name
	never                // no host
)

// ranges are those whose addresses are not public, from the registries of
// special-purpose addresses (RFC 6890) and the documents of the clouds. The first
// one that contains an address decides.
var ranges = func() (out []struct {
	netip.Prefix
	reach
	what string
}) {
	for _, r := range []struct {
		reach
		what     string
		prefixes []string
	}{
		{never, "a cloud's metadata service", []string{
			"169.254.169.254/32", "169.254.170.0/24", "fd00:ec2::254/128", "fd00:ec2::23/128", // Amazon: instances, containers, EKS
			"fd20:ce::254/128",   // Google
			"168.63.129.16/32",   // Azure
			"100.100.100.200/32", // Alibaba
			"192.0.0.192/32",     // Oracle
		}},
		{never, "a loopback address", []string{"127.0.0.0/8", "::1/128"}},
		{never, "an unspecified address", []string{"0.0.0.0/8", "::/128"}},
		{never, "a link-local address", []string{"169.254.0.0/16", "fe80::/10", "fec0::/10"}},
		{never, "a multicast address", []string{"224.0.0.0/4", "ff00::/8"}},
		{never, "a reserved address", []string{"240.0.0.0/4"}},
		{private, "a private address", []string{
			"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7",
		}},
		{private, "an address with a special purpose", []string{
			"192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "192.88.99.0/24",
			"2001::/23", "2001:db8::/32", "3fff::/20",
		}},
	} {
		for _, p := range r.prefixes {
			out = append(out, struct {
				netip.Prefix
				reach
				what string
			}{netip.MustParsePrefix(p), r.reach, r.what})
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

// classify says which hosts may have an address, and what kind of address it is.
// own are the machine's addresses.
func classify(a netip.Addr, own []netip.Addr) (reach, string) {
	a = a.WithZone("").Unmap()
	for _, o := range own {
		if o.WithZone("").Unmap() == a {
			return never, "an address of this machine"
		}
	}
	for _, r := range ranges {
		if teredo.Contains(a) {
			break // an IPv4 address is in it
		}
		if r.Contains(a) {
			return r.reach, r.what
		}
	}
	if a.Is4() {
		return public, ""
	}
	if inner, ok := embedded(a); ok {
		return classify(inner, own)
	}
	if !globalUnicast.Contains(a) {
		return private, "an address that is not public"
	}
	return public, ""
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

// ownAddresses returns the addresses of the machine's interfaces.
func ownAddresses() ([]netip.Addr, error) {
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
