package probe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers by the question.
type model struct {
	info   llm.Info
	answer func(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error)
	asked  int
}

func (m *model) Info() llm.Info { return m.info }

func (m *model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	m.asked++
	return m.answer(ctx, r, onDelta)
}

// question returns the question of a request.
func question(r llm.Request) string { return event.JoinText(r.Messages[len(r.Messages)-1].Content) }

func said(text string) *llm.Response {
	return &llm.Response{Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}, Cost: 0.25, CostKnown: true}
}

// capable answers everything as it should be answered.
func capable(_ context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	q := question(r)
	switch {
	case len(r.Tools) > 0:
		resp := said("")
		resp.Message.ToolCalls = []event.ToolCall{{Name: r.Tools[0].Name, Arguments: `{"city":"Paris"}`}}
		return resp, nil
	case strings.Contains(q, "Count"):
		onDelta(llm.Delta{Text: "1 2 "})
		onDelta(llm.Delta{Text: "3 4"})
		resp := said("1 2 3 4")
		resp.FirstByte, resp.Latency, resp.Usage.Output = time.Second, 3*time.Second, 8
		return resp, nil
	case strings.Contains(q, "colour"):
		return said("Red."), nil
	}
	return said("ready"), nil
}

func TestCapable(t *testing.T) {
	t.Parallel()
	m := &model{info: llm.Info{Name: "a/b", Provider: "a"}, answer: capable}
	var shown []probe.Result
	r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute}, func(k probe.Result) error {
		shown = append(shown, k)
		return nil
	})
	must.Succeed(t, err)
	one := 1.0
	want := probe.Report{
		Model: "a/b", Provider: "a", FirstToken: 1, TokensPerSecond: 4, Cost: &one,
		Checks: []probe.Result{
			{Name: "answer", OK: true, Detail: `"ready" after 0.00 s`},
			{Name: "streaming", OK: true, Detail: "2 pieces, the first after 1.00 s, 4 tokens/s"},
			{Name: "tools", OK: true, Detail: "called with the right arguments"},
			{Name: "images", OK: true, Detail: "saw the red square"},
		},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Checks, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if m.asked != 4 {
		t.Errorf("%d questions", m.asked)
	}
}

