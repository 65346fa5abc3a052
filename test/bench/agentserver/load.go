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
func (b *bench) load(ctx context.Context) (err error) {
	s, err := b.deftServer(ctx, filepath.Join(b.dir, "load"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	b.llm.delay.Store(int64(100 * time.Millisecond))
	defer b.llm.delay.Store(0)
	if _, err := b.together(ctx, s, 1); err != nil { // the first one warms up
		return err
	}
	alone, err := b.together(ctx, s, 1)
	if err != nil {
		return err
	}
	b.row("3 tool calls, LLM of 100 ms: one conversation", "", alone, 0)
	for _, step := range []struct {
		n      int
		budget float64
	}{{16, 1.2}, {64, 1.5}, {256, 4}, {1000, 15}} {
		if err := b.crowd(ctx, s, step.n, step.budget, alone); err != nil {
			return err
		}
	}
	b.llm.delay.Store(int64(2 * time.Second))
	slow, err := b.together(ctx, s, 1)
	if err != nil {
		return err
	}
	return b.crowd(ctx, s, 1000, 1.5, slow)
}

func (b *bench) crowd(ctx context.Context, s *server, n int, budget float64, alone time.Duration) error {
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
	took, err := b.together(ctx, s, n)
	p99, herr := health()
	if err = errors.Join(err, herr); err != nil {
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
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }
	b.note(fmt.Sprintf("  %d at once (%s alone)", n, ms(alone)), fmt.Sprintf("<= %gx", budget),
		fmt.Sprintf("%.2fx, %.1f ms CPU each, %.1f of them its shell's, %.0f KB each, /health p99 %s",
			float64(took)/float64(alone), each(serverAfter-server+shellsAfter-shells), each(shellsAfter-shells), float64(after-memory)/1024/float64(n), ms(p99)))
	return nil
}

// together runs n new conversations at once, and returns how long all took.
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
