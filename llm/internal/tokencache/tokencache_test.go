package tokencache_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/llm/internal/tokencache"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestGet follows credentials from the first fetch until they expire.
func TestGet(t *testing.T) {
	t.Parallel()
	var passed time.Duration // since start
	fetched := 0
	var until time.Time
	var fail error
	c := tokencache.New(func(context.Context) (int, time.Time, error) {
		fetched++
		return fetched, until, fail
	}, func() time.Time { return start.Add(passed) })
	trouble := errors.New("trouble")
	for i, step := range []struct {
		passed time.Duration
		valid  time.Duration // lifetime of a fetched token; 0 is not kept
		fail   error
		want   int // 0: the error
	}{
		{0, 0, nil, 1},
		{0, 0, nil, 2},
		{0, time.Hour, trouble, 0},
		{0, time.Hour, nil, 4},
		{54 * time.Minute, 0, trouble, 4},
		{55 * time.Minute, 0, trouble, 4}, // fetched, without success
		{55*time.Minute + 59*time.Second, time.Hour, nil, 4},
		{56 * time.Minute, 0, trouble, 4},
		{59*time.Minute + 31*time.Second, 0, trouble, 0},
		{59*time.Minute + 31*time.Second, 4 * time.Minute, nil, 8},
		{61 * time.Minute, 0, trouble, 8},
		{62 * time.Minute, time.Hour, nil, 9}, // half of a short time has passed
	} {
		passed, fail, until = step.passed, step.fail, time.Time{}
		if step.valid != 0 {
			until = start.Add(passed + step.valid)
		}
		got, err := c.Get(t.Context())
		if got != step.want || (step.want == 0) != errors.Is(err, trouble) {
			t.Errorf("step %d: %d, %v, want %d", i, got, err, step.want)
		}
	}
}

// TestOneCallFetches checks that concurrent calls fetch once, and that a waiting
// call ends with its context.
func TestOneCallFetches(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	c := tokencache.New(func(context.Context) (string, time.Time, error) {
		close(begun) // a second time panics
		<-release
		return "x", start.Add(time.Hour), nil
	}, func() time.Time { return start })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := c.Get(t.Context()); got != "x" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that gave up: %v", err)
	}
	close(release)
	wg.Wait()
}

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"slow\ndown": "slow down", strings.Repeat("é", 200): strings.Repeat("é", 150) + "…"} {
		if got := tokencache.Line(text); got != want {
			t.Errorf("%q gives %q", text, got)
		}
	}
}
