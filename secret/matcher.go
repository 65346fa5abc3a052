package secret

import (
	"slices"
	"strings"
)

// matcher finds many patterns in one pass: the automaton of Aho and Corasick.
// Its time does not depend on how many patterns there are, and its memory is
// some 30 bytes for each byte of them. It does not change.
type matcher struct {
	root  [256]int32 // where the first byte of a pattern leads; 0 is nowhere
	nodes []node
	edges []edge
	// long finds values of some length in texts that are read without escapes, bare those
	// without their quotes, folded encodings in which a line may end. Nil for none.
	long, bare, folded *matcher
}

// node stands for a text that begins a pattern.
type node struct {
	fail  int32 // the longest other node that is an end of this one
	hit   int32 // length of the longest pattern that ends here; 0 for none
	hold  int32 // length of the longest end that may still become a pattern
	first int32 // its edges
	last  int32
}

type edge struct {
	on byte
	to int32
}

// span is a part of a text, [from, to).
type span struct{ from, to int }

// todo is a node whose edges are to be made: the patterns it begins.
type todo struct{ node, lo, hi, depth int }

// newMatcher makes the matcher of patterns; empty ones count for nothing.
func newMatcher(patterns []string) *matcher {
	p := slices.Clone(patterns)
	slices.Sort(p)
	p = slices.DeleteFunc(slices.Compact(p), func(s string) bool { return s == "" })
	m := &matcher{nodes: make([]node, 1)}
	// Level by level, so that a node's fail node has its edges before.
	for queue := []todo{{0, 0, len(p), 0}}; len(queue) > 0; queue = queue[1:] {
		t := queue[0]
		if t.lo < t.hi && len(p[t.lo]) == t.depth {
			t.lo++ // ends here
		}
		m.nodes[t.node].first = int32(len(m.edges))
		for lo := t.lo; lo < t.hi; {
			hi := lo + 1
			for hi < t.hi && p[hi][t.depth] == p[lo][t.depth] {
				hi++
			}
			queue = append(queue, m.grow(t, p[lo:hi], lo))
			lo = hi
		}
		m.nodes[t.node].last = int32(len(m.edges))
		if t.node == 0 {
			for _, e := range m.edges {
				m.root[e.on] = e.to
			}
		}
	}
	return m
}

// grow adds the node behind t that the patterns below share; lo is where they
// are.
func (m *matcher) grow(t todo, below []string, lo int) todo {
	on, depth, id := below[0][t.depth], int32(t.depth+1), int32(len(m.nodes))
	n := node{}
	if t.node != 0 {
		n.fail = m.step(m.nodes[t.node].fail, on)
	}
	n.hit, n.hold = m.nodes[n.fail].hit, m.nodes[n.fail].hold
	if len(below[0]) == int(depth) {
		n.hit = depth
	}
	if len(below[len(below)-1]) > int(depth) {
		n.hold = depth
	}
	m.nodes = append(m.nodes, n)
	m.edges = append(m.edges, edge{on, id})
	return todo{int(id), lo, lo + len(below), int(depth)}
}

// step returns where a byte leads from a node.
func (m *matcher) step(at int32, b byte) int32 {
	for at != 0 {
		n := &m.nodes[at]
		for _, e := range m.edges[n.first:n.last] {
			if e.on == b {
				return e.to
			}
		}
		at = n.fail
	}
	return m.root[b]
}

// find returns the parts of text that values cover in any form, in order and without
// overlaps, and how many bytes at its end may still become a part of one.
func (m *matcher) find(text string) (found []span, hold int) {
	found, hold = plain(m, text)
	if m.long == nil {
		return found, hold
	}
	more := func(f []span, h int) {
		found, hold = append(found, f...), max(hold, h)
	}
	for _, v := range []view{percents, prints, slashes, entities} {
		more(m.layers(text, v, 3))
	}
	more(m.bare.read(text, quotes))
	more(m.folded.read(text, folds))
	f, h, some := m.long.hex(text, false)
	if more(f, h); some {
		f, h, _ = m.long.hex(text, true)
		more(f, h)
	}
	return joined(found), hold
}

