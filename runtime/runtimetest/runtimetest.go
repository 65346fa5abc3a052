// Package runtimetest is the conformance suite of [runtime.Runtime]: every
// implementation runs it.
//
//	func TestConformance(t *testing.T) { runtimetest.Run(t, open) }
//
// The suite brings its own tools. It asserts no times and may run in parallel
// with anything.
package runtimetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/tool"
)

// Open returns a Runtime whose actions are run by tools. Other resources
// are closed by t.Cleanup; the suite closes the Runtime.
type Open func(t *testing.T, tools map[string]tool.Executor) runtime.Runtime

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"exactly once":  exactlyOnce,
		"joining":       joining,
		"leaving":       leaving,
		"interrupt":     interrupt,
		"progress":      progress,
		"failures":      failures,
		"refusals":      refusals,
		"side by side":  sideBySide,
		"large":         large,
		"acknowledging": acknowledging,
		"call":          wholeCall,
		"secrets":       secrets,
		"close":         closing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// Func is a [tool.Executor] made of a function.
type Func func(ctx context.Context, c tool.Call) (event.Observation, error)

// Execute implements [tool.Executor].
func (f Func) Execute(ctx context.Context, c tool.Call) (event.Observation, error) { return f(ctx, c) }

// Close implements [tool.Executor].
func (Func) Close() error { return nil }

// Kind is the kind of action that the suite's tools run.
const Kind = "ThinkAction"

// Action returns an action of Kind.
func Action(text string) event.Action { return &event.ThinkAction{Thought: text} }

// Observation returns the observation of a tool of Kind.
func Observation(text string) event.Observation {
	return &event.ThinkObservation{ObservationBase: event.ObservationBase{Content: event.Texts(text)}}
}

func start(t *testing.T, open Open, f Func) runtime.Runtime {
	t.Helper()
	rt := open(t, map[string]tool.Executor{Kind: f})
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return rt
}

func wantText(t *testing.T, obs event.Observation, err error, want string) {
	t.Helper()
	if err != nil {
		t.Errorf("got error %v, want %.40q", err, want)
		return
	}
	if got := event.JoinText(obs.Result().Content); got != want {
		t.Errorf("got %.40q (%d bytes), want %.40q (%d bytes)", got, len(got), want, len(want))
	}
}

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("got error %v, want one of kind %s", err, want)
	}
}

// counted returns a tool that counts its runs by id and echoes the thought.
func counted(runs map[event.ID]int) Func {
	var mu sync.Mutex
	return func(_ context.Context, c tool.Call) (event.Observation, error) {
		mu.Lock()
		defer mu.Unlock()
		runs[c.ID]++
		return Observation(c.Action.(*event.ThinkAction).Thought), nil
	}
}

func exactlyOnce(t *testing.T, open Open) {
	runs := map[event.ID]int{}
	rt := start(t, open, counted(runs))
	ids := []event.ID{event.NewID(), event.NewID(), event.NewID()}
	var all sync.WaitGroup
	for i := range 48 {
		all.Go(func() {
			id := ids[i%len(ids)]
			obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: Action("for " + string(id))}})
			wantText(t, obs, err, "for "+string(id))
		})
	}
	all.Wait()
	for _, id := range ids {
		obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id}, Again: true})
		wantText(t, obs, err, "for "+string(id))
		if runs[id] != 1 {
			t.Errorf("the action was run %d times", runs[id])
		}
	}
}

// wholeCall: the tool gets all of the call.
func wholeCall(t *testing.T, open Open) {
	got := make(chan tool.Call, 1)
	rt := start(t, open, func(_ context.Context, c tool.Call) (event.Observation, error) {
		got <- c
		return Observation("done"), nil
	})
	want := tool.Call{ID: event.NewID(), Action: Action("é\n"), Tool: "server_tool"}
	obs, err := rt.Execute(t.Context(), tool.Request{Call: want})
	wantText(t, obs, err, "done")
	call := <-got
	call.Progress(tool.Chunk{Text: "after the end"}) // never nil, and harmless
	if call.Mask().Feed("plain") != "plain" {
		t.Error("what is no secret was hidden")
	}
	call.Progress, call.Mask = nil, nil
	if diff := cmp.Diff(want, call); diff != "" {
		t.Errorf("the tool's call (-want +got):\n%s", diff)
	}
}

