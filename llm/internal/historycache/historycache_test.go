package historycache_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// write numbers the messages, so that a wrong place in the log shows.
func write(dst []byte, n int, m *event.Message) ([]byte, int, error) {
	n++
	dst = append(dst, "#"+strconv.Itoa(n)...)
	dst, err := historycache.AppendJSON(dst, m)
	return dst, n, err
}

// encode puts the parts of a body together behind dst.
func encode[S any](c *historycache.Cache[S], dst []byte, session, variant string, msgs []event.Message, write historycache.Writer[S]) ([]byte, S, error) {
	body, state, err := c.Encode(context.Background(), session, variant, msgs, write)
	return append(dst, bytes.Join(body, nil)...), state, err
}

// TestSameAsUncached changes a history step by step, as agents do, and compares
// the cached encoding with an uncached one.
func TestSameAsUncached(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"", "a", "b", "é\xff"})
	rapid.Check(t, func(t *rapid.T) {
		cache := historycache.New[int](historycache.NewPool(1 << 20))
		var msgs []event.Message
		for range rapid.IntRange(1, 12).Draw(t, "calls") {
			at := 0
			if len(msgs) > 0 {
				at = rapid.IntRange(0, len(msgs)-1).Draw(t, "at")
			}
			change := rapid.SampledFrom([]string{"append", "append", "text", "mark", "image", "call", "think", "item", "drop", "cut"}).Draw(t, "change")
			if len(msgs) == 0 {
				change = "append"
			}
			w := word.Draw(t, "word")
			switch change {
			case "append":
				msgs = append(msgs, event.Message{
					Role: event.RoleUser, Content: event.List[event.Content]{event.Text(w), event.Image("u", w)},
					ToolCalls: []event.ToolCall{{ID: w}}, ThinkingBlocks: event.List[event.ThinkingBlock]{{Thinking: w}},
					ResponsesReasoningItem: &event.ReasoningItem{Summary: event.List[string]{w}},
				})
			case "text":
				msgs[at].Content[0].Text = w
			case "mark":
				msgs[at].Content[0].CachePrompt = !msgs[at].Content[0].CachePrompt
			case "image":
				msgs[at].Content[1].ImageURLs[1] = w
			case "call":
				msgs[at].ToolCalls[0].Arguments = w
			case "think":
				msgs[at].ThinkingBlocks[0].Signature = w
			case "item":
				msgs[at].ResponsesReasoningItem.Summary[0] = w
			case "drop":
				msgs = append(msgs[:at:at], msgs[at+1:]...)
			case "cut":
				msgs = msgs[:at]
			}
			variant := word.Draw(t, "variant")
			want, n, _ := encode(cache, []byte(">"), "", variant, msgs, write)
			got, k, err := encode(cache, []byte(">"), "s", variant, msgs, write)
			if err != nil || k != n || !bytes.Equal(got, want) {
				t.Fatalf("after %s: %d, %v\n got %s\nwant %s", change, k, err, got, want)
			}
		}
	})
}

// history is n messages of a kilobyte.
func history(n int) []event.Message {
	text := strings.Repeat("x", 1_000)
	msgs := make([]event.Message, n)
	for i := range msgs {
		msgs[i] = event.Message{Role: event.RoleUser, Content: event.Texts(text)}
	}
	return msgs
}

func TestOnlyNewIsWritten(t *testing.T) {
	t.Parallel()
	cache := historycache.New[int](historycache.NewPool(1 << 25))
	msgs := history(100)
	written := 0
	count := func(dst []byte, n int, m *event.Message) ([]byte, int, error) {
		written++
		return write(dst, n, m)
	}
	for _, tt := range []struct{ n, want int }{{98, 98}, {99, 1}, {100, 1}, {100, 0}, {50, 0}, {52, 2}} {
		written = 0
		if _, _, err := encode(cache, nil, "s", "", msgs[:tt.n], count); err != nil || written != tt.want {
			t.Errorf("%d messages: %d written, want %d, %v", tt.n, written, tt.want, err)
		}
	}
}

