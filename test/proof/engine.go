package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// engines are where the tests look for a Docker engine.
var engines = []string{os.Getenv("DOCKER_HOST"), os.Getenv("DEFT_TEST_DOCKER"), "unix:///var/run/docker.sock"}

// shareEngine lets the ordinary user use the engine of root's tests, as a member of the
// group docker does, until ctx ends. It returns the address; "" if there is no engine.
func shareEngine(ctx context.Context, path string) (string, error) {
	var engine string
	for _, address := range engines {
		socket, ok := strings.CutPrefix(address, "unix://")
		if !ok {
			continue
		}
		if conn, err := new(net.Dialer).DialContext(ctx, "unix", socket); err == nil {
			engine = socket
			_ = conn.Close()
			break
		}
	}
	if engine == "" {
		return "", nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err == nil {
		err = os.Chown(path, nobody, nobody)
	}
	if err != nil {
		return "", fmt.Errorf("share the engine: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go forward(ctx, conn, engine)
			}
		}
	}()
	return "unix://" + path, nil
}

// forward passes a connection on. One that breaks is the tests' to notice.
func forward(ctx context.Context, conn net.Conn, engine string) {
	defer conn.Close()
	to, err := new(net.Dialer).DialContext(ctx, "unix", engine)
	if err != nil {
		return
	}
	defer to.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, conn)
		_ = to.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, to)
	_ = conn.(*net.UnixConn).CloseWrite()
	<-done
}
