package acpagent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// kept is the conversation as it is stored.
func (c *talk) kept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all strings.Builder
	for _, ev := range c.events {
		raw, err := event.Marshal(ev)
		must.Succeed(c.t, err)
		all.Write(append(raw, '\n'))
	}
	return all.String()
}

// TestMalformedUnicode holds that halves of surrogate pairs and bytes that are no UTF-8 neither end the
// turn nor reach an event, and that a character in two pieces is one.
func TestMalformedUnicode(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	got := c.turn(
		`raw {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm \ud83d"}}`,
		`raw {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\ude00"}}`,
		`raw {"sessionUpdate":"tool_call","toolCallId":"a\ud99c","title":"b\ud99c","kind":"other","status":"completed","rawInput":{"c\ud99c":"\udc00"},"rawOutput":"d\ud99c"}`,
		`raw {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"see \ud83d"}}`,
		`raw {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ude00 and \udc00"}}`,
	)
	if want := "see 😀 and \uFFFD"; got != want || !strings.HasSuffix(c.deltas.String(), want) {
		t.Errorf("%q, streamed as %q", got, c.deltas.String())
	}
	if kept := c.kept(); !strings.Contains(kept, "ACPToolCallEvent") || !strings.Contains(kept, "hm 😀") {
		t.Errorf("no call, or no thought: %s", kept)
	}
	for line := range strings.Lines(c.kept()) {
		if strings.Contains(line, "ACPToolCallEvent") && (strings.Contains(line, `\ud99c`) || strings.Contains(line, `\udc00`) || !utf8.ValidString(line)) {
			t.Errorf("malformed: %s", line)
		}
	}
}

// TestFloods holds that a program that sends without end costs bounded memory.
func TestFloods(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	text, err := json.Marshal(strings.Repeat("y", 200_000))
	must.Succeed(t, err)
	var lines []string
	for range 10 {
		lines = append(lines, `raw {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`+string(text)+`}}`)
	}
	if got := c.turn(lines...); len(got) > 1<<20+100 || !strings.Contains(got, "951424 bytes left out") {
		t.Errorf("a message of %d bytes, which ends in %q", len(got), got[len(got)-100:])
	}
	if got := c.turn("crowd 100", "say x"); got != "32 openedx" {
		t.Errorf("%q", got)
	}
	deep := strings.Repeat("[", 3000) + strings.Repeat("]", 3000)
	c.turn(`raw {"sessionUpdate":"tool_call","toolCallId":"a","title":"deep","kind":"other","status":"completed","rawInput":` + deep + `}`)
	if !strings.Contains(c.kept(), "too deep") {
		t.Error("a value that is nested 3,000 times is kept")
	}
	c.send("large 1", "large 2", "large 3", "say done", "wait")
	if got, err := c.run(t.Context()); !fault.Is(err, fault.Limit) {
		t.Errorf("a program with 24 MB of open calls goes on: %q %v", got, err)
	}
}

// TestLies holds that impossible tokens and costs of a program are not counted.
func TestLies(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	for _, usd := range []string{"-5", "1e308"} {
		c.turn(fmt.Sprintf(`raw {"sessionUpdate":"usage_update","used":1,"size":-7,"cost":{"amount":%s,"currency":"USD"}}`, usd), "cost 0.5")
	}
	for _, s := range c.spent {
		if s.Response.Cost < 0 || s.Response.Cost > 1 || s.Info.ContextWindow < 0 {
			t.Errorf("counted %+v", s)
		}
	}
}

// TestCutWords: a secret that lies where a text of a program is cut is masked before.
func TestCutWords(t *testing.T) {
	t.Parallel()
	const most, long = 500, 30_000 // bytes that are kept of a title and of a text; the first three quarters and the end are
	at := func(most int) string { return strings.Repeat("x", most*3/4-3) + "s3cret" + strings.Repeat("y", 2*most) }
	title, text := at(most), at(long)
	c := newTalk(t)
	c.turn(
		`raw {"sessionUpdate":"tool_call","toolCallId":"` + title + `","title":"` + title + `","kind":"` + title + `","status":"completed","rawInput":{"a":"` + text + `"},"content":[{"type":"content","content":{"type":"text","text":"` + text + `"}}]}`,
	)
	c.turn("plan " + title)
	for _, lines := range [][]string{
		{"fail " + title},
		{"garbage " + title, "die silently"},
		{"die " + strings.Repeat("y", 200) + "s3cret" + strings.Repeat("x", most-4)},
	} {
		c.send(lines...)
		_, err := c.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "xxx") || strings.Contains(err.Error(), "xs3") || strings.Contains(err.Error(), "retx") {
			t.Errorf("%.10s: %v", lines[0], err)
		}
	}
	for line := range strings.Lines(c.kept()) {
		if !strings.Contains(line, "MessageEvent") && strings.Contains(line, "xs3") {
			t.Errorf("kept: %.300s", line)
		}
	}
}

// TestStrangersWords holds that a secret of the conversation that the program repeats where Deft keeps
// its words is masked: ids and kinds of calls, names of fields, the names of its models.
func TestStrangersWords(t *testing.T) {
	t.Parallel()
	c := newTalk(t, "-name", "s3cret")
	c.turn(`raw {"sessionUpdate":"tool_call","toolCallId":"id-s3cret","title":"x","kind":"other","status":"completed","content":[{"type":"content","s3cret":1,"content":{"type":"text","s3cret":"x"}}]}`)
	for line := range strings.Lines(c.kept()) {
		if strings.Contains(line, "s3cret") && !strings.Contains(line, "MessageEvent") {
			t.Errorf("shown: %s", line)
		}
	}
	if !strings.Contains(c.kept(), `"acp_agent_name":"\u003csecret-hidden`) {
		t.Error("the program's name is not kept")
	}
}
