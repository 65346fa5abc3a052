package appserver_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/test/binary"
)

// TestIdleMemory: servers that have started give back what they have mapped of their program
// and only the start needed. More than half of it is mapped until then.
func TestIdleMemory(t *testing.T) {
	t.Parallel()
	program, err := os.Stat(binary.Path())
	must.Succeed(t, err)
	agent, app := binary.Serve(t), start(t, options{})
	for name, s := range map[string]struct {
		url string
		pid int
	}{"agent server": {agent.URL, agent.PID}, "App Server": {app.url, app.cmd.Process.Pid}} {
		waittest.Until(t, "the "+name+" gives back the half of its program", func() bool {
			get(t, s.url+"/health")
			return resident(t, s.pid) < program.Size()/2
		})
	}
}

// get makes a request that needs no key.
func get(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	must.Succeed(t, err)
	res, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	must.Succeed(t, res.Body.Close())
}

// resident is how much of files a process has mapped, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must.Succeed(t, err)
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			must.Succeed(t, err)
			return kb << 10
		}
	}
	t.Fatal("no RssFile")
	return 0
}
