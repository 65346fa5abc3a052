package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deft-dev/deft/llm"
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
		want  string
	}{
		"model":    {func() (*llm.Response, error) { return says("<think>hm</think>\n\"Fix the tests\"\nReally"), nil }, "Fix the tests"},
		"empty":    {func() (*llm.Response, error) { return says(" "), nil }, "please fix the tests"},
		"fallback": {func() (*llm.Response, error) { return nil, errors.New("no titles today") }, "please fix the tests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, titled(c.title), nil)
			conv := h.begin(t, `"autotitle":true`)
			send(t, conv, "please fix\n the tests")
			<-h.stream.named
			settle(t, conv)
			h.restart(t)
			if got := field(t, []byte(describe(t, h.get(t, conv.ID()))), "title"); got != c.want {
				t.Errorf("title %q, want %q", got, c.want)
			}
		})
	}
}

// TestTitleOfUser keeps what the user wrote while the model thought.
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
	if err := c.SetTitle(t.Context(), "of the user"); err != nil {
		t.Fatal(err)
	}
	<-h.stream.named
	close(answer)
	<-h.stream.named // the model's is looked at, and not taken
	settle(t, c)
	h.restart(t)
	if got := field(t, []byte(describe(t, h.get(t, c.ID()))), "title"); got != "of the user" {
		t.Errorf("title %q", got)
	}
}
