package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// source serves bytes at an address that stands for another machine's: on each
// connection as many as the client names in a line.
func source(b *testing.B) (address string) {
	b.Helper()
	l := listen(b, asPublic+":0")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				b.Error(err)
				return
			}
			go func() {
				defer c.Close()
				var n int64
				if _, err := fmt.Fscanln(c, &n); err != nil {
					return
				}
				chunk := make([]byte, 1<<20)
				for ; n > 0; n -= int64(len(chunk)) {
					if _, err := c.Write(chunk[:min(n, int64(len(chunk)))]); err != nil {
						return
					}
				}
			}()
		}
	}()
	b.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// tunnel connects through the proxy.
func tunnel(b *testing.B, proxy, to string) net.Conn {
	b.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	r := bufio.NewReaderSize(c, 512)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusOK || r.Buffered() > 0 {
		b.Fatal(resp, err)
	}
	return c
}

// BenchmarkConnect measures the proxy's share of a connection, up to the first
// byte.
func BenchmarkConnect(b *testing.B) {
	to := source(b)
	proxy := start(b, Options{Network: "open"}).Host
	var direct, proxied []time.Duration
	first := func(dial func() net.Conn) time.Duration {
		began := time.Now()
		c := dial()
		defer c.Close()
		if _, err := fmt.Fprintln(c, 1); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	for b.Loop() {
		direct = append(direct, first(func() net.Conn {
			c, err := net.Dial("tcp", to)
			if err != nil {
				b.Fatal(err)
			}
			return c
		}))
		proxied = append(proxied, first(func() net.Conn { return tunnel(b, proxy, to) }))
	}
	slices.Sort(direct)
	slices.Sort(proxied)
	b.ReportMetric(float64((proxied[len(proxied)/2]-direct[len(direct)/2]).Nanoseconds())/1e6, "added-p50-ms")
}

// BenchmarkTunnel measures the throughput of one connection, directly and by the proxy:
// the difference is the proxy's. Client and server take their part of the processors in
// both.
func BenchmarkTunnel(b *testing.B) {
	const size = 256 << 20
	to := source(b)
	proxy := start(b, Options{Network: "open"}).Host
	for name, dial := range map[string]func(b *testing.B) net.Conn{
		"direct": func(b *testing.B) net.Conn {
			b.Helper()
			c, err := net.Dial("tcp", to)
			if err != nil {
				b.Fatal(err)
			}
			return c
		},
		"proxy": func(b *testing.B) net.Conn {
			b.Helper()
			return tunnel(b, proxy, to)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				conn := dial(b)
				if _, err := fmt.Fprintln(conn, size); err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, conn); err != nil || n != size {
					b.Fatal(n, err)
				}
				conn.Close()
			}
		})
	}
}
