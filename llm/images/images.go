// Package images adapts the images of a history to the limits of a provider: it
// shrinks and re-encodes images that are too large, and replaces those that
// cannot be sent by a sentence.
//
// # Usage
//
//	m = images.New(m)
//
// The result is an llm.Model like any other; the model's provider sets the limits.
// Only data: URLs are processed; https URLs are fetched by the provider.
//
// # Concurrency
//
// A Model is safe for concurrent use. Images are decoded one at a time, so that
// memory stays bounded, and only once: results are cached, up to a number of
// bytes.
//
// # Failure
//
// An image that is damaged, of an unknown format or too large to be decoded
// safely (its header is read first) is replaced by a sentence; the call
// continues.
package images

import (
	"context"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Model is a model whose images are within the limits.
type Model struct {
	inner  llm.Model
	limits Limits
	cache  *cache
}

var _ llm.Model = (*Model)(nil)

// New wraps a model with the limits of its provider.
func New(inner llm.Model) *Model { return NewWith(inner, LimitsOf(inner.Info().Provider)) }

// NewWith wraps a model with other limits.
func NewWith(inner llm.Model, l Limits) *Model {
	return &Model{inner: inner, limits: l, cache: newCache(cacheBytes)}
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.inner.Info() }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	if m.inner.Info().Vision { // other models are not sent images
		r.Messages = m.fit(r.Messages)
	}
	return m.inner.Generate(ctx, r, onDelta)
}

// fit returns the history with images within the limits. It copies the messages
// that it changes.
func (m *Model) fit(msgs []event.Message) []event.Message {
	side := m.limits.side(count(msgs))
	out := msgs
	for i := range msgs {
		content, changed := m.fitContent(msgs[i].Content, side)
		if !changed {
			continue
		}
		if &out[0] == &msgs[0] {
			out = slices.Clone(msgs)
		}
		out[i].Content = content
	}
	return out
}

func count(msgs []event.Message) int {
	n := 0
	for i := range msgs {
		for k := range msgs[i].Content {
			n += len(msgs[i].Content[k].ImageURLs)
		}
	}
	return n
}

func (m *Model) fitContent(content event.List[event.Content], side int) (out event.List[event.Content], changed bool) {
	for k := range content {
		c := content[k]
		var kept, refused []string
		for _, u := range c.ImageURLs {
			fitting, why := m.fitURL(u, side)
			changed = changed || fitting != u
			if why != "" {
				refused = append(refused, why)
				continue
			}
			kept = append(kept, fitting)
		}
		if len(c.ImageURLs) > 0 && changed {
			c.ImageURLs = kept
		}
		if len(c.ImageURLs) > 0 || c.Type != event.TypeImage {
			out = append(out, c)
		}
		for _, why := range refused {
			text := event.Text("(An image was left out: " + why + ".)")
			text.CachePrompt = c.CachePrompt && len(kept) == 0
			out = append(out, text)
		}
	}
	return out, changed
}

// fitURL returns the URL of the image within the limits, or the reason why
// there is none.
func (m *Model) fitURL(url string, side int) (fitting, refused string) {
	if !strings.HasPrefix(url, "data:") {
		return url, ""
	}
	r := m.cache.get(key{url, side}, func() result {
		fitting, err := fitData(url, side, m.limits.MaxBytes)
		if err != nil {
			return result{refused: err.Error()}
		}
		return result{url: fitting}
	})
	return r.url, r.refused
}
