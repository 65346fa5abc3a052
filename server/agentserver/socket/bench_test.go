package socket_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// bare is a client that only finds where frames end. early goes out with the
// handshake.
type bare struct {
	net.Conn
	r *bufio.Reader
}

func (h *fixture) bare(tb testing.TB, path string, buffer int, early ...byte) *bare {
	tb.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "ws://"))
	must.Succeed(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n%s", path, early)
	must.Succeed(tb, err)
	b := &bare{c, bufio.NewReaderSize(c, buffer)}
	res, err := http.ReadResponse(b.r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		tb.Fatal(res, err)
	}
	return b
}

// skip reads one frame.
func (b *bare) skip() error {
	var h [10]byte
	if _, err := io.ReadFull(b.r, h[:2]); err != nil {
		return err
	}
	n := int(h[1] & 127)
	switch n {
	case 126:
		if _, err := io.ReadFull(b.r, h[2:4]); err != nil {
			return err
		}
		n = int(binary.BigEndian.Uint16(h[2:]))
	case 127:
		if _, err := io.ReadFull(b.r, h[2:10]); err != nil {
			return err
		}
		n = int(binary.BigEndian.Uint64(h[2:]))
	}
	_, err := b.r.Discard(n)
	return err
}

// BenchmarkReplay sends a history of 50,000 events over one socket. The budget
// is 200,000 events/s.
func BenchmarkReplay(b *testing.B) {
	const events = 50_000
	for _, style := range []string{"events", "session"} {
		b.Run(style, func(b *testing.B) {
			h := setup(b)
			evs := make([]event.Event, 1000)
			for range events / len(evs) {
				for i := range evs {
					evs[i] = event.NewUserMessage("hello")
				}
				if _, err := h.store.Append(b.Context(), h.id, evs...); err != nil {
					b.Fatal(err)
				}
			}
			path := map[string]string{"events": h.events() + "?resend_mode=all", "session": h.session() + "?after_seq=-1"}[style]
			for b.Loop() {
				c := h.bare(b, path, 64<<10)
				for range events + 1 {
					must.Succeed(b, c.skip())
				}
				_ = c.Close()
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkFanOut appends one event at a time and waits until 1,000 followers
// have it. The budget is 20 ms for 99 of 100 deliveries, counted from the end
// of the append.
func BenchmarkFanOut(b *testing.B) {
	const followers = 1000
	h := setup(b)
	runtime.GC()
	before := memory()
	clients := make([]*bare, followers)
	for i := range clients {
		clients[i] = h.bare(b, h.events(), 512)
		must.Succeed(b, clients[i].skip())
	}
	per := (memory() - before) / followers
	at := make([]chan time.Time, followers)
	var wg sync.WaitGroup
	for i, c := range clients {
		at[i] = make(chan time.Time, 1)
		wg.Go(func() {
			for c.skip() == nil {
				at[i] <- time.Now()
			}
		})
	}
	h.add(b, "warm")
	for i := range at {
		<-at[i]
	}
	var took []time.Duration
	for b.Loop() {
		h.add(b, "hello")
		start := time.Now()
		for i := range at {
			took = append(took, (<-at[i]).Sub(start))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(per), "B/follower")
	for _, c := range clients {
		_ = c.Close()
	}
	wg.Wait()
}

// memory is the memory of the process, both ends of the sockets included.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
