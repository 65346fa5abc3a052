package exchange_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// stream is an answer that read makes.
type stream struct {
	ctx  context.Context
	read func(ctx context.Context, p []byte) (int, error)
}

func (s stream) Read(p []byte) (int, error) { return s.read(s.ctx, p) }

// streamed makes a call whose answer is a stream of events. Each event whose data is
// "x" is content.
func streamed(t *testing.T, cfg llm.Config, read func(ctx context.Context, p []byte) (int, error)) error {
	t.Helper()
	e := exchange.New("p", cfg, "http://127.0.0.1/v1")
	deltas := exchange.To(func(llm.Delta) {})
	_, err := e.Do(t.Context(), exchange.Call{
		Deltas: &deltas,
		Ask: func(ctx context.Context) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(stream{ctx, read})}, nil
		},
		Stream: func(res *http.Response, w *exchange.Watch) error {
			for events := exchange.NewEvents(res.Body); ; {
				data, err := events.Next()
				if err != nil {
					return err
				}
				if w.Progress(); string(data) == "x" {
					deltas.Emit(llm.Delta{Text: "x"})
				}
			}
		},
	})
	return err
}

// TestOnlyKeepAlives has servers that send an event each minute and never end: with
// content the answer goes on, without it is given up.
func TestOnlyKeepAlives(t *testing.T) {
	t.Parallel()
	cfg := llm.Config{Model: "p/m", IdleTimeout: 5 * time.Minute}
	for event, want := range map[string]struct {
		after time.Duration
		says  string
	}{
		"data: x\n\n":  {25 * time.Hour, "over"}, // the server ends it
		"data: {}\n\n": {21 * time.Minute, "kept the connection alive"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			over := errors.New("over")
			err := streamed(t, cfg, func(ctx context.Context, p []byte) (int, error) {
				if time.Since(began) > 25*time.Hour {
					return 0, over
				}
				select {
				case <-time.After(time.Minute):
					return copy(p, event), nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			})
			if took := time.Since(began); !strings.Contains(err.Error(), want.says) || took > want.after+time.Minute || took < want.after-time.Minute {
				t.Errorf("%q: %v after %v", event, err, took)
			}
		})
	}
}

// TestEndlessStream has a server that sends events without content as fast as it
// can: that is cut, and not asked for again.
func TestEndlessStream(t *testing.T) {
	t.Parallel()
	event := append(append([]byte("data: {"), bytes.Repeat([]byte(" "), 8000)...), "}\n\n"...)
	sent := 0
	err := streamed(t, llm.Config{Model: "p/m"}, func(_ context.Context, p []byte) (int, error) {
		n := copy(p, event[sent%len(event):])
		sent += n
		return n, nil
	})
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || fault.KindOf(err) != fault.Unavailable || e.Retryable || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("%v", err)
	}
	if sent > 257<<20 {
		t.Errorf("%d MB were read", sent>>20)
	}
}
