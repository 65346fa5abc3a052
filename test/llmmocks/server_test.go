package llmmocks_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script returns the path of an installed server's program.
func script(t *testing.T, parts ...string) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		must.Succeed(t, err)
		cache = filepath.Join(home, ".cache")
	}
	path := filepath.Join(append([]string{cache, "deft-deps", "llmmocks", "node_modules"}, parts...)...)
	_, err := os.Stat(path)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v; run make deps", err)
		}
		t.Skipf("%v; run make deps", err)
	}
	return path
}

// serve starts a server and waits until it says that it listens.
func serve(t *testing.T, ready *regexp.Regexp, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	cmd.Stderr = cmd.Stdout
	must.Succeed(t, cmd.Start())
	found := make(chan []string, 1)
	drained := make(chan struct{})
	var said strings.Builder // read after drained
	go func() {
		defer close(drained)
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			if m := ready.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			t.Errorf("the server ended: %v", err)
		}
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	m, ok := <-found
	if !ok {
		t.Fatal("the server did not start")
	}
	return m
}

// freePort returns an unused port.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}
