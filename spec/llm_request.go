package spec

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// Broker returns o with the retries of the LLM.
func (l *LLM) Broker(o broker.Options) broker.Options {
	o.Attempts = max(l.NumRetries, 1)
	// Zero is unset in broker.Options; on the wire it is no wait.
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

// Request returns r with the settings of the LLM in fields that r leaves unset.
func (l *LLM) Request(r llm.Request) llm.Request {
	if r.MaxOutputTokens == 0 && l.MaxOutputTokens != nil {
		r.MaxOutputTokens = *l.MaxOutputTokens
	}
	r.Temperature = cmp.Or(r.Temperature, l.Temperature)
	r.TopP = cmp.Or(r.TopP, l.TopP)
	if r.TopK == nil {
		r.TopK = l.topK()
	}
	r.Seed = cmp.Or(r.Seed, l.Seed)
	if r.ReasoningEffort == "" {
		r.ReasoningEffort = effort(optional.Value(l.ReasoningEffort))
	}
	r.NoStream = r.NoStream || !l.Stream
	if r.ThinkingBudget == 0 {
		r.ThinkingBudget = l.thinkingBudget()
	}
	if l.withoutImages() {
		r.Messages = without(r.Messages, isImage, dropImages)
	}
	if l.withoutCache() {
		r.Messages = without(r.Messages, hasCacheMark, dropCacheMarks)
	}
	return r
}

// defaultBudget is the extended_thinking_budget of LLMs that name none. It is
// more than models take: the effort decides.
const defaultBudget = 200_000

// thinkingBudget returns the budget if it is not the default, or 0.
func (l *LLM) thinkingBudget() int {
	if b := l.ExtendedThinkingBudget; b != nil && *b > 0 && *b != defaultBudget {
		return *b
	}
	return 0
}

// withoutImages reports whether the model must not get images.
func (l *LLM) withoutImages() bool {
	return l.DisableVision != nil && *l.DisableVision || l.Capabilities["supports_vision"] == false
}

// TakesImages reports whether the settings say that the model takes images.
func (l *LLM) TakesImages() bool {
	return l.Capabilities["supports_vision"] == true && !l.withoutImages()
}

// withoutCache reports whether requests must not use the prompt cache.
func (l *LLM) withoutCache() bool {
	return !l.CachingPrompt || l.Capabilities["supports_prompt_cache"] == false
}

// without returns messages with the contents that found matches replaced by change;
// the same slice if none match.
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

// dropImages puts a text in the place of each image.
func dropImages(content []event.Content) []event.Content {
	for i, c := range content {
		if isImage(c) {
			content[i] = event.Text("(an image, which this model does not get)")
		}
	}
	return content
}

func hasCacheMark(c event.Content) bool { return c.CachePrompt }

func dropCacheMarks(content []event.Content) []event.Content {
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
