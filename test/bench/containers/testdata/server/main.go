// Command server is the least that answers: it listens on the UNIX socket that its argument
// names, and sends each connection two bytes. The bench of containers compares with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, serve(context.Background(), os.Args[1]))
	os.Exit(1)
}

// serve only returns on failure.
func serve(ctx context.Context, path string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o666); err != nil { // the bench may be another user
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("ok"))
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
}
