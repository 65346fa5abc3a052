package standard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/ipython"
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
		{"pypi.org", "Get x: deft: x is not a host that this sandbox may reach (--net=x allows it), CONNECT tunnel failed, response 403", ""},
	} {
		got := (&networkHint{network: c.network}).explain(c.output, 1)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s, %.60s: %q", c.network, c.output, got)
		}
	}
}

// TestRefusedHint names the hosts that the sandbox's proxy has refused, and asks it only
// after a command that failed.
func TestRefusedHint(t *testing.T) {
	t.Parallel()
	const one, two = "one.test is not a host that this sandbox may reach (--net=one.test allows it)", "two.test is a private address (--net=two.test allows it)"
	asked, hosts, failed := 0, []string{one, two}, error(nil)
	h := &networkHint{network: "x.test", since: time.Now(), refused: func(_ context.Context, within time.Duration) ([]string, error) {
		if asked++; within <= 0 || within > time.Minute {
			t.Error(within)
		}
		return slices.Clone(hosts), failed
	}}
	const curl = "curl: (56) CONNECT tunnel failed, response 403"
	if got := h.explain(curl, 0); got != "" || asked != 0 {
		t.Errorf("after success: %q, asked %d times", got, asked)
	}
	if got := h.explain(curl, 56); !strings.Contains(got, one+"; "+two+". Only the user") {
		t.Errorf("both: %q", got)
	}
	if got := h.explain("npm error 403 deft: "+one, 1); strings.Contains(got, "one.test") || !strings.Contains(got, two) {
		t.Errorf("said already: %q", got)
	}
	hosts = nil
	if got := h.explain("FAIL: TestSum", 1); got != "" {
		t.Errorf("nothing refused: %q", got)
	}
	hosts, failed = []string{one}, errors.New("gone")
	if got := h.explain("FAIL: TestSum", 1); got != "" {
		t.Errorf("no proxy: %q", got)
	}
}

// TestRefusedSlowly has a proxy whose first answer takes longer than a refusal is old when the
// command starts.
func TestRefusedSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "one.test is not a host that this sandbox may reach (--net=one.test allows it)"
		started := time.Now()
		time.Sleep(10 * time.Millisecond)
		refused := time.Now()
		delay := 300 * time.Millisecond
		h := &networkHint{network: "x.test", since: started, refused: func(_ context.Context, within time.Duration) ([]string, error) {
			time.Sleep(delay)
			delay = time.Millisecond
			if time.Since(refused) > within {
				return nil, nil
			}
			return []string{text}, nil
		}}
		if got := h.explain("wget: server returned error: HTTP/1.1 403 Forbidden", 1); !strings.Contains(got, text) {
			t.Errorf("got %q", got)
		}
	})
}

// notebook is an executor whose cells fail or not.
type notebook struct {
	tool.Executor
	failed bool
}

func (n notebook) Execute(context.Context, tool.Call) (event.Observation, error) {
	obs := &ipython.Observation{}
	obs.IsError = n.failed
	return obs, nil
}

// TestCellHint names the hosts after a cell that failed, or that starts programs: their failure is none of the cell's.
func TestCellHint(t *testing.T) {
	t.Parallel()
	const host = "one.test is not a host that this sandbox may reach (--net=one.test allows it)"
	for _, c := range []struct {
		code         string
		failed, told bool
	}{
		{"urlopen(url)", true, true}, {"x = 1\n  %pip install tea", false, true}, {"!curl $url", false, true},
		{"x % 2", false, false}, {"x != 2", false, false},
	} {
		x := cells{notebook{failed: c.failed}, networkHint{network: "x.test", refused: func(context.Context, time.Duration) ([]string, error) { return []string{host}, nil }}}
		obs, err := x.Execute(t.Context(), tool.Call{Action: &ipython.Action{Code: c.code}})
		if err != nil || strings.Contains(event.JoinText(obs.Result().Content), host) != c.told {
			t.Errorf("%s: %v, %v", c.code, obs.Result().Content, err)
		}
	}
}
