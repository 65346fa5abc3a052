package broker_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// member is a model of a chain that fails with err, or answers if it is nil.
func member(name string, window int, err error) *fake {
	return &fake{
		info: llm.Info{Name: name, ContextWindow: window, Vision: true},
		gen: func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
			if err != nil {
				return nil, err
			}
			return &llm.Response{Model: name}, nil
		},
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	limit := fault.New(fault.Limit, "the spending limit would be exceeded")
	partial := failure(fault.Unavailable, func(e *llm.Error) { e.Partial = true })
	small := failure(fault.Context)
	for name, tt := range map[string]struct {
		chain []llm.Model
		want  string // who answers
		via   []string
	}{
		"the first answers":         {chain: []llm.Model{member("a", 0, nil), member("b", 0, nil)}, want: "a"},
		"rate limit":                {chain: []llm.Model{member("a", 0, failure(fault.RateLimit)), member("b", 0, nil)}, want: "b", via: []string{"a>b false"}},
		"half an answer is void":    {chain: []llm.Model{member("a", 0, partial), member("b", 0, nil)}, want: "b", via: []string{"a>b true"}},
		"two fail":                  {chain: []llm.Model{member("a", 0, failure(fault.Timeout)), member("b", 0, failure(fault.Unavailable)), member("c", 0, nil)}, want: "c", via: []string{"a>b false", "b>c false"}},
		"all fail":                  {chain: []llm.Model{member("a", 0, failure(fault.Timeout)), member("b", 0, failure(fault.Unavailable))}, via: []string{"a>b false"}},
		"never after a denial":      {chain: []llm.Model{member("a", 0, limit), member("b", 0, nil)}},
		"never after a used-up one": {chain: []llm.Model{member("a", 0, failure(fault.Quota)), member("b", 0, nil)}},
		"never after a bad request": {chain: []llm.Model{member("a", 0, failure(fault.Invalid)), member("b", 0, nil)}},
		"never after a refusal":     {chain: []llm.Model{member("a", 0, failure(fault.Auth)), member("b", 0, nil)}},
		"the next that is larger":   {chain: []llm.Model{member("a", 8_000, small), member("b", 4_000, nil), member("c", 100_000, nil)}, want: "c", via: []string{"a>c false"}},
		"none is larger":            {chain: []llm.Model{member("a", 8_000, small), member("b", 4_000, nil)}},
	} {
		var via []string
		f, err := broker.NewFallback(func(s broker.Switched) {
			via = append(via, fmt.Sprintf("%s>%s %v", s.From.Name, s.To.Name, s.Void))
		}, tt.chain...)
		must.Succeed(t, err)
		resp, err := f.Generate(t.Context(), llm.Request{}, ignore)
		if (err == nil) != (tt.want != "") || err == nil && (resp.Model != tt.want || resp.By(f.Info()).Name != tt.want) {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
		if diff := cmp.Diff(tt.via, via); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := broker.NewFallback(nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an empty chain: %v", err)
	}
}

// TestFallbackComesAfterTheRetries runs a chain of a model whose retries fail
// and a second one with the same budget.
func TestFallbackComesAfterTheRetries(t *testing.T) {
	t.Parallel()
	var c clock
	budget := broker.NewBudget(0.005)
	first, second := priced(nil), priced(func() float64 { return 0 })
	first.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) { return nil, failure(fault.Unavailable) }
	o := broker.Options{Budget: budget, Sleep: c.sleep, Attempts: 3}
	f, err := broker.NewFallback(nil, broker.New(first, o), broker.New(second, o))
	must.Succeed(t, err)
	r := ask("x")
	r.MaxOutputTokens = 100
	if _, err := f.Generate(t.Context(), r, ignore); err != nil || first.calls.Load() != 3 || second.calls.Load() != 1 {
		t.Errorf("%v after %d and %d calls", err, first.calls.Load(), second.calls.Load())
	}
	budget.SetLimit(0)
	if _, err := f.Generate(t.Context(), r, ignore); fault.KindOf(err) != fault.Limit || first.calls.Load() != 3 || second.calls.Load() != 1 {
		t.Errorf("past the limit: %v after %d and %d calls", err, first.calls.Load(), second.calls.Load())
	}
}

func TestImageRouter(t *testing.T) {
	t.Parallel()
	vision, text := member("vision", 100_000, nil), member("text", 2_000, nil)
	text.info.Vision = false
	m, err := broker.NewImageRouter(vision, text, 0)
	must.Succeed(t, err)
	picture := event.Content{Type: event.TypeImage, ImageURLs: []string{"data:image/png;base64,AA=="}}
	for name, tt := range map[string]struct {
		msgs []event.Message
		want string
	}{
		"text":                {ask("x").Messages, "text"},
		"an image":            {[]event.Message{{Role: event.RoleUser, Content: []event.Content{picture}}}, "vision"},
		"an image of a tool":  {append(ask("x").Messages, event.Message{Role: event.RoleTool, Content: []event.Content{picture}}), "vision"},
		"longer than text is": {ask(string(make([]byte, 20_000))).Messages, "vision"},
	} {
		resp, err := m.Generate(t.Context(), llm.Request{Messages: tt.msgs}, ignore)
		if err != nil || resp.Model != tt.want || resp.By(m.Info()).Name != tt.want {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
	if m.Info().Name != "vision" {
		t.Errorf("info %+v", m.Info())
	}
	if _, err := broker.NewImageRouter(text, vision, 0); fault.KindOf(err) != fault.Invalid || errors.Unwrap(err) != nil {
		t.Errorf("a blind model for images: %v", err)
	}
}
