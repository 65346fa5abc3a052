package broker

import (
	"hash/maphash"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// maxCalibrated is how many histories a broker keeps counts of. One of 5,000
// messages takes 80 KB.
const maxCalibrated = 256

// calibration estimates the size of prompts. It looks only at the new messages
// of a history, and corrects the estimate by the provider's last count for the
// same history. It is safe for concurrent use.
type calibration struct {
	mu    sync.Mutex
	by    map[history]*counted
	order []history // oldest first
}

// history identifies one of the histories of a conversation: the agent, the
// condenser and the titles have different system prompts.
type history struct {
	session string
	first   uint64
	tools   int
}

// counted is the size of one history.
type counted struct {
	messages []measured
	// The last prompt, as estimated and as billed, in tokens. actual is 0
	// before the first answer.
	estimate, actual int
}

// measured is a message with the sizes of its parts, and the estimate of all
// messages up to it.
type measured struct{ sizes, sum int }

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

// expect returns an upper estimate of the tokens in the prompt of r: the last
// count, plus the new messages and a fifth of them, because dense text such as
// hex dumps has more tokens than estimated. A history that became shorter
// counts as a new one. plain is the uncorrected estimate, for learn.
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

// learn records the provider's count for a prompt.
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

// entry returns the entry of a history. It is called with the lock held.
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

// sum estimates messages. Messages with the same sizes as last time are not
// read again.
func (k *counted) sum(msgs []event.Message) int {
	k.messages = k.messages[:min(len(k.messages), len(msgs))]
	total := 0
	for i := range msgs {
		sizes := sizesOf(&msgs[i])
		if i < len(k.messages) && k.messages[i].sizes == sizes {
			total = k.messages[i].sum
			continue
		}
		k.messages = k.messages[:i]
		total += llm.EstimateMessage(&msgs[i])
		k.messages = append(k.messages, measured{sizes, total})
	}
	return total
}

// sizesOf combines the lengths of a message's parts. Two messages with the same
// lengths at the same position have nearly as many tokens.
func sizesOf(m *event.Message) int {
	const prime = 1_000_003
	sizes := len(m.ReasoningContent)
	for i := range m.Content {
		sizes = sizes*prime + len(m.Content[i].Text) + 7*len(m.Content[i].ImageURLs)
	}
	for i := range m.ToolCalls {
		sizes = sizes*prime + len(m.ToolCalls[i].Name) + 7*len(m.ToolCalls[i].Arguments)
	}
	for i := range m.ThinkingBlocks {
		sizes = sizes*prime + len(m.ThinkingBlocks[i].Thinking) + 7*len(m.ThinkingBlocks[i].Data)
	}
	return sizes
}
