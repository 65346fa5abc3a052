package broker

import (
	"hash/maphash"
	"sync"

	"github.com/deft-dev/deft/llm"
)

// maxCalibrated bounds the conversations that a broker keeps figures of.
const maxCalibrated = 1_024

// calibration corrects estimates of prompts by what the provider last counted
// for the same history. It is safe for concurrent use.
type calibration struct {
	mu    sync.Mutex
	by    map[history]counted
	order []history // oldest first
}

// history tells the histories of a conversation apart: the agent's, the
// condenser's and the titles' begin with system prompts of their own.
type history struct {
	session string
	first   uint64
	tools   int
}

// counted is one prompt: as estimated and as billed, in tokens.
type counted struct{ estimate, actual int }

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
	plain = llm.EstimateTokens(r.Messages, r.Tools)
	if key, ok := historyOf(r); ok {
		c.mu.Lock()
		last, known := c.by[key]
		c.mu.Unlock()
		if since := plain - last.estimate; known && since >= 0 {
			return last.actual + since + since/5, plain
		}
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
	if c.by == nil {
		c.by = map[history]counted{}
	}
	if _, known := c.by[key]; !known {
		if len(c.order) >= maxCalibrated {
			delete(c.by, c.order[0])
			c.order = append(c.order[:0], c.order[1:]...)
		}
		c.order = append(c.order, key)
	}
	c.by[key] = counted{estimate, actual}
}
