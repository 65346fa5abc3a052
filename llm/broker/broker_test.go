package broker_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that answers from a function.
type fake struct {
	info  llm.Info
	calls atomic.Int32
	gen   func(n int, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error)
}

func (f *fake) Info() llm.Info { return f.info }

func (f *fake) Generate(_ context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return f.gen(int(f.calls.Add(1)), r, onDelta)
}

// endless is a model whose answers end with the call's context.
type endless func(ctx context.Context, onDelta func(llm.Delta))

func (endless) Info() llm.Info { return llm.Info{MaxOutput: 1000} }

func (f endless) Generate(ctx context.Context, _ llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	f(ctx, onDelta)
	return nil, failure(fault.Canceled)
}

func failure(kind fault.Kind, change ...func(*llm.Error)) *llm.Error {
	e := llm.NewError(kind, "p", "m", "failed", nil)
	e.Retryable = kind == fault.RateLimit || kind == fault.Unavailable || kind == fault.Timeout
	for _, c := range change {
		c(e)
	}
	return e
}

// clock notes how long was slept.
type clock struct{ waits []time.Duration }

func (c *clock) sleep(_ context.Context, d time.Duration) error {
	c.waits = append(c.waits, d)
	return nil
}

func none() float64 { return 0 }

func ignore(llm.Delta) {}

func TestWaits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts   broker.Options
		err    *llm.Error
		random float64
		want   []time.Duration
	}{
		"the reference's constants": {want: []time.Duration{8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second}},
		"full jitter":               {random: 1, want: []time.Duration{6 * time.Second, 12 * time.Second, 24 * time.Second, 48 * time.Second}},
		"own limits": {
			opts: broker.Options{Attempts: 4, Multiplier: 1, MinWait: 2 * time.Second, MaxWait: 3 * time.Second},
			want: []time.Duration{2 * time.Second, 2 * time.Second, 3 * time.Second},
		},
		"what the provider asked for": {
			opts: broker.Options{Attempts: 2}, err: failure(fault.RateLimit, func(e *llm.Error) { e.RetryAfter = 90 * time.Second }),
			want: []time.Duration{90 * time.Second},
		},
		"too long to wait": {err: failure(fault.RateLimit, func(e *llm.Error) { e.RetryAfter = time.Hour })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.err == nil {
				tt.err = failure(fault.Unavailable)
			}
			var c clock
			tt.opts.Sleep, tt.opts.Random = c.sleep, func() float64 { return tt.random }
			m := &fake{gen: func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) { return nil, tt.err }}
			_, err := broker.New(m, tt.opts).Generate(t.Context(), llm.Request{}, ignore)
			if !errors.Is(err, tt.err) || int(m.calls.Load()) != len(tt.want)+1 {
				t.Errorf("error %v after %d calls", err, m.calls.Load())
			}
			if diff := cmp.Diff(tt.want, c.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAtFirst gives an endpoint up early until a server has answered there.
func TestAtFirst(t *testing.T) {
	t.Parallel()
	away := failure(fault.Unavailable, func(e *llm.Error) { e.Unreached = true })
	for name, tt := range map[string]struct {
		opts broker.Options
		errs []*llm.Error // of each call; nil for an answer
		want []time.Duration
	}{
		"no limit":             {broker.Options{Attempts: 3}, []*llm.Error{away}, []time.Duration{8 * time.Second, 16 * time.Second}},
		"a limit":              {broker.Options{AtFirst: 10 * time.Second}, []*llm.Error{away}, []time.Duration{8 * time.Second}},
		"short waits":          {broker.Options{AtFirst: 10 * time.Second, MinWait: 1, Multiplier: 1}, []*llm.Error{away}, []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second}},
		"a long first wait":    {broker.Options{AtFirst: time.Second}, []*llm.Error{away}, []time.Duration{8 * time.Second}},
		"it has answered":      {broker.Options{AtFirst: 10 * time.Second, Attempts: 3}, []*llm.Error{nil, away}, []time.Duration{8 * time.Second, 16 * time.Second}},
		"it answers, badly":    {broker.Options{AtFirst: 10 * time.Second, Attempts: 3}, []*llm.Error{failure(fault.Unavailable)}, []time.Duration{8 * time.Second, 16 * time.Second}},
		"the call was stopped": {broker.Options{AtFirst: 10 * time.Second}, []*llm.Error{failure(fault.Canceled), away}, []time.Duration{8 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c clock
			m := &fake{}
			tt.opts.Sleep, tt.opts.Random = c.sleep, none
			b := broker.New(m, tt.opts)
			for _, want := range tt.errs {
				m.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
					if want != nil {
						return nil, want
					}
					return &llm.Response{}, nil
				}
				if _, err := b.Generate(t.Context(), llm.Request{}, ignore); (err == nil) != (want == nil) {
					t.Errorf("error %v, want %v", err, want)
				}
			}
			if diff := cmp.Diff(tt.want, c.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsRetried(t *testing.T) {
	t.Parallel()
	unreached := func(e *llm.Error) { e.Unreached = true }
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"rate limit":                        {failure(fault.RateLimit), true},
		"unavailable":                       {failure(fault.Unavailable), true},
		"timeout":                           {failure(fault.Timeout), true},
		"quota":                             {failure(fault.Quota), false},
		"auth":                              {failure(fault.Auth), false},
		"context":                           {failure(fault.Context), false},
		"content":                           {failure(fault.Content), false},
		"invalid":                           {failure(fault.Invalid), false},
		"quota that claims to be retryable": {failure(fault.Quota, func(e *llm.Error) { e.Retryable = true }), false},
		"never reached":                     {failure(fault.Unavailable, unreached), true},
		"another error":                     {errors.New("what"), false},
	} {
		var c clock
		m := &fake{gen: func(n int, _ llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			if n == 1 {
				return nil, tt.err
			}
			return &llm.Response{}, nil
		}}
		_, err := broker.New(m, broker.Options{Sleep: c.sleep}).Generate(t.Context(), llm.Request{}, ignore)
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEndlessAnswer wants an answer cut at the model's limit, and not asked for
// again.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	calls, delivered := 0, 0
	m := endless(func(ctx context.Context, onDelta func(llm.Delta)) {
		calls++
		for ctx.Err() == nil {
			onDelta(llm.Delta{Text: strings.Repeat("a", 100)})
		}
	})
	_, err := broker.New(m, broker.Options{}).Generate(t.Context(), llm.Request{}, func(d llm.Delta) { delivered += len(d.Text) })
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || fault.KindOf(err) != fault.Unavailable || e.Retryable || !e.Partial || !strings.Contains(err.Error(), "limit of 1000 tokens") {
		t.Errorf("%v", err)
	}
	if calls != 1 || delivered > 40_000 {
		t.Errorf("%d calls, %d bytes", calls, delivered)
	}
}

func TestLostConnectionIsRetried(t *testing.T) {
	t.Parallel()
	var c clock
	m := &fake{gen: func(n int, _ llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		switch n {
		case 1:
			return nil, failure(fault.RateLimit)
		case 2:
			return nil, failure(fault.Unavailable, func(e *llm.Error) { e.Unreached = true })
		}
		return &llm.Response{}, nil
	}}
	if _, err := broker.New(m, broker.Options{Sleep: c.sleep}).Generate(t.Context(), llm.Request{}, ignore); err != nil {
		t.Errorf("a server that answered before is given up: %v", err)
	}
}

func TestEmptyAnswerRaisesTemperature(t *testing.T) {
	t.Parallel()
	var c clock
	var temperatures []float64
	m := &fake{gen: func(n int, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		temperatures = append(temperatures, *r.Temperature)
		if n < 3 {
			return nil, failure(fault.Unavailable, func(e *llm.Error) { e.Code = llm.CodeEmpty })
		}
		return &llm.Response{}, nil
	}}
	cold := 0.0
	if _, err := broker.New(m, broker.Options{Sleep: c.sleep}).Generate(t.Context(), llm.Request{Temperature: &cold}, ignore); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0, 1, 1}, temperatures); diff != "" || cold != 0 {
		t.Errorf("temperatures: %s", diff)
	}
}

func TestCanceledWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		m := &fake{gen: func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) { return nil, failure(fault.Unavailable) }}
		_, err := broker.New(m, broker.Options{}).Generate(ctx, llm.Request{}, ignore)
		if fault.KindOf(err) != fault.Timeout || m.calls.Load() != 1 {
			t.Errorf("error %v after %d calls", err, m.calls.Load())
		}
	})
}

