package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// titled answers as an agent, and writes titles once it may.
func titled(title func() (*llm.Response, error)) reply {
	return func(_ context.Context, r llm.Request) (*llm.Response, error) {
		if len(r.Tools) == 0 {
			return title()
		}
		return says("hello"), nil
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		title func() (*llm.Response, error)
		named int // how often a title is stored
		want  string
	}{
		"model":    {func() (*llm.Response, error) { return says("<think>hm</think>\n\"Fix the tests\"\nReally"), nil }, 2, "Fix the tests"},
		"empty":    {func() (*llm.Response, error) { return says(" "), nil }, 2, "please fix the tests"},
		"fallback": {func() (*llm.Response, error) { return nil, errors.New("no titles today") }, 1, "please fix the tests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, titled(c.title), nil)
			conv := h.begin(t, `"autotitle":true`)
			send(t, conv, "please fix\n the tests")
			for seen := map[string]bool{}; len(seen) < min(c.named, 1) || c.want != "please fix the tests" && !seen[c.want]; {
				seen[<-h.stream.named] = true
			}
			settle(t, conv)
			h.restart(t)
			if got := field(t, []byte(describe(t, h.get(t, conv.ID()))), "title"); got != c.want {
				t.Errorf("title %q, want %q", got, c.want)
			}
		})
	}
}

