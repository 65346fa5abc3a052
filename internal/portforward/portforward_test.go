package portforward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/portforward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	return l
}

func TestServe(t *testing.T) {
	t.Parallel()
	program := listen(t)
	go func() {
		for {
			conn, err := program.Accept()
			if err != nil {
				return
			}
			all, err := io.ReadAll(conn)
			if err == nil {
				_, err = conn.Write(append([]byte("got "), all...))
			}
			must.Report(t, err)
			conn.Close()
		}
	}()
	defer program.Close()
	ctx, cancel := context.WithCancel(t.Context())
	l := listen(t)
	dials := make(chan bool, 2)
	refused := make(chan error, 1)
	served := make(chan error, 1)
	go func() {
		served <- portforward.Serve(ctx, l, func(ctx context.Context) (portforward.Target, error) {
			if !<-dials {
				return nil, errors.New("nothing listens")
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", program.Addr().String())
			if err != nil {
				return nil, err
			}
			return conn.(*net.TCPConn), nil
		}, func(err error) { refused <- err })
	}()
	ask := func() (string, error) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "hello"); err != nil {
			return "", err
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return "", err
		}
		all, err := io.ReadAll(conn)
		return string(all), err
	}
	dials <- true
	if got, err := ask(); got != "got hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	dials <- false
	if got, _ := ask(); got != "" { // it is closed, perhaps by a reset
		t.Errorf("%q of nobody", got)
	}
	if err := <-refused; err == nil || err.Error() != "nothing listens" {
		t.Error(err)
	}
	dials <- true // one that is open at the end
	conn, err := net.Dial("tcp", l.Addr().String())
	must.Succeed(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	cancel()
	must.Report(t, <-served)
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}
