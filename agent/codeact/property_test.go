package codeact_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// anyEvent draws an event. Ids come from small sets, so that views hold
// answers without calls, calls without answers, and ids used twice.
func anyEvent(t *rapid.T) event.Event {
	id := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "call")
	switch rapid.SampledFrom([]string{"user", "reply", "call", "call", "call", "result", "result", "result", "error", "reject", "summary", "system", "image", "empty"}).Draw(t, "kind") {
	case "user":
		return user("u")
	case "reply":
		return reply("text")
	case "call":
		a := call(id, rapid.SampledFrom([]string{"r", "s", ""}).Draw(t, "response"), rapid.SampledFrom([]string{"", "thought"}).Draw(t, "thought"))
		a.ToolName = rapid.SampledFrom([]string{"terminal", "", "bad name<|x|>"}).Draw(t, "tool")
		return a
	case "result":
		return result(id, rapid.SampledFrom([]string{"", "out"}).Draw(t, "output"))
	case "error":
		return failed(id, "bad")
	case "reject":
		return rejected(id)
	case "summary":
		return summary("notes")
	case "system":
		return system()
	case "image":
		return &event.MessageEvent{LLMMessage: event.Message{Role: event.RoleUser, Content: []event.Content{event.Image("data:x")}}}
	}
	return reply("")
}

// TestIncrementalHistoryEqualsFresh lets a view grow, shrink and change between
// steps: an agent that remembers must send the same messages as a new one, and
// every provider must accept them after llm.Normalize.
func TestIncrementalHistoryEqualsFresh(t *testing.T) {
	t.Parallel()
	set := tools(t)
	rapid.Check(t, func(t *rapid.T) {
		fresh := func() *codeact.Agent {
			a, err := codeact.New(codeact.Config{Tools: set})
			must.Succeed(t, err)
			return a
		}
		kept := fresh()
		var view []event.Event
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0: // HEAD moves back
				view = view[:rapid.IntRange(0, len(view)).Draw(t, "back to")]
				view = view[:len(view):len(view)]
			case 1: // condensation
				from := rapid.IntRange(0, len(view)).Draw(t, "from")
				to := rapid.IntRange(from, len(view)).Draw(t, "to")
				view = slices.Concat(view[:from], []event.Event{summary("notes")}, view[to:])
			}
			for range rapid.IntRange(0, 5).Draw(t, "new") {
				view = append(view, anyEvent(t))
			}
			info := llm.Info{Vision: rapid.IntRange(0, 9).Draw(t, "vision") > 0}
			got := prompt(t, kept, info, view[:len(view):len(view)])
			if diff := cmp.Diff(prompt(t, fresh(), info, view), got); diff != "" {
				t.Fatalf("(-fresh +incremental):\n%s", diff)
			}
			if err := acceptable(llm.Normalize(got)); err != nil {
				t.Fatalf("%v in\n%s", err, show(got))
			}
			if err := cached(got); err != nil {
				t.Fatalf("%v in\n%s", err, show(got))
			}
		}
	})
}

// cached checks that the newest message that can be is marked, and no other
// but system messages.
func cached(msgs []event.Message) error {
	found := false
	for _, m := range slices.Backward(msgs) {
		marks := 0
		for _, c := range m.Content {
			if c.CachePrompt {
				marks++
			}
		}
		can := m.Role == event.RoleUser || m.Role == event.RoleTool
		switch {
		case can && !found && (marks != 1 || !m.Content[len(m.Content)-1].CachePrompt):
			return fmt.Errorf("the newest %s message is not marked", m.Role)
		case (!can || found) && marks > 0 && m.Role != event.RoleSystem:
			return fmt.Errorf("an older %s message is marked", m.Role)
		}
		found = found || can
	}
	return nil
}

var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// acceptable makes the checks of the providers (internal/llmtest).
func acceptable(msgs []event.Message) error {
	used := map[string]bool{}
	var open []string
	begun := false
	for i, m := range msgs {
		if m.Role == event.RoleTool {
			if len(open) == 0 || open[0] != m.ToolCallID {
				return fmt.Errorf("message %d answers %q, open are %q", i, m.ToolCallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d stands before the results of %q", i, open)
		}
		if m.Role != event.RoleSystem {
			if !begun && m.Role != event.RoleUser {
				return fmt.Errorf("message %d is the first and the %s's", i, m.Role)
			}
			begun = true
		}
		if len(m.ToolCalls) == 0 && strings.TrimSpace(event.JoinText(m.Content)) == "" && !hasImage(m) {
			return fmt.Errorf("message %d is empty", i)
		}
		for _, c := range m.ToolCalls {
			if used[c.ID] || c.ID == "" || !wireName.MatchString(c.Name) {
				return fmt.Errorf("message %d has a call %q of %q", i, c.ID, c.Name)
			}
			used[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %q", open)
	}
	return nil
}

func hasImage(m event.Message) bool {
	return slices.ContainsFunc(m.Content, func(c event.Content) bool { return len(c.ImageURLs) > 0 })
}