// TestIncapable has a model that answers everything but one question well.
func TestIncapable(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Invalid, "not supported")
	for _, c := range []struct {
		name, check string
		answer      func(r llm.Request) (*llm.Response, error) // nil for a good one
		want        probe.Result
	}{
		{
			"empty answer", "ready", func(llm.Request) (*llm.Response, error) { return nil, &llm.Error{Code: llm.CodeEmpty} },
			probe.Result{Name: "answer", OK: true, Detail: "the key is accepted, but the answer was empty"},
		},
		{
			"long answer", "ready", func(llm.Request) (*llm.Response, error) { return said(strings.Repeat("x", 100) + "\x1b[2J"), nil },
			probe.Result{Name: "answer", OK: true, Detail: `"` + strings.Repeat("x", 60) + `…" after 0.00 s`},
		},
		{
			"one piece", "Count", func(llm.Request) (*llm.Response, error) { return said("1 2 3"), nil },
			probe.Result{Name: "streaming", Detail: "0 pieces, the first after 0.00 s"},
		},
		{
			"streaming refused", "Count", func(llm.Request) (*llm.Response, error) { return nil, refused },
			probe.Result{Name: "streaming", Detail: "not supported", Err: refused},
		},
		{
			"words for a call", "report_weather", func(llm.Request) (*llm.Response, error) { return said("I would call\x1b it"), nil },
			probe.Result{Name: "tools", Detail: `no call; it said "I would call\x1b it"`},
		},
		{
			"bad arguments", "report_weather", func(r llm.Request) (*llm.Response, error) {
				resp := said("")
				resp.Message.ToolCalls = []event.ToolCall{{Name: "other"}, {Name: r.Tools[0].Name, Arguments: `{"town":"Paris"}`}}
				return resp, nil
			}, probe.Result{Name: "tools", Detail: `the call's arguments are not what the schema says: {"town":"Paris"}`},
		},
		{
			"blind", "colour", func(llm.Request) (*llm.Response, error) { return said("blue"), nil },
			probe.Result{Name: "images", Detail: `a red square was taken, but not seen; it said "blue"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &model{answer: func(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
				if strings.Contains(question(r), c.check) {
					return c.answer(r)
				}
				return capable(ctx, r, onDelta)
			}}
			r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute}, func(probe.Result) error { return nil })
			if err != nil || r.Failure != nil || len(r.Checks) != 4 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, k := range r.Checks {
				switch {
				case k.Name != c.want.Name && !k.OK:
					t.Errorf("%+v", k)
				case k.Name == c.want.Name:
					if diff := cmp.Diff(c.want, k, cmpopts.EquateErrors()); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}

// TestNoAnswer asks nothing more of a model that does not answer at all.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Auth, "the key is refused")
	m := &model{answer: func(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) { return nil, refused }}
	r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute, ContextUpTo: 4096}, func(probe.Result) error { return nil })
	if err != nil || !errors.Is(r.Failure, refused) || len(r.Checks) != 1 || m.asked != 1 || r.Length != nil {
		t.Errorf("%+v after %d questions, %v", r, m.asked, err)
	}
}

// TestEnds stops where the result cannot be shown, and where the context ends.
func TestEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	m := &model{answer: capable}
	if _, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute}, func(probe.Result) error { return broken }); !errors.Is(err, broken) || m.asked != 1 {
		t.Errorf("%v after %d questions", err, m.asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = &model{answer: capable}
	_, err := probe.Model(ctx, m, probe.Options{Timeout: time.Minute}, func(probe.Result) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || m.asked != 1 {
		t.Errorf("%v after %d questions", err, m.asked)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{answer: func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		began := time.Now()
		r, err := probe.Model(t.Context(), m, probe.Options{Timeout: 7 * time.Second}, func(probe.Result) error { return nil })
		if err != nil || !errors.Is(r.Failure, context.DeadlineExceeded) || time.Since(began) != 7*time.Second {
			t.Errorf("%+v, %v after %s", r, err, time.Since(began))
		}
	})
}

// TestUnpriced gives no cost where one call has no price.
func TestUnpriced(t *testing.T) {
	t.Parallel()
	m := &model{answer: func(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
		resp, err := capable(ctx, r, onDelta)
		resp.CostKnown = len(r.Tools) == 0
		return resp, err
	}}
	r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute}, func(probe.Result) error { return nil })
	if err != nil || r.Cost != nil {
		t.Errorf("cost %v, %v", r.Cost, err)
	}
}

// TestContextLength has models that refuse long prompts, cut them and say so in
// their usage, and cut them without counting.
func TestContextLength(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	tokens := func(r llm.Request) int { return strings.Count(question(r), "the ") + 80 }
	for _, c := range []struct {
		name   string
		window int
		upTo   int
		read   func(size int) (*llm.Response, error)
		fits   [2]int // between
		ok     bool
	}{
		{"refuses", 0, 100_000, func(n int) (*llm.Response, error) {
			if n > limit {
				return nil, fault.New(fault.Context, "too long")
			}
			return said("plum"), nil
		}, [2]int{9_400, limit}, true},
		{"counts", limit, 100_000, func(n int) (*llm.Response, error) {
			resp := said("I do not know")
			resp.Usage.Prompt = min(n, limit)
			return resp, nil
		}, [2]int{9_400, limit}, true},
		{"forgets", 0, 100_000, func(n int) (*llm.Response, error) {
			if n > limit {
				return said("no idea"), nil
			}
			return said("The word is Plum."), nil
		}, [2]int{9_400, limit}, true},
		{"reads all", 0, 20_000, func(int) (*llm.Response, error) { return said("plum"), nil }, [2]int{20_000, 20_000}, true},
		{"reads nothing", 0, 20_000, func(int) (*llm.Response, error) { return nil, fault.New(fault.Context, "too long") }, [2]int{0, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &model{info: llm.Info{ContextWindow: c.window}, answer: func(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
				if strings.Contains(question(r), "code word") {
					return c.read(tokens(r))
				}
				return capable(ctx, r, onDelta)
			}}
			r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute, ContextUpTo: c.upTo}, func(probe.Result) error { return nil })
			if err != nil || r.Length == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			k := r.Checks[len(r.Checks)-1]
			if l := *r.Length; l.Fits < c.fits[0] || l.Fits > c.fits[1] || l.Calls > 12 || l.Calls != m.asked-4 || k.Name != "length" || k.OK != c.ok {
				t.Errorf("%+v, %+v", l, k)
			}
		})
	}
}

// TestContextLengthFails keeps the findings until then.
func TestContextLengthFails(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "connection refused")
	var long int
	m := &model{answer: func(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
		if !strings.Contains(question(r), "code word") {
			return capable(ctx, r, onDelta)
		}
		if long++; long == 2 {
			return nil, down
		}
		return said("plum"), nil
	}}
	r, err := probe.Model(t.Context(), m, probe.Options{Timeout: time.Minute, ContextUpTo: 100_000}, func(probe.Result) error { return nil })
	must.Succeed(t, err)
	k := r.Checks[len(r.Checks)-1]
	if k.OK || !errors.Is(k.Err, down) || k.Detail != "prompts of 8192 tokens fit; stopped: connection refused" || r.Length.Fits != 8192 {
		t.Errorf("%+v, %+v", k, r.Length)
	}
}
