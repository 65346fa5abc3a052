package spec

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// Broker returns o with the retries of the LLM.
func (l *LLM) Broker(o broker.Options) broker.Options {
	o.Attempts = max(l.NumRetries, 1)
	// To broker.Options zero says nothing; to the wire it says no wait.
	o.Multiplier = max(l.RetryMultiplier, 1e-9)
	o.MinWait = max(seconds(l.RetryMinWait), time.Nanosecond)
	o.MaxWait = max(seconds(l.RetryMaxWait), time.Nanosecond)
	if x := l.Deft; x != nil {
		o.MinWait, o.MaxWait = cmp.Or(exact(x.RetryMinWait), o.MinWait), cmp.Or(exact(x.RetryMaxWait), o.MaxWait)
	}
	return o
}

func seconds(n int) time.Duration {
	return time.Duration(min(n, int(unlimited/time.Second))) * time.Second
}

// Request returns r with the settings of the LLM where r says nothing.
func (l *LLM) Request(r llm.Request) llm.Request {
	if r.MaxOutputTokens == 0 && l.MaxOutputTokens != nil {
		r.MaxOutputTokens = *l.MaxOutputTokens
	}
	if r.Temperature == nil {
		r.Temperature = l.Temperature
	}
	if r.TopP == nil {
		r.TopP = l.TopP
	}
	if r.TopK == nil {
		r.TopK = l.topK()
	}
	if r.Seed == nil {
		r.Seed = l.Seed
	}
	if r.ReasoningEffort == "" {
		r.ReasoningEffort = effort(value(l.ReasoningEffort))
	}
	r.NoStream = r.NoStream || !l.Stream
	if r.ThinkingBudget == 0 {
		r.ThinkingBudget = l.thinkingBudget()
	}
	if l.blind() {
		r.Messages = without(r.Messages, isImage, noImages)
	}
	if l.markless() {
		r.Messages = without(r.Messages, isMarked, noMarks)
	}
	return r
}

// defaultBudget is the extended_thinking_budget of LLMs that name none. It is
// more than models take: the effort decides.
const defaultBudget = 200_000

// thinkingBudget returns the budget that somebody chose, or 0.
func (l *LLM) thinkingBudget() int {
	if b := l.ExtendedThinkingBudget; b != nil && *b > 0 && *b != defaultBudget {
		return *b
	}
	return 0
}

// blind reports whether the model is to be sent no images.
func (l *LLM) blind() bool {
	return l.DisableVision != nil && *l.DisableVision || l.Capabilities["supports_vision"] == false
}

// markless reports whether the provider is to be asked for no prompt cache.
func (l *LLM) markless() bool {
	return !l.CachingPrompt || l.Capabilities["supports_prompt_cache"] == false
}

// without returns messages whose contents that are found go through change: the
// very same messages if there are none.
func without(msgs []event.Message, found func(event.Content) bool, change func([]event.Content) []event.Content) []event.Message {
	var out []event.Message
	for i, m := range msgs {
		if !slices.ContainsFunc(m.Content, found) {
			continue
		}
		if out == nil {
			out = slices.Clone(msgs)
		}
		m.Content = change(slices.Clone(m.Content))
		out[i] = m
	}
	if out == nil {
		return msgs
	}
	return out
}

func isImage(c event.Content) bool { return c.Type == event.TypeImage }

// noImages takes images out. A message of nothing else says that there were
// some.
func noImages(content []event.Content) []event.Content {
	content = slices.DeleteFunc(content, isImage)
	if len(content) == 0 {
		return event.Texts("(an image, which this model is not shown)")
	}
	return content
}

func isMarked(c event.Content) bool { return c.CachePrompt }

func noMarks(content []event.Content) []event.Content {
	for i := range content {
		content[i].CachePrompt = false
	}
	return content
}

// effort maps values that only some providers have to the nearest of
// llm.Request.
func effort(s string) string {
	switch s {
	case "minimal":
		return "low"
	case "max":
		return "xhigh"
	}
	return s
}

// topK returns top_k as providers take it: a whole number.
func (l *LLM) topK() *int {
	if l.TopK == nil {
		return nil
	}
	k := int(min(math.Round(*l.TopK), math.MaxInt32))
	return &k
}
