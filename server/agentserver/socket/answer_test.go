package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// answer reads a frame of an unfinished answer and shortens it.
func (c *client) answer() string {
	c.tb.Helper()
	_, b, err := c.Read(context.Background())
	must.Succeed(c.tb, err)
	var f struct {
		Type    string
		Item    string `json:"item_id"`
		Attempt int
		Whole   bool
		Aborted string
		Parts   []struct {
			Kind, Tool, Field, Text string
			Call, Size              int
		}
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Type != "answer" {
		c.tb.Fatalf("the frame is %.200s (%v)", b, err)
	}
	out := []string{fmt.Sprintf("%s/%d", f.Item, f.Attempt)}
	if f.Whole {
		out = append(out, "whole")
	}
	if f.Aborted != "" {
		out = append(out, "aborted: "+f.Aborted)
	}
	for _, p := range f.Parts {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %q", p.Kind, p.Tool, p.Field, p.Text)))
		if p.Size > 0 {
			out = append(out, fmt.Sprint(p.Size))
		}
	}
	return strings.Join(out, " | ")
}

func (c *client) answers(want ...string) {
	c.tb.Helper()
	for _, w := range want {
		if got := c.answer(); got != w {
			c.tb.Fatalf("the frame is %s, want %s", got, w)
		}
	}
}

func text(item event.ID, content string) session.Transient {
	return session.Transient{Piece: &session.Piece{Item: item, Attempt: 1, Kind: "text", Content: content}}
}

// TestAnswers checks that a client that asks for answers gets the one that is being written from
// its beginning on, without a gap or a double, and that other clients get what the reference sends.
func TestAnswers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	early := h.dial(t, h.events()+"?answers=true")
	early.expect("full_state", "queue")
	h.publish(session.Transient{Piece: &session.Piece{Started: true, Item: "x", Attempt: 1}})
	h.publish(text("x", "he"))
	early.answers("x/1 | whole", `x/1 | text   "he"`)
	h.mu.Lock()
	h.talk.answer = session.Unfinished{Item: "x", Attempt: 1, Parts: []session.Part{{Kind: "text", Text: "he", Size: 9}, {Kind: "call", Tool: "file_editor", Field: "path", Text: "/a", Size: 2}}}
	h.mu.Unlock()

	late, other := h.dial(t, h.events()+"?answers=true"), h.dial(t, h.events())
	late.expect("full_state", "queue")
	late.answers(`x/1 | whole | text   "he" | 9 | call file_editor path "/a"`)
	other.expect("full_state")
	h.publish(text("x", "llo"))
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Kind: "call", Tool: "file_editor", Field: "path", Content: ".go"}})
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Aborted: "cancelled"}})
	h.add(t, "end")
	for _, c := range []*client{early, late} {
		c.answers(`x/1 | text   "llo"`, `x/1 | call file_editor path ".go"`, "x/1 | aborted: cancelled")
		c.expect("end")
	}
	other.expect("text llo", "end")
}

// TestAnswersOfSessions checks that session sockets get nothing of tool calls.
func TestAnswersOfSessions(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := h.dial(t, h.session())
	c.expect("sync - -", "transient full_state")
	h.publish(session.Transient{Piece: &session.Piece{Started: true, Item: "x", Attempt: 1}})
	h.publish(session.Transient{Piece: &session.Piece{Item: "x", Attempt: 1, Kind: "call", Tool: "file_editor", Field: "path", Content: ".go"}})
	h.publish(text("x", "llo"))
	c.expect("started x/1", "delta x/1 #0 text llo")
}
