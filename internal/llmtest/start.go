package llmtest

import (
	"context"
	"sync"
)

// TB is the part of testing.TB used by [Start]; it keeps the testing package
// out of binaries that serve scripts.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start serves script on a free port until the test ends, and then fails the
// test for each of [Server.Errors].
func Start(t TB, script *Script) *Server {
	t.Helper()
	return StartWith(t, script, Options{})
}

// StartWith is [Start] with options.
func StartWith(t TB, script *Script, opts Options) *Server {
	t.Helper()
	s, err := New(script, opts)
	if err != nil {
		t.Fatalf("start scripted llm: %v", err)
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	ln, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatalf("start scripted llm: %v", err)
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ctx, ln); err != nil {
			t.Errorf("scripted llm: %v", err)
		}
	})
	t.Cleanup(func() {
		t.Helper()
		stop()
		wg.Wait()
		if opts.AllowErrors {
			return
		}
		for _, err := range s.Errors() {
			t.Errorf("scripted llm: unexpected request: %v", err)
		}
	})
	return s
}
