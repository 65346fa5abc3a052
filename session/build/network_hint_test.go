package build

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/sandbox"
)

func TestNetworkHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network sandbox.Network
		output  string
		want    string
	}{
		{"none", "curl: (6) Could not resolve host: pypi.org", "no network"},
		{"none", "fatal: unable to access 'https://x/': Could not resolve host: x", "no network"},
		{"none", "socket.gaierror: [Errno -3] Temporary failure in name resolution", "no network"},
		{"none", "npm error code EAI_AGAIN", "no network"},
		{"none", `Get "https://proxy.golang.org/": dial tcp: lookup proxy.golang.org: no such host`, "no network"},
		{"none", "connect: Network is unreachable", "no network"},
		{"none", "FAIL: TestSum", ""},
		{"none", "Could not resolve host" + strings.Repeat(" later output", 1000), ""},
		{"open", "ssh: Could not resolve hostname x: Temporary failure in name resolution", "HTTPS_PROXY only"},
		{"pypi.org", "curl: (56) CONNECT tunnel failed, response 403", "refused the host"},
		{"pypi.org", "Get x: deft: x is not a host that this sandbox may reach (--net=x allows it), CONNECT tunnel failed, response 403", ""},
	} {
		got := networkHint(c.network, c.output)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s, %.60s: %q", c.network, c.output, got)
		}
	}
}
