package remote

import (
	"bufio"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestWriteAfterEnd: input for a program that has ended fails as it does on this machine.
func TestWriteAfterEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	must.Succeed(t, err)
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	must.Succeed(t, err)
	server, err := l.Accept()
	must.Succeed(t, err)
	p := newProcess(conn, bufio.NewReader(conn))
	must.Succeed(t, server.Close())
	<-p.ended
	if _, err := p.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("it failed with: %v", err)
	}
	must.Succeed(t, p.Close())
}
