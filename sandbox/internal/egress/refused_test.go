package egress

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRefusedHosts asks the proxy for its refusals, which programs often do not
// show.
func TestRefusedHosts(t *testing.T) {
	t.Parallel()
	n := &names{addrs: map[string][]string{"site.test": {asPublic}}}
	port, _ := site(t, asPublic, false, hello)
	proxy := start(t, Options{Network: "site.test", Resolver: n.resolver(t)})
	c, own := through(t, proxy, nil), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, address := range []string{"http://site.test:" + port, "https://one.test/", "http://two.test/", "https://one.test/"} {
		get(t, c, address)
	}
	if got := get(t, own, proxy.String()+RefusedPath+"?within=1m"); got != "200 two.test is not a host that this sandbox may reach (--net=two.test allows it)\n"+
		"one.test is not a host that this sandbox may reach (--net=one.test allows it)" {
		t.Error(got)
	}
	if got := get(t, own, proxy.String()+RefusedPath+"?within=0s"); got != "200 " {
		t.Error(got)
	}
	if got := get(t, own, proxy.String()+RefusedPath); !strings.HasPrefix(got, "400 ") {
		t.Error(got)
	}
	for i := range 2 * maxRefused {
		get(t, c, fmt.Sprintf("http://h%d.test/", i))
	}
	if got := get(t, own, proxy.String()+RefusedPath+"?within=1h"); strings.Count(got, "\n")+1 != maxRefused || !strings.Contains(got, fmt.Sprintf("h%d.test ", 2*maxRefused-1)) {
		t.Error(got)
	}
}
