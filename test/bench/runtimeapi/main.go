// Command runtimeapi measures `deft runtime-api`: how long a client waits for a runtime and
// its first command, from the pool and without it, one at a time and 300 at once.
//
// Usage: go run ./test/bench/runtimeapi -deft bin/deft [-docker unix:///…] [-image NAME]
//
// Any failure ends it: a wrong number is worse than none.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	deft := flag.String("deft", "bin/deft", "the binary to measure")
	docker := flag.String("docker", "", "address of a Docker engine, to measure containers as well")
	image := flag.String("image", "deft-test-busybox:1", "image for them")
	runs := flag.Int("runs", 100, "runtimes to start one after the other")
	claims := flag.Int("claims", 300, "runtimes to start at once")
	flag.Parse()
	if err := measure(context.Background(), *deft, *docker, *image, *runs, *claims); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, deft, docker, image string, runs, claims int) error {
	bin, err := filepath.Abs(deft)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tbudget\tp50\tp90\tp99")
	row := func(what, budget string, took []time.Duration) {
		slices.Sort(took)
		at := func(q float64) string {
			return fmt.Sprintf("%.1f ms", float64(took[int(q*float64(len(took)-1))].Microseconds())/1000)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", what, budget, at(0.5), at(0.9), at(0.99))
	}
	const warm = "p50 <= 20 ms, p99 <= 60 ms"
	for _, m := range []struct {
		what, budget string
		pool         int
		docker       bool
		command      []string
	}{
		{"process, from the pool: action server, first command", warm, 20, false, action},
		{"process, from the pool: agent server, first command", warm, 20, false, agent},
		{"process, started: action server, first command", "-", 0, false, action},
		{"docker, from the pool: action server, first command", warm, 10, true, action},
		{"docker, from the pool: agent server, first command", warm, 10, true, agent},
		{"docker, started: action server, first command", "-", 0, true, action},
	} {
		if m.docker && docker == "" {
			continue
		}
		engine, n := "", runs
		if m.docker {
			engine, n = docker, max(1, runs/3)
		}
		took, err := sequence(ctx, bin, engine, image, m.pool, n, m.command)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		row(m.what, m.budget, took)
	}
	took, err := atOnce(ctx, bin, claims)
	if err != nil {
		return fmt.Errorf("claims at once: %w", err)
	}
	row(fmt.Sprintf("process, %d claims at once", claims), "p90 <= 300 ms", took)
	return w.Flush()
}

// sequence starts runtimes one after the other and runs a command in each.
func sequence(ctx context.Context, bin, docker, image string, pool, n int, command []string) (took []time.Duration, err error) {
	s, err := start(ctx, bin, docker, image, pool)
	if err != nil {
		return nil, err
	}
	defer func() { err = s.end(err) }()
	for i := range n {
		if err := s.await(ctx, pool); err != nil { // one at a time: nothing is started beside it
			return nil, err
		}
		time.Sleep(20 * time.Millisecond) // until all sandboxes are quiet
		began := time.Now()
		r, err := s.begin(ctx, fmt.Sprint(i), command)
		if err == nil {
			err = r.first(ctx, command)
		}
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if err := s.stop(ctx, r); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// atOnce starts runtimes at the same time.
func atOnce(ctx context.Context, bin string, n int) (took []time.Duration, err error) {
	s, err := start(ctx, bin, "", "", n)
	if err != nil {
		return nil, err
	}
	defer func() { err = s.end(err) }()
	if err := s.await(ctx, n); err != nil {
		return nil, err
	}
	took = make([]time.Duration, n)
	all, errs := make([]runtime, n), make([]error, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			began := time.Now()
			all[i], errs[i] = s.begin(ctx, fmt.Sprint(i), action)
			took[i] = time.Since(began)
		})
	}
	close(begin)
	wg.Wait()
	ids := map[string]bool{}
	for i, r := range all {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if ids[r.ID] {
			return nil, fmt.Errorf("the runtime %s has two owners", r.ID)
		}
		ids[r.ID] = true
	}
	hits, err := s.metric(ctx, "deft_pool_hits_total")
	if err == nil && hits != n {
		err = fmt.Errorf("%d of %d claims were served by the pool", hits, n)
	}
	for _, r := range all {
		if err == nil {
			err = s.stop(ctx, r)
		}
	}
	return took, err
}
