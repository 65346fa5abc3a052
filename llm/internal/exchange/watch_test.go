package exchange_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// TestWatch wants a streamed answer to be limited by the gaps between its chunks
// and not by its length.
func TestWatch(t *testing.T) {
	t.Parallel()
	cfg := llm.Config{Model: "p/m", BaseURL: "http://127.0.0.1/v1", Timeout: 10 * time.Second, IdleTimeout: 20 * time.Second, FirstTimeout: time.Minute}
	synctest.Test(t, func(t *testing.T) {
		e := exchange.New("p", cfg, "")
		w := e.Watch(t.Context())
		for range 100 {
			w.Progress()
			time.Sleep(9 * time.Second)
		}
		if err := w.Context().Err(); err != nil {
			t.Errorf("a long answer was cut: %v", err)
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if w.Context().Err() == nil {
			t.Error("a stalled answer was not cut")
		}
		w.Stop()
		w = e.Watch(t.Context())
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if w.Context().Err() == nil {
			t.Error("an answer that did not begin in time was waited for")
		}
		w.Stop()
	})
}
