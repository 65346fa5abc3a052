package historycache

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// LimitCacheMarks keeps at most this many of the cache marks that marked finds:
// the first, which covers the system prompt and the tools, and the last ones,
// where the conversation grows. The input is not changed.
func LimitCacheMarks(msgs []event.Message, most int, marked func(*event.Content) bool) []event.Message {
	marks := 0
	for i := range msgs {
		for k := range msgs[i].Content {
			if marked(&msgs[i].Content[k]) {
				marks++
			}
		}
	}
	if marks <= most {
		return msgs
	}
	out, seen := slices.Clone(msgs), 0
	for i := range out {
		cloned := false
		for k := range out[i].Content {
			if !marked(&out[i].Content[k]) {
				continue
			}
			seen++
			if seen == 1 || seen > marks-(most-1) {
				continue
			}
			if !cloned {
				out[i].Content, cloned = slices.Clone(out[i].Content), true
			}
			out[i].Content[k].CachePrompt = false
		}
	}
	return out
}
