package llmtest

import (
	"encoding/base64"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// sign returns the server's signature of reasoning. It depends only on the
// text, so that any server can check whether a later request kept both
// unchanged.
func sign(kind, text string) string {
	h := fnv.New128a()
	// Writing to a hash cannot fail.
	_, _ = h.Write([]byte(kind + "\x00" + text))
	return base64.StdEncoding.EncodeToString(h.Sum([]byte("llmtest/" + kind + "/")))
}

// reasoningMark in the id of a tool call marks a call with reasoning, so that a
// client that drops the reasoning is detected.
const reasoningMark = "Th0"

// idMaker makes ids that are unique for one server and, by its seed, unlikely to
// equal another server's.
type idMaker struct {
	seed uint64
	next atomic.Uint64
}

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// make returns prefix followed by 24 letters and digits.
func (m *idMaker) make(prefix string) string {
	var b [24]byte
	x := m.seed + m.next.Add(1)*0x9E3779B97F4A7C15
	for i := range b {
		// splitmix64's finaliser, one step per character
		x += 0x9E3779B97F4A7C15
		z := (x ^ x>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		b[i] = idAlphabet[(z^z>>31)%uint64(len(idAlphabet))]
	}
	return prefix + string(b[:])
}

// call returns the id of a tool call in the protocol's form.
func (m *idMaker) call(p Protocol, withReasoning bool) string {
	switch {
	case p != Anthropic:
		return m.make("call_")
	case withReasoning:
		return m.make("toolu_01" + reasoningMark)
	default:
		return m.make("toolu_01")
	}
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

func hasReasoningMark(id string) bool { return strings.HasPrefix(id, "toolu_01"+reasoningMark) }