// gated returns a tool that signals when it has started and waits for release.
func gated() (f Func, started, release chan struct{}) {
	started, release = make(chan struct{}, 8), make(chan struct{})
	return func(ctx context.Context, c tool.Call) (event.Observation, error) {
		c.Progress(tool.Chunk{Text: "before "})
		started <- struct{}{}
		select {
		case <-release:
			c.Progress(tool.Chunk{Text: "after"})
			return Observation("released"), nil
		case <-ctx.Done():
			return Observation("stopped"), nil
		}
	}, started, release
}

type answer struct {
	obs event.Observation
	err error
}

func ask(ctx context.Context, rt runtime.Runtime, q tool.Request) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		obs, err := rt.Execute(ctx, q)
		got <- answer{obs, err}
	}()
	return got
}

func joining(t *testing.T, open Open) {
	f, started, release := gated()
	rt := start(t, open, f)
	id := event.NewID()
	first := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: id, Action: Action("")}})
	<-started
	var shown strings.Builder
	joined := make(chan struct{}, 1)
	second := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: id, Progress: func(c tool.Chunk) {
		shown.WriteString(c.Text)
		select {
		case joined <- struct{}{}: // the end of the earlier output is the first chunk
		default:
		}
	}}, Again: true, Tail: true})
	<-joined
	close(release)
	for _, got := range []<-chan answer{first, second} {
		a := <-got
		wantText(t, a.obs, a.err, "released")
	}
	if got := shown.String(); got != "before after" {
		t.Errorf("the joined request was shown %q", got)
	}
}

func leaving(t *testing.T, open Open) {
	f, started, release := gated()
	rt := start(t, open, f)
	id := event.NewID()
	ctx, leave := context.WithCancel(t.Context())
	first := ask(ctx, rt, tool.Request{Call: tool.Call{ID: id, Action: Action("")}})
	<-started
	leave()
	wantKind(t, (<-first).err, fault.Canceled)
	second := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: id}, Again: true})
	close(release)
	a := <-second
	wantText(t, a.obs, a.err, "released")
	if len(started) != 0 {
		t.Error("the action was run again")
	}
}

func interrupt(t *testing.T, open Open) {
	f, started, _ := gated()
	rt := start(t, open, f)
	id := event.NewID()
	if err := rt.Interrupt(t.Context(), id); err != nil {
		t.Errorf("interrupt what does not run: %v", err)
	}
	got := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: id, Action: Action("")}})
	<-started
	if err := rt.Interrupt(t.Context(), id); err != nil {
		t.Errorf("interrupt: %v", err)
	}
	a := <-got
	wantText(t, a.obs, a.err, "stopped")
	obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id}, Again: true})
	wantText(t, obs, err, "stopped")
}

func progress(t *testing.T, open Open) {
	const text = "line with \"quotes\", ünicode and\nno end\n"
	rt := start(t, open, func(_ context.Context, c tool.Call) (event.Observation, error) {
		for range 100 {
			c.Progress(tool.Chunk{Text: text})
		}
		return Observation("done"), nil
	})
	var shown strings.Builder
	obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action(""), Progress: func(c tool.Chunk) {
		shown.WriteString(c.Text)
	}}})
	wantText(t, obs, err, "done")
	if got := shown.String(); got != strings.Repeat(text, 100) {
		t.Errorf("shown %d bytes that differ from what the tool wrote", len(got))
	}
}

