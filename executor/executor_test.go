package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

func TestPanicNamesItsPlace(t *testing.T) {
	t.Parallel()
	x := open(t, journalPath(t), "boot", func(context.Context, tool.Call) (event.Observation, error) {
		var m map[string]int
		m["x"] = 1
		return nil, nil
	})
	_, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}})
	if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "executor_test.go:") {
		t.Errorf("got %v", err)
	}
}

func TestToolEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	x := open(t, journalPath(t), "boot", func(context.Context, tool.Call) (event.Observation, error) {
		runtime.Goexit()
		return nil, nil
	})
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}}); !fault.Is(err, fault.Internal) {
		t.Errorf("got %v", err)
	}
}

// TestStartedIsWrittenFirst looks at the journal from inside the tool.
func TestStartedIsWrittenFirst(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	x := open(t, path, "boot", func(_ context.Context, c tool.Call) (event.Observation, error) {
		if !strings.Contains(contents(t, path), string(c.ID)) {
			t.Error("the tool runs and the journal does not know")
		}
		return thought("the result"), nil
	})
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "some-id", Action: think("")}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(contents(t, path), "the result") {
		t.Error("the result was answered and the journal does not have it")
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	shown, release := make(chan struct{}), make(chan struct{})
	x := open(t, journalPath(t), "boot", func(_ context.Context, c tool.Call) (event.Observation, error) {
		for i := range 5000 {
			c.Progress(tool.Chunk{Text: fmt.Sprintf("line %d é\n", i)})
		}
		c.Progress(tool.Chunk{Text: strings.Repeat("x", 40<<10) + "end"})
		close(shown)
		<-release
		return thought(""), nil
	})
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}}); err != nil {
			t.Error(err)
		}
	})
	<-shown
	for _, tail := range []bool{true, false} {
		ctx, leave := context.WithCancel(t.Context())
		var got string
		if !tail {
			leave()
		}
		_, err := x.Execute(ctx, tool.Request{Call: tool.Call{ID: "a", Progress: func(c tool.Chunk) {
			got += c.Text
			leave()
		}}, Tail: tail})
		leave()
		if !fault.Is(err, fault.Canceled) {
			t.Errorf("got error %v", err)
		}
		if tail != (len(got) == 16<<10 && strings.HasSuffix(got, "end")) {
			t.Errorf("tail %v: got %d bytes", tail, len(got))
		}
	}
	close(release)
	all.Wait()
}

func TestCloseInterruptsAndRecords(t *testing.T) {
	t.Parallel()
	path := journalPath(t)
	started := make(chan struct{})
	x := open(t, path, "boot", func(ctx context.Context, _ tool.Call) (event.Observation, error) {
		close(started)
		<-ctx.Done()
		return thought("cut short"), nil
	})
	left, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := x.Execute(left, tool.Request{Call: tool.Call{ID: "a", Action: think("")}}); !fault.Is(err, fault.Canceled) {
			t.Errorf("got error %v", err)
		}
	})
	<-started
	leave()
	all.Wait()
	shut(t, x)
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "b", Action: think("")}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after Close: got error %v", err)
	}
	x = open(t, path, "boot", nil)
	obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a"}, Again: true})
	if err != nil || textOf(t, obs) != "cut short" {
		t.Errorf("got %v, %v", obs, err)
	}
}

// TestResultWithoutAJournal has the journal fail while an action runs: the
// result is answered all the same, and again.
func TestResultWithoutAJournal(t *testing.T) {
	t.Parallel()
	j := reopen(t, journalPath(t), "boot")
	x := executor.New(map[string]tool.Executor{"ThinkAction": toolFunc(func(context.Context, tool.Call) (event.Observation, error) {
		return thought("done"), j.Close()
	})}, j)
	for range 2 {
		obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}})
		if err != nil || textOf(t, obs) != "done" {
			t.Errorf("got %v, %v", obs, err)
		}
	}
	if x.JournalErr() == nil {
		t.Error("the failure of the journal is not reported")
	}
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "b", Action: think("")}}); err == nil {
		t.Error("an action was run that the journal does not know")
	}
	shut(t, x)
}

type closer struct {
	toolFunc
	err error
}

func (c closer) Close() error { return c.err }

func TestCloseErrors(t *testing.T) {
	t.Parallel()
	broken, release, started := errors.New("broken"), make(chan struct{}), make(chan struct{})
	x := executor.New(map[string]tool.Executor{"ThinkAction": closer{func(context.Context, tool.Call) (event.Observation, error) {
		close(started)
		<-release
		return thought(""), nil
	}, broken}}, executor.InMemoryRepeatable())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think("")}}); err != nil {
			t.Error(err)
		}
	})
	<-started
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := x.Close(over)
	if !errors.Is(err, broken) || !errors.Is(err, fault.New(fault.Timeout, "")) {
		t.Errorf("got error %v, want a timeout and the tool's", err)
	}
	close(release)
	all.Wait()
}