// TestBodiesAreNotChanged extends and truncates one conversation while its
// earlier bodies are still being sent.
func TestBodiesAreNotChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cache := historycache.New[int](historycache.NewPool(1 << 24))
		var g llm.Growth
		msgs := make([]event.Message, 0, 64)
		var bodies [][][]byte
		var want [][]byte
		for call := range rapid.IntRange(1, 12).Draw(t, "calls") {
			fixed := len(msgs)
			for range rapid.IntRange(1, 3).Draw(t, "new") {
				size := rapid.SampledFrom([]int{0, 10, 1_000, 20_000, 70_000}).Draw(t, "size")
				msgs = append(msgs, event.Message{Role: event.RoleUser, Content: event.Texts(fmt.Sprint(call, strings.Repeat("x", size)))})
			}
			body, n, err := cache.Encode(g.Context(t.Context(), msgs, fixed), "s", "", msgs, write)
			once, _, _ := encode(cache, nil, "", "", msgs, write)
			if err != nil || n != len(msgs) || !bytes.Equal(bytes.Join(body, nil), once) {
				t.Fatalf("call %d: %d messages of %d, %v, or another body", call, n, len(msgs), err)
			}
			bodies, want = append(bodies, body), append(want, once)
			for i := range bodies {
				if !bytes.Equal(bytes.Join(bodies[i], nil), want[i]) {
					t.Fatalf("call %d changed the body of call %d", call, i)
				}
			}
			if rapid.Bool().Draw(t, "again") { // all but the fixed part may change
				msgs = msgs[:fixed]
			}
		}
	})
}

// TestFixedIsNotCompared checks that messages declared fixed are not compared.
func TestFixedIsNotCompared(t *testing.T) {
	t.Parallel()
	cache := historycache.New[int](historycache.NewPool(1 << 25))
	var g llm.Growth
	msgs := history(10)
	for _, fixed := range []int{8, 9} {
		if _, _, err := cache.Encode(g.Context(t.Context(), msgs, fixed), "s", "", msgs, write); err != nil {
			t.Fatal(err)
		}
		msgs[7].Content[0].Text = "broken promise" // shows that nobody looked
		msgs[9].Content[0].Text = "changed"
	}
	body, _, err := cache.Encode(g.Context(t.Context(), msgs, 9), "s", "", msgs, write)
	if got := string(bytes.Join(body, nil)); err != nil || strings.Contains(got, "broken") || !strings.Contains(got, "changed") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	const limit = 200_000
	pool := historycache.NewPool(limit)
	caches := []*historycache.Cache[int]{historycache.New[int](pool), historycache.New[int](pool)}
	msgs := history(20)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 100 {
				session := fmt.Sprintf("%d-%d", worker, i%25)
				got, n, err := encode(caches[i%2], nil, session, "", msgs, write)
				if err != nil || n != 20 || len(got) < 20_000 {
					t.Errorf("%s: %d bytes, %d, %v", session, len(got), n, err)
				}
			}
		})
	}
	wg.Wait()
	if size := pool.Size(); size == 0 || size > limit {
		t.Errorf("the cache holds %d bytes, limit %d", size, limit)
	}
	if _, n, err := encode(caches[0], nil, "large", "", history(500), write); n != 500 || err != nil || pool.Size() > limit {
		t.Errorf("a history beyond the limit: %d, %v, cache of %d bytes", n, err, pool.Size())
	}
}

func TestErrorKeepsNothing(t *testing.T) {
	t.Parallel()
	cache := historycache.New[int](historycache.NewPool(1 << 25))
	broken := errors.New("broken")
	fail := func(dst []byte, n int, m *event.Message) ([]byte, int, error) {
		if n == 2 {
			return dst, n, broken
		}
		return write(dst, n, m)
	}
	if _, _, err := encode(cache, nil, "s", "", history(4), fail); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if got, n, err := encode(cache, nil, "s", "", history(4), write); err != nil || n != 4 || !bytes.HasPrefix(got, []byte("#1")) {
		t.Errorf("after an error: %d, %v", n, err)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f\x00\x1f\x7f", "é\xff\u2028\u2029\"\n世<>&", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := historycache.AppendString([]byte("."), s)
		want, err := historycache.AppendJSON([]byte("."), s)
		if err != nil || !bytes.Equal(got, want) || !json.Valid(got[1:]) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}
