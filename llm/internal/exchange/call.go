package exchange

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Call has the steps of one exchange that differ between adapters;
// [Endpoint.Do] does the rest.
type Call struct {
	NoStream bool    // the answer comes in one piece: only the total time counts
	Deltas   *Deltas // to which the answer is handed out
	// Ask sends the request. It returns an answer of status 2xx.
	Ask func(context.Context) (*http.Response, error)
	// Whole reads an answer that is one JSON document, Stream any other. Stream
	// reports each chunk to the watch.
	Whole  func(*http.Response) error
	Stream func(*http.Response, *Watch) error
	// Finish returns the answer that was read, with its cost if known.
	Finish func(http.Header) *llm.Response
}

// Do makes a call within the endpoint's time limits. All errors are *llm.Error.
func (e *Endpoint) Do(ctx context.Context, c Call) (*llm.Response, error) {
	started := time.Now()
	watch := e.watch(ctx, c.NoStream)
	defer watch.Stop()
	res, err := c.Ask(watch.Context())
	if err != nil {
		return nil, e.Failure(ctx, watch, err, false)
	}
	defer res.Body.Close()
	if IsJSON(res.Header) {
		err = c.Whole(res)
	} else {
		c.Deltas.watch, watch.counts = watch, true
		res.Body = &boundedStream{ReadCloser: res.Body, left: maxStream}
		err = c.Stream(res, watch)
	}
	if err != nil {
		failed := e.Failure(ctx, watch, err, c.Deltas.HandedOut)
		if failed.Code == llm.CodeEmpty {
			if out := c.Finish(res.Header); out.Usage != (llm.Usage{}) {
				out.Message, out.Latency = event.Message{}, time.Since(started)
				failed.Discarded = []*llm.Response{out}
			}
		}
		return nil, failed
	}
	finish(res, watch)
	out := c.Finish(res.Header)
	wellFormed(&out.Message)
	out.Latency = time.Since(started)
	if c.Deltas.HandedOut {
		out.FirstByte = c.Deltas.first.Sub(started)
	}
	return out, nil
}

func (e *Endpoint) watch(ctx context.Context, whole bool) *Watch {
	if whole {
		return e.WatchWhole(ctx)
	}
	return e.Watch(ctx)
}

// drainTime is how long a server may take to end an answer whose content is
// complete.
const drainTime = 20 * time.Millisecond

// finish reads the end of an answer, so that its connection can be reused: a
// new one would cost more than most of an adapter's work. If the server does
// not end its answer in time, the connection is closed.
func finish(res *http.Response, watch *Watch) {
	late := time.AfterFunc(drainTime, watch.Stop)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // an error is the end, too
}
