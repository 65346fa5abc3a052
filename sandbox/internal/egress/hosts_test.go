package egress

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/deft-dev/deft/sandbox"
)

// TestHosts reaches fixed addresses, where the network grants the name, and through no
// upstream proxy.
func TestHosts(t *testing.T) {
	t.Parallel()
	port, ca := site(t, asPublic, true, hello)
	private, _ := site(t, asPrivate, false, hello)
	u := newUpstream(t, asPublic+":"+port)
	n := &names{addrs: map[string][]string{"moved.test": {"127.0.0.1"}}}
	host := func(name, address string) sandbox.ExtraHost {
		return sandbox.ExtraHost{Name: name, Address: netip.MustParseAddr(address)}
	}
	proxy := serve(t, newProxy(Options{
		Network: "open,db.test,own.test", Resolver: n.resolver(t),
		Upstream: func(*http.Request) (*url.URL, error) { return u.url, nil },
		Hosts: []sandbox.ExtraHost{
			host("moved.test", asPublic), host("db.test", asPrivate), host("wiki.test", asPrivate), host("own.test", "127.0.0.1"),
		},
	}))
	c := through(t, proxy, ca)
	for address, want := range map[string]string{
		"https://moved.test:" + port:       "200 hello",
		"http://db.test:" + private:        "200 hello",
		"http://DB.test.:" + private:       "200 hello",
		"http://wiki.test:" + private:      "--net=open,wiki.test allows it", // private, and not named
		"http://own.test:" + private:       "no sandbox may reach",
		"http://sub.db.test:" + "80":       "200 fine", // the upstream proxy's
		"http://unknown.test:80/x?q=unfix": "200 fine",
	} {
		if got := get(t, c, address); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := u.asked(); strings.Contains(got, "moved") || strings.Contains(got, "db.test:"+private) {
		t.Errorf("the upstream proxy was asked %q", got)
	}
	closed := serve(t, newProxy(Options{Network: "other.test", Resolver: n.resolver(t), Hosts: []sandbox.ExtraHost{host("moved.test", asPublic)}}))
	if got := exchange(t, closed, "CONNECT", "moved.test:"+port); !strings.Contains(got, "is not a host that this sandbox may reach") {
		t.Error(got)
	}
}