// TestTitleComesLast gives the first answers to the agent: the model that
// answers in order is asked for a title when the first turn has ended, and not
// at all when it has failed.
func TestTitleComesLast(t *testing.T) {
	t.Parallel()
	titled := make(chan llm.Request, 1)
	h := setup(t, func() reply {
		answers := inTurn(shell("ls"), says("done"), says("A title"))
		return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
			resp, err := answers(ctx, r)
			if len(r.Tools) == 0 {
				titled <- r
			}
			return resp, err
		}
	}(), nil)
	c := h.begin(t, `"autotitle":true`)
	send(t, c, "list the files")
	settle(t, c)
	<-titled
	if got := h.kinds(t, c.ID()); !slices.Contains(got, "agent: done") {
		t.Errorf("the title took an answer of the agent's: %q", got)
	}
	for title := ""; title != "A title"; title = <-h.stream.named {
	}
	lines := strings.Split(strings.TrimSpace(h.stored(t, c.ID())), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"finished"`) {
		t.Errorf("a client that has seen the end finds a later event: %s", last)
	}
	h.restart(t) // the title's cost is recorded at the latest when the worker ends
	if got := h.stored(t, c.ID()); strings.Count(got, `"key":"stats"`) <= strings.Count(strings.Join(lines, "\n"), `"key":"stats"`) {
		t.Errorf("the cost of the title is not recorded: %s", got)
	}
	failing := setup(t, inTurn(), nil)
	c = failing.begin(t, `"autotitle":true`)
	send(t, c, "list the files")
	settle(t, c)
	failing.restart(t) // waits for running calls
	if n := failing.model.calls(); n != 1 {
		t.Errorf("the failing model was called %d times", n)
	}
	if got := field(t, []byte(describe(t, failing.get(t, c.ID()))), "title"); got != "list the files" {
		t.Errorf("title %q", got)
	}
}

// TestTitleOfUser keeps a title that the user set while the model wrote one.
func TestTitleOfUser(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	h := setup(t, titled(func() (*llm.Response, error) {
		close(asked)
		<-answer
		return says("of the model"), nil
	}), nil)
	c := h.begin(t, `"autotitle":true`)
	send(t, c, "hi")
	<-asked
	must.Succeed(t, c.Patch(t.Context(), new("of the user"), nil))
	close(answer)
	settle(t, c)
	h.restart(t)
	if got := field(t, []byte(describe(t, h.get(t, c.ID()))), "title"); got != "of the user" {
		t.Errorf("title %q", got)
	}
}

// TestUntitled: clients see no title until the model was asked for it, and then the model's, or
// the first message if it fails, and observers are told of it. Lists have the first message
// from the start.
func TestUntitled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		title *llm.Response
		err   error
		want  string
	}{
		"model": {says("of the model"), nil, "of the model"},
		"fails": {nil, errors.New("no titles today"), "please fix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, answer, told := make(chan struct{}), make(chan struct{}), make(chan string, 100)
			h := setup(t, titled(func() (*llm.Response, error) {
				close(asked)
				<-answer
				return c.title, c.err
			}), func(o *session.Options) {
				o.Observer = observerFuncs{func(info json.RawMessage) { told <- field(t, info, "title") }, func(json.RawMessage) {}}
			})
			conv := h.begin(t, `"autotitle":true`)
			send(t, conv, "please fix")
			<-asked
			for stored := ""; stored != "please fix"; stored = <-h.stream.named {
			}
			if got := field(t, []byte(describe(t, conv)), "title"); got != "" || !h.Untitled(conv.ID()) {
				t.Errorf("while the model writes a title, it is %q", got)
			}
			if got := listed(t, h); got != "please fix" {
				t.Errorf("while the model writes a title, the list has %q", got)
			}
			close(answer)
			for title := ""; title != c.want; title = <-told {
			}
			if got := field(t, []byte(describe(t, conv)), "title"); got != c.want {
				t.Errorf("the title is %q, want %q", got, c.want)
			}
		})
	}
}

// listed returns the title of the only conversation in the list.
func listed(t *testing.T, h *fixture) string {
	t.Helper()
	page, err := h.List(t.Context(), eventstream.ListQuery{})
	must.Succeed(t, err)
	return field(t, page.Items[0], "title")
}

// TestTitleByAssignedModel asks the model of the profile that the user has
// given to the service.
func TestTitleByAssignedModel(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done")), nil)
	h.profiles["cheap"] = `{"model":"openai/cheap","usage_id":"cheap"}`
	h.models["openai/cheap"] = &model{name: "openai/cheap", answer: inTurn(says("A cheap title"))}
	h.assigned = map[string]string{"titles": "cheap"}
	c := h.begin(t, `"autotitle":true`)
	send(t, c, "hi")
	for title := ""; title != "A cheap title"; title = <-h.stream.named {
	}
	settle(t, c)
}

// TestTitleInterrupted: a server that ends before it has the title asks for it after the next
// turn, once; it takes none from a user who has renamed the conversation meanwhile.
func TestTitleInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		renamed, want string
		asked         int32
	}{
		"by the model": {"", "of the model", 2},
		"by the user":  {"of the user", "of the user", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			began := make(chan struct{}, 1)
			h := setup(t, func(ctx context.Context, r llm.Request) (*llm.Response, error) {
				if len(r.Tools) > 0 {
					return says("hello"), nil
				}
				if asked.Add(1) == 1 {
					began <- struct{}{}
					<-ctx.Done() // the server ends
					return nil, ctx.Err()
				}
				return says("of the model"), nil
			}, nil)
			conv := h.begin(t, `"autotitle":true`)
			send(t, conv, "please fix the tests")
			<-began
			settle(t, conv)
			h.restart(t)
			if got := field(t, []byte(describe(t, h.get(t, conv.ID()))), "title"); got != "please fix the tests" {
				t.Errorf("after the restart the title is %q", got)
			}
			if c.renamed != "" {
				must.Succeed(t, h.get(t, conv.ID()).Patch(t.Context(), new(c.renamed), nil))
			}
			for i := range 3 {
				send(t, h.get(t, conv.ID()), "go on")
				settle(t, h.get(t, conv.ID()))
				for title := ""; i == 0 && c.renamed == "" && title != c.want; title = <-h.stream.named {
				}
				h.restart(t) // waits for running calls
			}
			if got := field(t, []byte(describe(t, h.get(t, conv.ID()))), "title"); got != c.want {
				t.Errorf("title %q, want %q", got, c.want)
			}
			if n := asked.Load(); n != c.asked {
				t.Errorf("the model was asked for a title %d times, want %d", n, c.asked)
			}
		})
	}
}
