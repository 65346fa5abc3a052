package responses

import (
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// refusals are the parts of requests that the endpoint refused. It is
// immutable.
type refusals struct {
	summary bool            // reasoning summaries
	noIDs   bool            // ids of items that it did not store
	ids     map[string]bool // reasoning items that it cannot decrypt
	version int
}

// maxRefused is how many reasoning items are remembered.
const maxRefused = 10_000

// variant names the form of a history, for historycache.
func (k *refusals) variant() string { return strconv.Itoa(k.version) }

// after returns the refusals including err, an answer to r: k itself if
// repeating the request would change nothing.
func (k *refusals) after(err error, r *llm.Request) *refusals {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusNotFound {
		return k
	}
	text := strings.ToLower(e.Error())
	switch {
	// Azure sends the message without the code.
	case e.Code == "invalid_encrypted_content", strings.Contains(text, "encrypted content") && strings.Contains(text, "could not be verified"):
		return k.without(r)
	// Azure looks ids up even where nothing is stored.
	case strings.Contains(text, "items are not persisted when") && !k.noIDs:
		more := *k
		more.noIDs, more.version = true, k.version+1
		return &more
	case strings.Contains(text, "items are not persisted when"):
		return k.without(r)
	case e.Code == "unsupported_value" && !k.summary && strings.Contains(text, "reasoning summar"):
		more := *k
		more.summary = true
		return &more
	}
	return k
}

// without adds the reasoning items of r. The error does not reliably name the
// refused one; later turns are not included.
func (k *refusals) without(r *llm.Request) *refusals {
	more := &refusals{summary: k.summary, noIDs: k.noIDs, version: k.version + 1, ids: map[string]bool{}}
	if len(k.ids) < maxRefused {
		maps.Copy(more.ids, k.ids)
	}
	found := false
	for i := range r.Messages {
		item := r.Messages[i].ResponsesReasoningItem
		if item != nil && item.EncryptedContent != "" && !k.ids[item.ID] {
			more.ids[item.ID], found = true, true
		}
	}
	if !found {
		return k
	}
	return more
}
