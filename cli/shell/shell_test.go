package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/cli/shell"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/tool/pty"
)

// cutLink is a link to a sandbox that can be cut; output that comes through it cuts
// it at some lines.
type cutLink struct {
	path string
	at   []string

	mu   sync.Mutex
	open []net.Conn
	text bytes.Buffer
	cuts int
}

func (l *cutLink) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", l.path)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = append(l.open, conn)
	}
	return conn, err
}

// Write implements io.Writer for the shell's output.
func (l *cutLink) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if l.cuts < len(l.at) && strings.Contains(l.text.String(), l.at[l.cuts]) {
		l.cuts++
		for _, conn := range l.open {
			conn.Close()
		}
		l.open = nil
	}
	return len(b), nil
}

// TestShellReattaches loses the connection to the sandbox twice, and no output.
func TestShellReattaches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	journal, err := os.Create(filepath.Join(dir, "journal"))
	must.Succeed(t, err)
	link := &cutLink{path: filepath.Join(dir, "s"), at: []string{"line-20\n", "line-60\n"}}
	listener, err := net.Listen("unix", link.path)
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- actionserver.Serve(ctx, actionserver.Options{
			Listener: listener, Journal: journal, PTYs: pty.New(pty.Options{Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}),
		})
	}()
	defer func() {
		cancel()
		must.Report(t, <-served)
	}()
	rt, err := remote.New(remote.Options{Dial: link.dial})
	must.Succeed(t, err)
	defer rt.Close()
	terminal := &shell.Terminal{PTYs: rt, Streams: &stdio.Streams{Out: link, Env: os.Getenv}}
	code, err := terminal.Run(t.Context(), []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do echo line-$i; i=$((i+1)); sleep 0.01; done; exit 3"}, false)
	if code != 3 || err != nil || link.cuts != 2 {
		t.Errorf("exit code %d, %v, %d cuts", code, err, link.cuts)
	}
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&want, "line-%d\n", i)
	}
	if link.text.String() != want.String() {
		t.Errorf("got %q", link.text.String())
	}
	if list, err := rt.ListPTYs(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
