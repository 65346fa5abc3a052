package session_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/sessiontest"
)

// slowBuilder builds once it may, or gives up when its context ends.
type slowBuilder struct {
	*fixture
	begun chan struct{}
	may   chan struct{}
}

func (b slowBuilder) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	b.begun <- struct{}{}
	select {
	case <-b.may:
		return b.fixture.Build(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestStartTimeout ends a conversation in an error that a person can read, when
// it does not get ready to work, and lets it start again later.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	b := slowBuilder{begun: make(chan struct{}, 10), may: make(chan struct{})}
	h := setup(t, inTurn(says("done")), func(o *session.Options) {
		b.fixture = o.Builder.(*fixture)
		o.Builder, o.StartTimeout = b, 10*time.Second
	})
	c := h.begin(t, "")
	if err := c.Send(t.Context(), message("go", true)); !fault.Is(err, fault.Timeout) {
		t.Fatalf("the start gave %v", err)
	}
	if got := h.kinds(t, c.ID()); !slices.Equal(got, []string{"ConversationErrorEvent", "error"}) {
		t.Errorf("events: %q", got)
	}
	if got := h.stored(t, c.ID()); !strings.Contains(got, "StartTimeout") || !strings.Contains(got, "did not get ready") {
		t.Errorf("the error is not reported: %s", got)
	}
	for range 2 { // to show it does not start it again
		raw, err := h.Summary(t.Context(), c.ID())
		if err != nil || field(t, raw, "execution_status") != "error" {
			t.Errorf("shown as %s: %v", raw, err)
		}
	}
	if n := len(b.begun); n != 1 {
		t.Errorf("started %d times", n)
	}
	close(b.may)
	send(t, c, "go")
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: done" {
		t.Errorf("last is %q", got)
	}
}

// TestCloseWaitsForStart closes a manager while a conversation starts: the start's
// resources are closed as well.
func TestCloseWaitsForStart(t *testing.T) {
	t.Parallel()
	b := slowBuilder{begun: make(chan struct{}, 10), may: make(chan struct{})}
	h := setup(t, inTurn(says("done")), func(o *session.Options) {
		b.fixture = o.Builder.(*fixture)
		o.Builder = b
	})
	c := h.begin(t, "")
	started, evicted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.State(t.Context())
		started <- err
	}()
	<-b.begun
	go func() { evicted <- h.Evict(t.Context(), c.ID(), false) }()
	for range 10_000 { // time enough to evict too early
		runtime.Gosched()
	}
	if len(evicted) > 0 {
		t.Fatal("evicted while it started")
	}
	close(b.may)
	if err := <-started; err != nil {
		t.Errorf("start: %v", err)
	}
	if err := <-evicted; err != nil {
		t.Errorf("evict: %v", err)
	}
	if h.get(t, c.ID()) == c {
		t.Error("the conversation is still loaded")
	}
}

// TestOwner stores for whom a conversation is and filters listings by it.
func TestOwner(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	owners := map[identity.Tenant]event.ConversationID{}
	for _, owner := range []identity.Tenant{"", "ann"} {
		r := h.request(t, "")
		r.Owner = owner
		c, _, err := h.Create(t.Context(), r)
		must.Succeed(t, err)
		owners[c.Owner()] = c.ID()
	}
	h.restart(t)
	for _, owner := range []identity.Tenant{identity.LocalTenant, "ann"} {
		p, err := h.List(t.Context(), listOf(owner))
		if err != nil || len(p.Items) != 1 || field(t, p.Items[0], "id") != string(owners[owner]) {
			t.Errorf("%s has %d conversations: %v", owner, len(p.Items), err)
		}
		if got := h.get(t, owners[owner]).Owner(); got != owner {
			t.Errorf("the owner is %q after a restart, want %q", got, owner)
		}
	}
}

func listOf(owner identity.Tenant) eventstream.ListQuery {
	return eventstream.ListQuery{Owner: string(owner)}
}

// warningBuilder builds resources with a warning.
type warningBuilder struct {
	*fixture
	warning string
}

func (b warningBuilder) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	res, err := b.fixture.Build(ctx, r)
	if err == nil {
		parts := res.(*sessiontest.Resources)
		parts.Missing = append(parts.Missing, b.warning)
	}
	return res, err
}

// TestWarningsHideSecrets records which parts are not available without the
// secrets that their errors show.
func TestWarningsHideSecrets(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), func(o *session.Options) {
		o.Builder = warningBuilder{o.Builder.(*fixture), `MCP server x: Get "https://example.com/?key=hunter2hunter2": refused`}
	})
	c := h.begin(t, `"secrets":{"KEY":"hunter2hunter2"}`)
	if _, err := c.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := h.stored(t, c.ID())
	if !strings.Contains(got, "MCP server x") || strings.Contains(got, "hunter2") {
		t.Errorf("stored: %s", got)
	}
}

// endingBuilder hands out how to tell that a sandbox has ended.
type endingBuilder struct {
	*fixture
	told chan func(sandbox.Status)
}

func (b endingBuilder) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	b.told <- r.SandboxEnded
	return b.fixture.Build(ctx, r)
}

// TestSandboxEndIsTold: watchers are told at once, and nothing is stored.
func TestSandboxEndIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan func(sandbox.Status), 1)
	h := setup(t, inTurn(), func(o *session.Options) { o.Builder = endingBuilder{o.Builder.(*fixture), told} })
	c := h.begin(t, "")
	if _, err := c.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	defer c.Watch(func(tr session.Transient) {
		if strings.Contains(string(tr.Event), `"key":"sandbox"`) {
			got <- string(tr.Event)
		}
	})()
	before := h.stored(t, c.ID())
	(<-told)(sandbox.Status{State: sandbox.Ended, Reason: sandbox.Reason{Cause: sandbox.CauseRemoved}})
	if ev := <-got; !strings.Contains(ev, `"state":"ended"`) || !strings.Contains(ev, `"cause":"removed"`) {
		t.Errorf("told %s", ev)
	}
	if after := h.stored(t, c.ID()); after != before {
		t.Errorf("stored %s, before %s", after, before)
	}
}

// noteBuilder says that tools have changed, at once, and hands out how to say it again.
type noteBuilder struct {
	*fixture
	told chan func(string)
}

func (b noteBuilder) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	r.ToolsChanged("New tools: early.")
	b.told <- r.ToolsChanged
	return b.fixture.Build(ctx, r)
}

// TestToolsChangedIsTold stores for the model and the user that tools have changed, before the
// worker is there and later.
func TestToolsChangedIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan func(string), 1)
	h := setup(t, inTurn(), func(o *session.Options) { o.Builder = noteBuilder{o.Builder.(*fixture), told} })
	c := h.begin(t, `"secrets":{"KEY":"hunter2hunter2"}`)
	if _, err := c.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	(<-told)("New tools: late_hunter2hunter2.")
	s, err := c.State(t.Context())
	must.Succeed(t, err)
	var got []string
	for _, ev := range s.View {
		if m, ok := ev.(*event.MessageEvent); ok && m.Source == event.SourceEnvironment {
			got = append(got, event.JoinText(m.LLMMessage.Content))
		}
	}
	if len(got) != 2 || got[0] != "New tools: early." || !strings.HasPrefix(got[1], "New tools: late_") || strings.Contains(got[1], "hunter2") {
		t.Errorf("messages %q", got)
	}
}