// read is plain for a text as a view reads it.
func (m *matcher) read(text string, v view) (found []span, hold int) {
	d, ok := v.escapes(text)
	if m == nil || !ok {
		return nil, 0
	}
	return d.back(plain(m, d.text))
}

// layers is read for escapes in a program's or a shell's quotes, too: calls of models hold
// commands in JSON, logs hold such calls, and pages hold logs.
func (m *matcher) layers(text string, v view, more int) (found []span, hold int) {
	d, ok := v.escapes(text)
	if !ok {
		return nil, 0
	}
	found, hold = plain(m.long, d.text)
	if more > 0 && d.yields(quotes.signs) {
		inner := string(d.text)
		f, h := m.bare.read(inner, quotes)
		found, hold = append(found, f...), max(hold, h)
		f, h = m.layers(inner, slashes, more-1)
		found, hold = append(found, f...), max(hold, h)
	}
	return d.back(joined(found), hold)
}

// hex is plain for the bytes that a text has in hexadecimal. some says that there are several
// in a row.
func (m *matcher) hex(text string, dumps bool) (found []span, hold int, some bool) {
	hexRuns(text, dumps, func(r *hexRun) {
		some = true
		f, held := plain(m, r.bytes)
		for _, s := range f {
			found = append(found, span{r.from[s.from], r.to[s.to-1]})
		}
		switch {
		case held > 0 && r.open:
			hold = max(hold, len(text)-r.from[len(r.bytes)-held])
		case r.part >= 0:
			hold = max(hold, len(text)-r.part)
		}
	})
	return found, hold, some
}

// joined sorts parts and joins overlapping ones.
func joined(all []span) (out []span) {
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	for _, s := range all {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// plain is find for the patterns alone.
func plain[T string | []byte](m *matcher, text T) (found []span, hold int) {
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 {
			for i < len(text) && m.root[text[i]] == 0 {
				i++
			}
			if i == len(text) {
				break
			}
		}
		at = m.step(at, text[i])
		hit := int(m.nodes[at].hit)
		if hit == 0 {
			continue
		}
		s := span{i + 1 - hit, i + 1}
		for len(found) > 0 && found[len(found)-1].to > s.from {
			s.from = min(s.from, found[len(found)-1].from)
			found = found[:len(found)-1]
		}
		found = append(found, s)
	}
	return found, int(m.nodes[at].hold)
}

// has reports whether there is anything to replace in text.
func (m *matcher) has(text []byte) bool {
	at := int32(0)
	for _, b := range text {
		if at == 0 {
			if at = m.root[b]; at == 0 {
				continue
			}
		} else {
			at = m.step(at, b)
		}
		if m.nodes[at].hit > 0 {
			return true
		}
	}
	if m.long == nil {
		return false
	}
	found, _ := m.find(string(text))
	return len(found) > 0
}

// mask replaces the parts of text that patterns cover. A text that is masked
// already stays unchanged.
func (m *matcher) mask(text string) string {
	found, _ := m.find(text)
	if len(found) > 0 && strings.Contains(text, Hidden) {
		found = slices.DeleteFunc(found, func(s span) bool { return inHidden(text, s) })
	}
	if len(found) == 0 {
		return text
	}
	out := make([]byte, 0, len(text)+len(found)*len(Hidden))
	pos := 0
	for _, s := range found {
		out = append(append(out, text[pos:s.from]...), Hidden...)
		pos = s.to
	}
	return string(append(out, text[pos:]...))
}

// inHidden reports whether a part of text is within a replacement of a value.
func inHidden(text string, s span) bool {
	if s.to-s.from > len(Hidden) {
		return false
	}
	from := max(s.to-len(Hidden), 0)
	i := strings.Index(text[from:min(s.from+len(Hidden), len(text))], Hidden)
	return i >= 0 && from+i <= s.from && s.to <= from+i+len(Hidden)
}