func failures(t *testing.T, open Open) {
	var mu sync.Mutex
	runs := map[string]int{}
	rt := start(t, open, func(_ context.Context, c tool.Call) (event.Observation, error) {
		how := c.Action.(*event.ThinkAction).Thought
		mu.Lock()
		runs[how]++
		mu.Unlock()
		switch how {
		case "error":
			return nil, fault.New(fault.Denied, "the tool may not").Hint("ask for permission")
		case "panic":
			panic("out of order")
		default:
			return nil, nil
		}
	})
	for how, want := range map[string]struct {
		kind fault.Kind
		text string
		hint string
	}{
		"error":   {fault.Denied, "the tool may not", "ask for permission"},
		"panic":   {fault.Internal, "out of order", ""},
		"nothing": {fault.Internal, "neither an observation nor an error", ""},
	} {
		id := event.NewID()
		_, first := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: Action(how)}})
		wantKind(t, first, want.kind)
		if first == nil || !strings.Contains(first.Error(), want.text) || fault.HintOf(first) != want.hint {
			t.Errorf("%s: got %v, hint %q", how, first, fault.HintOf(first))
			continue
		}
		_, second := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id}, Again: true})
		if second == nil || second.Error() != first.Error() || fault.KindOf(second) != want.kind {
			t.Errorf("%s: first %v, then %v", how, first, second)
		}
		mu.Lock()
		if runs[how] != 1 {
			t.Errorf("%s: run %d times", how, runs[how])
		}
		mu.Unlock()
	}
}

func refusals(t *testing.T, open Open) {
	rt := start(t, open, counted(map[event.ID]int{}))
	for name, tc := range map[string]struct {
		q    tool.Request
		want fault.Kind
	}{
		"kind without a tool": {tool.Request{Call: tool.Call{ID: "a", Action: &event.FinishAction{}}}, fault.Unsupported},
		"unknown kind":        {tool.Request{Call: tool.Call{ID: "a", Action: &event.UnknownAction{KindName: "Odd", Raw: []byte(`{"kind":"Odd"}`)}}}, fault.Unsupported},
		"no action":           {tool.Request{Call: tool.Call{ID: "a"}}, fault.Invalid},
		"id with a space":     {tool.Request{Call: tool.Call{ID: "a b", Action: Action("")}}, fault.Invalid},
		"endless id":          {tool.Request{Call: tool.Call{ID: event.ID(strings.Repeat("a", 1000)), Action: Action("")}}, fault.Invalid},
	} {
		_, err := rt.Execute(t.Context(), tc.q)
		if !fault.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want one of kind %s", name, err, tc.want)
		}
	}
	// A refusal is no effect: the id can still be used.
	obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: Action("now")}})
	wantText(t, obs, err, "now")
}

func sideBySide(t *testing.T, open Open) {
	f, started, release := gated()
	rt := start(t, open, f)
	one := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action("")}})
	two := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action("")}})
	<-started
	<-started // both run before either has ended
	close(release)
	for _, got := range []<-chan answer{one, two} {
		a := <-got
		wantText(t, a.obs, a.err, "released")
	}
}

func large(t *testing.T, open Open) {
	text := strings.Repeat("0123456789abcdé\n", 300_000)
	rt := start(t, open, counted(map[event.ID]int{}))
	id := event.NewID()
	for range 2 {
		obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: Action(text)}})
		wantText(t, obs, err, text)
	}
}

func acknowledging(t *testing.T, open Open) {
	runs := map[event.ID]int{}
	rt := start(t, open, counted(runs))
	keeper, ok := rt.(runtime.Acknowledger)
	if !ok {
		t.Skip("this runtime keeps no results")
	}
	kept := event.NewID()
	for range 20 {
		id := event.NewID()
		obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: id, Action: Action("x")}})
		wantText(t, obs, err, "x")
		keeper.Ack(id, "unknown")
	}
	for range 2 {
		obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: kept, Action: Action("kept")}})
		wantText(t, obs, err, "kept")
		keeper.Ack()
	}
	if runs[kept] != 1 {
		t.Errorf("run %d times", runs[kept])
	}
}

func closing(t *testing.T, open Open) {
	f, started, _ := gated()
	rt := start(t, open, f)
	running := ask(t.Context(), rt, tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action("")}})
	<-started
	must.Succeed(t, rt.Close())
	// The action is either interrupted with the runtime or left to its server.
	if a := <-running; a.err != nil {
		wantKind(t, a.err, fault.Unavailable)
	} else {
		wantText(t, a.obs, a.err, "stopped")
	}
	_, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Action: Action("")}})
	wantKind(t, err, fault.Unavailable)
}
