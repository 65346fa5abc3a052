package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// start measures a fresh server.
func (b *bench) start(ctx context.Context) error {
	var took []time.Duration
	var idle int64
	for i := range 10 {
		s, err := b.deftServer(ctx, filepath.Join(b.dir, fmt.Sprint("start", i)))
		if err != nil {
			return err
		}
		took = append(took, s.took)
		time.Sleep(200 * time.Millisecond) // idle is its use when it has settled
		m, err := s.memory()
		if err = errors.Join(err, s.stop()); err != nil {
			return err
		}
		idle = max(idle, m)
	}
	var peer time.Duration
	peerIdle := "-"
	p, err := b.peerServer(ctx, filepath.Join(b.dir, "start-peer"))
	if err != nil {
		return err
	}
	if p != nil {
		peer = p.took
		m, err := p.memory()
		if err = errors.Join(err, p.stop()); err != nil {
			return err
		}
		peerIdle = mb(m)
	}
	b.row("start to the first 200 on /health, p50", "<= 25 ms", quantile(took, 0.5), peer)
	b.note("idle resident memory", "<= 30 MB", mb(idle))
	b.rows[len(b.rows)-1].peer = peerIdle
	return nil
}

func mb(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// times are the results for one server.
type times struct{ create, tool, firstTool, text time.Duration }

// turns measures creating, and turns through REST and WebSocket.
func (b *bench) turns(ctx context.Context) error {
	s, err := b.deftServer(ctx, filepath.Join(b.dir, "turns"))
	if err != nil {
		return err
	}
	got, err := b.timesOf(ctx, s, 60)
	if err = errors.Join(err, s.stop()); err != nil {
		return err
	}
	var peer times
	p, err := b.peerServer(ctx, filepath.Join(b.dir, "turns-peer"))
	if err != nil {
		return err
	}
	if p != nil {
		peer, err = b.timesOf(ctx, p, 8)
		if err = errors.Join(err, p.stop()); err != nil {
			return err
		}
	}
	b.row("create, p50", "<= 1 ms", got.create, peer.create)
	b.row("first turn with a terminal call", "", got.firstTool, peer.firstTool)
	b.row("turn with a terminal call, p50", "<= 8 ms", got.tool, peer.tool)
	b.row("text-only turn, p50", "<= 3 ms", got.text, peer.text)
	return nil
}

func (b *bench) timesOf(ctx context.Context, s *server, n int) (t times, err error) {
	ws := filepath.Join(s.dir, "ws")
	var create []time.Duration
	for range 5 * n {
		body := b.llm.request(ws, 0)
		began := time.Now()
		raw, err := s.call(ctx, http.MethodPost, "/api/conversations", body)
		create = append(create, time.Since(began))
		if err == nil {
			_, err = idOf(raw)
		}
		if err != nil {
			return t, err
		}
	}
	t.create = quantile(create, 0.5)
	if _, t.text, err = b.turnsOf(ctx, s, 0, n); err != nil {
		return t, err
	}
	t.firstTool, t.tool, err = b.turnsOf(ctx, s, 1, n)
	return t, err
}

// turnsOf measures turns of a new conversation with so many tool calls each.
func (b *bench) turnsOf(ctx context.Context, s *server, tools, n int) (first, p50 time.Duration, err error) {
	id, err := s.create(ctx, b.llm.request(filepath.Join(s.dir, "ws"), tools))
	if err != nil {
		return 0, 0, err
	}
	f, err := s.listen(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var took []time.Duration
	for i := range n {
		d, err := s.turn(ctx, f, id)
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			first = d
		} else {
			took = append(took, d)
		}
		time.Sleep(30 * time.Millisecond) // a person does not answer at once
	}
	return first, quantile(took, 0.5), nil
}
