package addresses_test

import (
	"net/netip"
	"testing"

	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/internal/must"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("8.9.10.11"), netip.MustParseAddr("2a00::11"), netip.MustParseAddr("10.9.9.9")}
	for want, addrs := range map[addresses.Reach][]string{
		addresses.Public: {
			"8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2a00:1450::1", "2606:4700::1111", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
			"64:ff9b::808:808", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7", "2a00::5efe:808:808", "9.255.255.255", "11.0.0.0", "128.0.0.1", "223.255.255.255",
		},
		addresses.Private: {
			"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "fc00::1", "fd12:3456::1", "fd00::2",
			"::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:c0a8:101::1", "2001:0:1:2:0:0:f5ff:fffe", "2a00::5efe:a00:1", "2a00::200:5efe:a00:1",
			"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.0.0.8", "2001:db8::1", "2001:10::1", "3fff::1", "100::1", "5f00::1", "4000::1",
		},
		addresses.Never: {
			"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0.0.0.0", "0.1.2.3", "::", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1",
			"2001:0:1:2:0:0:80ff:fffe", "2a00::5efe:7f00:1", "fe80::5efe:7f00:1",
			"169.254.1.1", "169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fe80::1", "fe80::1%eth0", "fec0::1",
			"fd00:ec2::254", "fd20:ce::254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1",
			"8.9.10.11", "::ffff:8.9.10.11", "64:ff9b::809:a0b", "2a00::11", "2a00::11%eth0", "10.9.9.9",
		},
	} {
		for _, a := range addrs {
			if got, what := addresses.Classify(netip.MustParseAddr(a), own); got != want {
				t.Errorf("%s: %d (%s), want %d", a, got, what, want)
			}
		}
	}
}

func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	own, err := addresses.Own()
	must.Succeed(t, err)
	for _, a := range own {
		if r, _ := addresses.Classify(a, own); r != addresses.Never {
			t.Errorf("the machine's %s may be reached", a)
		}
	}
	if len(own) == 0 {
		t.Error("no addresses, not even loopback")
	}
}
