package broker

import (
	"hash/maphash"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// maxCalibrated bounds the histories that a broker keeps figures of. One of
// 5,000 messages takes 80 KB.
const maxCalibrated = 256

// calibration estimates prompts. It looks at what is new in a history only, and
// corrects the estimate by what the provider last counted for the same history.
// It is safe for concurrent use.
type calibration struct {
	mu    sync.Mutex
	by    map[history]*counted
	order []history // oldest first
}

// history tells the histories of a conversation apart: the agent's, the
// condenser's and the titles' begin with system prompts of their own.
type history struct {
	session string
	first   uint64
	tools   int
}

// counted is what is known of one history.
type counted struct {
	messages []measured
	// The last prompt, as estimated and as billed, in tokens. actual is 0
	// before the first answer.
	estimate, actual int
}

// measured is a message by its size: what it looks like, and what all messages up
// to it are estimated at.
type measured struct{ look, sum int }

var seed = maphash.MakeSeed()

func historyOf(r *llm.Request) (history, bool) {
	if r.Session == "" || len(r.Messages) == 0 {
		return history{}, false
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range r.Messages[0].Content {
		h.WriteString(r.Messages[0].Content[i].Text)
	}
	return history{r.Session, h.Sum64(), len(r.Tools)}, true
}

// expect returns how many tokens the prompt of r has at most, as far as one
// can know: what was last counted, plus what came since at a margin of a
// fifth, because dense text such as hex dumps has more tokens than the
// estimate. A history that became shorter is another one. plain is the
// uncorrected estimate, for learn.
func (c *calibration) expect(r *llm.Request) (tokens, plain int) {
	key, ok := historyOf(r)
	if !ok {
		plain = llm.EstimateTokens(r.Messages, r.Tools)
		return plain + plain/5, plain
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.entry(key)
	plain = last.sum(r.Messages) + llm.EstimateTokens(nil, r.Tools)
	if since := plain - last.estimate; last.actual > 0 && since >= 0 {
		return last.actual + since + since/5, plain
	}
	return plain + plain/5, plain
}

// learn notes what the provider counted for a prompt.
func (c *calibration) learn(r *llm.Request, estimate, actual int) {
	key, ok := historyOf(r)
	if !ok || actual <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.entry(key)
	last.estimate, last.actual = estimate, actual
}

// known returns what is known of a history. It is called with the lock held.
func (c *calibration) entry(key history) *counted {
	if last := c.by[key]; last != nil {
		return last
	}
	if c.by == nil {
		c.by = map[history]*counted{}
	}
	if len(c.order) >= maxCalibrated {
		delete(c.by, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	c.order = append(c.order, key)
	last := &counted{}
	c.by[key] = last
	return last
}

// sum estimates messages, of which those that look as they did last time are
// not read again.
func (k *counted) sum(msgs []event.Message) int {
	k.messages = k.messages[:min(len(k.messages), len(msgs))]
	total := 0
	for i := range msgs {
		look := sizesOf(&msgs[i])
		if i < len(k.messages) && k.messages[i].look == look {
			total = k.messages[i].sum
			continue
		}
		k.messages = k.messages[:i]
		total += llm.EstimateMessage(&msgs[i])
		k.messages = append(k.messages, measured{look, total})
	}
	return total
}

// sizesOf tells messages apart by the lengths of their parts. Two of the same
// lengths in the same place of one conversation have nearly as many tokens.
func sizesOf(m *event.Message) int {
	const prime = 1_000_003
	look := len(m.ReasoningContent)
	for i := range m.Content {
		look = look*prime + len(m.Content[i].Text) + 7*len(m.Content[i].ImageURLs)
	}
	for i := range m.ToolCalls {
		look = look*prime + len(m.ToolCalls[i].Name) + 7*len(m.ToolCalls[i].Arguments)
	}
	for i := range m.ThinkingBlocks {
		look = look*prime + len(m.ThinkingBlocks[i].Thinking) + 7*len(m.ThinkingBlocks[i].Data)
	}
	return look
}
