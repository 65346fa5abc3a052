package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// healthEvery is how often /health is asked for.
const healthEvery = 10 * time.Millisecond

// watchHealth asks for /health until the returned function is called, which
// returns the 99th percentile. It does so from a separate process, as a
// monitor does: in this process it would compete with a thousand clients.
func watchHealth(ctx context.Context, s *server) (stop func() (time.Duration, error), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-health", s.url+"/health")
	cmd.Stderr = os.Stderr
	var out strings.Builder
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() (time.Duration, error) {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			return 0, fmt.Errorf("watch /health: %w", err)
		}
		return time.ParseDuration(strings.TrimSpace(out.String()))
	}, nil
}

// askHealth is the watching process: it asks until its input ends, and prints
// the 99th percentile.
func askHealth(url string) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that counts
	}()
	var took []time.Duration
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			_, err := fmt.Println(quantile(took, 0.99))
			return err
		case <-tick.C:
		}
		began := time.Now()
		res, err := http.Get(url) //nolint:noctx // it has no other end than its process
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
}
