package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
)

// load measures many conversations at once: 3 calls of the terminal each,
// with a model that takes its time.
func (b *bench) load(ctx context.Context) error {
	quick := []crowd{{16, 1.2}, {64, 1.5}, {256, 4}, {1000, 15}}
	if err := b.crowds(ctx, "load", 100*time.Millisecond, quick); err != nil {
		return err
	}
	// A new server: earlier loads must not influence this measurement.
	return b.crowds(ctx, "slow", 2*time.Second, []crowd{{1000, 1.5}})
}

// crowd is how many conversations are at work at once, and how many times as
// long as one alone they may take.
type crowd struct {
	n      int
	budget float64
}

// crowds measures crowds on one server, with a model that takes so long.
func (b *bench) crowds(ctx context.Context, dir string, delay time.Duration, list []crowd) (err error) {
	s, err := b.deftServer(ctx, filepath.Join(b.dir, dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	idle, err := b.deftServer(ctx, filepath.Join(b.dir, dir+"-idle"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idle.stop()) }()
	b.llm.delay.Store(int64(100 * time.Millisecond))
	defer b.llm.delay.Store(0)
	if _, err := b.together(ctx, s, 1); err != nil { // the first one warms up
		return err
	}
	b.llm.delay.Store(int64(delay))
	alone, err := b.together(ctx, s, 1)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("3 tool calls, LLM of %s: one conversation", delay), "", alone, 0)
	for _, c := range list {
		if err := b.crowd(ctx, s, idle, c, alone); err != nil {
			return err
		}
	}
	return nil
}

// crowd measures one crowd. How soon an idle server beside it answers shows the
// limits of the processors while clients, shells and the LLM share them.
func (b *bench) crowd(ctx context.Context, s, idle *server, c crowd, alone time.Duration) error {
	server, shells, err := s.cpu()
	if err != nil {
		return err
	}
	memory, err := s.memory()
	if err != nil {
		return err
	}
	health, err := watchHealth(ctx, s)
	if err != nil {
		return err
	}
	beside, err := watchHealth(ctx, idle)
	if err != nil {
		return err
	}
	took, err := b.together(ctx, s, c.n)
	p99, herr := health()
	baseline, ferr := beside()
	if err = errors.Join(err, herr, ferr); err != nil {
		return err
	}
	serverAfter, shellsAfter, err := s.cpu()
	if err != nil {
		return err
	}
	after, err := s.memory()
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(c.n) }
	b.note(fmt.Sprintf("  %d at once (%s alone)", c.n, ms(alone)), fmt.Sprintf("<= %gx", c.budget),
		fmt.Sprintf("%.2fx, %.1f ms CPU each, %.1f of them its shell's, %.0f KB each, /health p99 %s (an idle server: %s)",
			float64(took)/float64(alone), each(serverAfter-server+shellsAfter-shells), each(shellsAfter-shells), float64(after-memory)/1024/float64(c.n), ms(p99), ms(baseline)))
	return nil
}

// together runs n new conversations at once and returns how long they took.
func (b *bench) together(ctx context.Context, s *server, n int) (time.Duration, error) {
	ids := make([]event.ConversationID, n)
	for i := range ids {
		var err error
		if ids[i], err = s.create(ctx, b.llm.request(filepath.Join(s.dir, "ws"), 3)); err != nil {
			return 0, err
		}
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	began := time.Now()
	for i, id := range ids {
		wg.Go(func() {
			f, err := s.listen(ctx, id)
			if err != nil {
				errs[i] = err
				return
			}
			defer f.Close()
			_, errs[i] = s.turn(ctx, f, id)
		})
	}
	wg.Wait()
	return time.Since(began), errors.Join(errs...)
}
