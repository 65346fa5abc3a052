package addresses

import (
	"net/netip"
	"slices"
	"testing"
)

func TestNamesIn(t *testing.T) {
	t.Parallel()
	const hosts = "127.0.0.1 localhost\n127.0.1.1\thost.example.com host # it\n# 10.0.0.1 old\n10.0.0.1 Self\n10.0.0.2 db\nbroken line\n::1 ip6-localhost\nfe80::1%eth0 link\n"
	own := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1")}
	want := []string{"localhost", "host.example.com", "host", "Self", "ip6-localhost", "link"}
	if got := namesIn(hosts, own); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
