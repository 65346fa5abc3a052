package historycache

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// snapshot copies the parts that a caller could change in place. Strings are
// shared: they never change, and comparing a string with itself is free.
func snapshot(m *event.Message) *event.Message {
	c := *m
	c.Content = slices.Clone(m.Content)
	for i := range c.Content {
		c.Content[i].ImageURLs = slices.Clone(c.Content[i].ImageURLs)
	}
	c.ToolCalls = slices.Clone(m.ToolCalls)
	c.ThinkingBlocks = slices.Clone(m.ThinkingBlocks)
	if r := m.ResponsesReasoningItem; r != nil {
		item := *r
		item.Summary, item.Content = slices.Clone(r.Summary), slices.Clone(r.Content)
		c.ResponsesReasoningItem = &item
	}
	return &c
}

// same reports whether adapters encode a and b equally.
func same(a, b *event.Message) bool {
	return a.Role == b.Role && a.ToolCallID == b.ToolCallID && a.Name == b.Name &&
		a.ReasoningContent == b.ReasoningContent &&
		len(a.Content) == len(b.Content) && sameContent(a.Content, b.Content) &&
		slices.Equal(a.ToolCalls, b.ToolCalls) &&
		slices.Equal(a.ThinkingBlocks, b.ThinkingBlocks) &&
		sameItem(a.ResponsesReasoningItem, b.ResponsesReasoningItem)
}

// sameContent compares lists of equal length. By index: copying each block
// would cost more than the comparison.
func sameContent(a, b []event.Content) bool {
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Type != y.Type || x.CachePrompt != y.CachePrompt || x.Text != y.Text || !slices.Equal(x.ImageURLs, y.ImageURLs) {
			return false
		}
	}
	return true
}

func sameItem(a, b *event.ReasoningItem) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.EncryptedContent == b.EncryptedContent && a.Status == b.Status &&
		slices.Equal(a.Summary, b.Summary) && slices.Equal(a.Content, b.Content)
}
