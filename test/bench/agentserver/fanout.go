package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// followers is how many sockets follow one conversation.
const followers = 1000

// warmUp is how many events are not counted: the first ones grow buffers and
// stacks, and bring the system prompt along.
const warmUp = 5

// fanOut measures how fast all followers of a conversation see an event, and the
// cost of one that reads nothing.
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
		f, err := s.listen(ctx, id)
		if err != nil {
			return err
		}
		defer f.Close()
		go tellMessages(f, arrived) // ends with Close
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

// tellMessages sends the time at which each message came.
func tellMessages(f *frames, arrived chan<- time.Time) {
	mark := []byte(`"kind":"MessageEvent"`)
	buf := make([]byte, 16<<10)
	kept := 0 // of the last read: a mark may come in two pieces
	for {
		n, err := f.Read(buf[kept:])
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
