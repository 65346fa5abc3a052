package broker

import (
	"time"

	"github.com/deft-dev/deft/llm"
)

// Call is one attempt.
type Call struct {
	Info    llm.Info
	Session string
	// Expected is the estimated size of the prompt in tokens;
	// Response.Usage.Prompt is the actual one.
	Expected int
	Response *llm.Response // nil for one that failed
	Err      error
	Timing
}

// Timing is how fast an answer came.
type Timing struct {
	// FirstToken is the time to the first delta; 0 if nothing was streamed.
	FirstToken time.Duration `json:"first_token"`
	Total      time.Duration `json:"total"`
	// TokensPerSecond is the output speed after the first token; 0 if unknown.
	TokensPerSecond float64 `json:"tokens_per_second"`
}

// TimingOf returns the timing of an answer.
func TimingOf(r *llm.Response) Timing {
	f := Timing{FirstToken: r.FirstByte, Total: r.Latency}
	if writing := r.Latency - r.FirstByte; writing > 0 && r.Usage.Output > 0 {
		f.TokensPerSecond = float64(r.Usage.Output) / writing.Seconds()
	}
	return f
}

// Tally sums the calls of one service. It is not safe for concurrent use.
type Tally struct {
	Calls, Failed int // attempts that succeeded, and that did not
	Usage         llm.Usage
	// Cost in US dollars of the calls with a known price; Unpriced counts the
	// others.
	Cost     float64
	Unpriced int
	// Latest is the timing of the last answer.
	Latest Timing

	first, total, writing time.Duration
	streamed              int // calls with a first token
}

// Add counts one call.
func (t *Tally) Add(c Call) {
	if c.Response == nil {
		t.Failed++
		return
	}
	r := c.Response
	t.Calls++
	t.Usage.Prompt += r.Usage.Prompt
	t.Usage.Output += r.Usage.Output
	t.Usage.CacheRead += r.Usage.CacheRead
	t.Usage.CacheWrite += r.Usage.CacheWrite
	t.Usage.Reasoning += r.Usage.Reasoning
	if r.CostKnown {
		t.Cost += r.Cost
	} else {
		t.Unpriced++
	}
	t.Latest = c.Timing
	t.total += r.Latency
	t.writing += r.Latency - r.FirstByte
	if r.FirstByte > 0 {
		t.first += r.FirstByte
		t.streamed++
	}
}

// Mean returns the mean timing of all answers; the speed is total output by total
// time.
func (t *Tally) Mean() Timing {
	var f Timing
	if t.streamed > 0 {
		f.FirstToken = t.first / time.Duration(t.streamed)
	}
	if t.Calls > 0 {
		f.Total = t.total / time.Duration(t.Calls)
	}
	if t.writing > 0 {
		f.TokensPerSecond = float64(t.Usage.Output) / t.writing.Seconds()
	}
	return f
}
