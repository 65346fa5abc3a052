package broker

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// repairs are the changes made after a refusal, each at most once in a call.
type repairs struct{ unmarked, refreshed, blind, fewer bool }

// tooSmallToCache is in the message of providers, which have no code for it,
// when a prompt is too short to cache (docs/openhands/sdk-features.md section
// 1).
const tooSmallToCache = "minimum token count to start caching"

// repair changes the reason for which a call was refused and returns the change in words, for
// [Retry]; "" if there is nothing to change. The call is repeated at once.
func (b *Broker) repair(ctx context.Context, done *repairs, e *llm.Error, r *llm.Request) (change string) {
	switch {
	case ctx.Err() != nil:
		return ""
	case !done.unmarked && strings.Contains(e.Error(), tooSmallToCache):
		done.unmarked = true
		r.Messages = unmarked(r.Messages)
		return "without marks for its cache"
	case !done.blind && refusesImages(e, r):
		done.blind = true
		r.Messages = withoutImages(r.Messages, imageOmitted)
		return "without the pictures, of which it sees nothing (--vision yes sends them again)"
	case !done.fewer && refusesAnImage(e, r):
		done.fewer = true
		r.Messages = withoutImages(r.Messages, imageRefused)
		return "without the pictures of the conversation"
	case !done.refreshed && b.opts.Refresh != nil && fault.KindOf(e) == fault.Auth && e.Status == http.StatusUnauthorized:
		done.refreshed = true
		m, err := b.opts.Refresh(ctx)
		if err != nil { // the refusal explains more than the failed refresh
			return ""
		}
		b.serve(m)
		return "with a new key"
	}
	return ""
}

// unmarked returns the messages without cache marks. The input is not changed.
func unmarked(msgs []event.Message) []event.Message {
	out := slices.Clone(msgs)
	for i := range out {
		out[i].Content = slices.Clone(out[i].Content)
		for j := range out[i].Content {
			out[i].Content[j].CachePrompt = false
		}
	}
	return out
}
