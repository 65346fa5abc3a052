package session_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// streaming is a model whose answers are written while they come.
type streaming struct {
	*model
	retried func(controller.Retry, error)
	write   func(ctx context.Context, m *streaming, piece func(string)) (*llm.Response, error)
}

func (m *streaming) Generate(ctx context.Context, _ llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.write(ctx, m, func(text string) { onDelta(llm.Delta{Text: text}) })
}

// held stores nothing from when it is shut until it is opened.
type held struct {
	eventstream.Stream
	gate chan struct{}
}

func (s held) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	if slices.ContainsFunc(evs, func(ev event.Event) bool { _, ok := ev.(*event.MessageEvent); return ok }) {
		<-s.gate
	}
	return s.Stream.Append(ctx, id, evs...)
}

// pieces are watchers' pieces of an answer, in a form to compare.
type pieces struct {
	mu    sync.Mutex
	said  []string
	items []event.ID
}

func (p *pieces) watch(tr session.Transient) {
	if tr.Piece == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.items, tr.Piece.Item) {
		p.items = append(p.items, tr.Piece.Item)
	}
	at := fmt.Sprintf("%d.%d after %d ", slices.Index(p.items, tr.Piece.Item), tr.Piece.Attempt, tr.After)
	switch pc := tr.Piece; {
	case pc.Started:
		at += fmt.Sprint("started behind ", pc.Anchor)
	case pc.Aborted != "":
		at += "aborted: " + pc.Aborted
	default:
		at += fmt.Sprint(pc.Order, " ", pc.Content)
	}
	p.said = append(p.said, at)
}

func (p *pieces) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// TestPieces checks that a streamed answer comes after the event that it answers,
// also where that is being stored still, and that each item ends once
// (docs/openhands/sdk-wire-1.58.md section C.1).
func TestPieces(t *testing.T) {
	t.Parallel()
	reading := make(chan struct{})
	for _, tc := range []struct {
		name  string
		write func(ctx context.Context, m *streaming, piece func(string)) (*llm.Response, error)
		do    func(t *testing.T, c *session.Conversation)
		want  []string
	}{
		{"an answer", func(_ context.Context, _ *streaming, piece func(string)) (*llm.Response, error) {
			piece("do")
			piece("ne")
			return says("done"), nil
		}, nil, []string{"0.1 after 4 started behind 4", "0.1 after 4 0 do", "0.1 after 4 1 ne"}},
		{"an interrupt", func(ctx context.Context, _ *streaming, piece func(string)) (*llm.Response, error) {
			piece("half")
			close(reading)
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(t *testing.T, c *session.Conversation) {
			<-reading
			if err := c.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		}, []string{"0.1 after 4 started behind 4", "0.1 after 4 0 half", "0.1 after 4 aborted: cancelled"}},
		{"a failure", func(_ context.Context, _ *streaming, piece func(string)) (*llm.Response, error) {
			piece("half")
			return nil, llm.NewError(fault.Quota, "p", "m", "no credit", nil)
		}, nil, []string{"0.1 after 4 started behind 4", "0.1 after 4 0 half", "0.1 after 4 aborted: LLMQuotaError"}},
		{"another attempt", func(_ context.Context, m *streaming, piece func(string)) (*llm.Response, error) {
			piece("half")
			m.retried(controller.Retry{UsageID: "agent", Void: true, Attempt: 1}, fault.New(fault.Unavailable, "cut"))
			piece("whole")
			return says("whole"), nil
		}, nil, []string{"0.1 after 4 started behind 4", "0.1 after 4 0 half", "0.2 after 5 started behind 4", "0.2 after 5 0 whole"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			h := setup(t, nil, func(o *session.Options) {
				o.Store = held{o.Store, gate}
				o.Models = modelsFunc(func(mo session.ModelOptions) (llm.Model, error) {
					first := sync.OnceFunc(func() { close(gate) })
					return &streaming{&model{name: "openai/mock"}, mo.Retried, func(ctx context.Context, m *streaming, piece func(string)) (*llm.Response, error) {
						return tc.write(ctx, m, func(text string) {
							piece(text)
							first() // before, nothing of the message was stored
						})
					}}, nil
				})
			})
			r := h.request(t, "", `"model":`, `"stream":true,"model":`)
			c, _, err := h.Create(t.Context(), r)
			must.Succeed(t, err)
			var got pieces
			defer c.Watch(got.watch)()
			send(t, c, "hi")
			if tc.do != nil {
				tc.do(t, c)
			}
			settle(t, c)
			if d := cmp.Diff(tc.want, got.all()); d != "" {
				t.Error(d)
			}
		})
	}
}

// modelsFunc implements [session.Models].
type modelsFunc func(session.ModelOptions) (llm.Model, error)

func (f modelsFunc) Open(_ *spec.LLM, o session.ModelOptions) (llm.Model, error) { return f(o) }