// TestNoDoubledText checks with a real adapter and a faulty server that each
// void text is reported before the next begins.
func TestNoDoubledText(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{
		{Fault: &llmtest.Fault{Kind: llmtest.RateLimit}},
		{Fault: &llmtest.Fault{Kind: llmtest.Reset, After: 2}, Reply: llmtest.Reply{Text: "The answer is 42."}, Pacing: llmtest.Pacing{ChunkSize: 3}},
		{Fault: &llmtest.Fault{Kind: llmtest.NoFinalChunk}, Reply: llmtest.Reply{Text: "The answer is 42."}},
		{Reply: llmtest.Reply{Text: "The answer is 42."}},
	}})
	m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1"})
	must.Succeed(t, err)
	var c clock
	shown := ""
	var voids []bool
	b := broker.New(m, broker.Options{Sleep: c.sleep, OnRetry: func(r broker.Retry) {
		voids = append(voids, r.Void)
		if r.Void {
			shown = ""
		}
	}})
	msgs := []event.Message{{Role: event.RoleUser, Content: event.Texts("?")}}
	resp, err := b.Generate(t.Context(), llm.Request{Messages: msgs}, func(d llm.Delta) { shown += d.Text })
	must.Succeed(t, err)
	if shown != "The answer is 42." || shown != event.JoinText(resp.Message.Content) {
		t.Errorf("a follower shows %q", shown)
	}
	if diff := cmp.Diff([]bool{false, true, true}, voids); diff != "" {
		t.Errorf("void texts: %s", diff)
	}
	if c.waits[0] < time.Second || c.waits[0] > 2*time.Second {
		t.Errorf("Retry-After of 1 s gave a wait of %v", c.waits[0])
	}
}
