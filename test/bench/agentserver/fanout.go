package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/event"
)

// followers is how many sockets follow one conversation.
const followers = 1000

// warmUp is how many events are not counted: the first ones grow buffers and
// stacks, and bring the system prompt along.
const warmUp = 5

// fanOut measures how fast all followers of a conversation see an event, and
// what one that reads nothing costs.
func (b *bench) fanOut(ctx context.Context) (err error) {
	s, err := b.deftServer(ctx, filepath.Join(b.dir, "fanout"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	id, err := s.create(ctx, b.llm.request(filepath.Join(s.dir, "ws"), 0))
	if err != nil {
		return err
	}
	arrived := make(chan time.Time, followers)
	for range followers {
		conn, err := s.listen(ctx, id)
		if err != nil {
			return err
		}
		defer conn.Close()
		go tellMessages(conn, arrived) // ends with Close
	}
	stalled, err := s.follow(ctx, id, "?resend_mode=all") // nobody reads from it
	if err != nil {
		return err
	}
	defer func() { _ = stalled.CloseNow() }()
	var took []time.Duration
	for i := range warmUp + 100 {
		began := time.Now()
		if _, err := s.call(ctx, "POST", "/api/conversations/"+string(id)+"/events", `{"role":"user","content":[{"type":"text","text":"hello"}]}`); err != nil {
			return err
		}
		for range followers {
			if at := <-arrived; i >= warmUp {
				took = append(took, at.Sub(began))
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.row(fmt.Sprintf("an event at %d followers, p99", followers), "<= 20 ms", quantile(took, 0.99), 0)
	return nil
}

// listen opens a WebSocket whose bytes are read as they come: a thousand
// clients that do more with them take from the server what is measured.
func (s *server) listen(ctx context.Context, id event.ConversationID) (net.Conn, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /sockets/events/%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", id, u.Host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil) // takes nothing of the frames
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = res.Body.Close() // there is none
	if res.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("follow %s: %s", id, res.Status), conn.Close())
	}
	return conn, nil
}

// tellMessages sends the time when a message came.
func tellMessages(conn net.Conn, arrived chan<- time.Time) {
	mark := []byte(`"kind":"MessageEvent"`)
	buf := make([]byte, 16<<10)
	kept := 0 // of the last read: a mark may come in two pieces
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			return
		}
		all := buf[:kept+n]
		for range bytes.Count(all, mark) {
			arrived <- time.Now()
		}
		kept = min(len(mark)-1, len(all))
		copy(buf, all[len(all)-kept:])
	}
}
