package state

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// none is the node index of "nothing".
const none int32 = -1

// Run is a contiguous range of events in a stream, both ends included.
type Run struct{ First, Last int64 }

// tree holds the parents of all events, without the events.
type tree struct {
	nodes []node
	index map[event.ID]int32
	head  int32
	was   int32 // head before the last add
	moved bool  // HEAD was moved since the last add
}

type node struct {
	id     event.ID
	parent int32
	// The run that the node ends: since first, without a break, back to the
	// node before, from which it branches off.
	before int32
	seq    int64
	first  int64
}

func newTree() tree { return tree{index: make(map[event.ID]int32), head: none} }

func (t *tree) headID() event.ID {
	if t.head == none {
		return ""
	}
	return t.nodes[t.head].id
}

// add adds an event below its parent and moves HEAD to it.
func (t *tree) add(seq int64, m *event.Base) {
	t.was = t.head
	parent := t.head
	if m.ParentID == event.Root {
		parent = none
	} else if i, ok := t.index[m.ParentID]; ok {
		parent = i
	}
	n := node{id: m.ID, parent: parent, before: parent, seq: seq, first: seq}
	last := int32(len(t.nodes)) - 1
	switch {
	case parent == none && last == none:
		n.first = 1 // the state updates before the first event belong to it
	case parent != none && parent == last && !t.moved:
		n.first, n.before = t.nodes[parent].first, t.nodes[parent].before
	}
	t.nodes = append(t.nodes, n)
	t.head, t.moved = last+1, false
	t.index[m.ID] = t.head
}

// jumped reports whether the parent of the last added event was not HEAD.
func (t *tree) jumped() bool { return t.nodes[t.head].parent != t.was }

// path returns the seqs of the active branch, root first.
func (t *tree) path() []int64 {
	var seqs []int64
	for i := t.head; i != none; i = t.nodes[i].parent {
		seqs = append(seqs, t.nodes[i].seq)
	}
	slices.Reverse(seqs)
	return seqs
}

func (t *tree) runs(at int32) []Run {
	var runs []Run
	for i := at; i != none; i = t.nodes[i].before {
		runs = append(runs, Run{t.nodes[i].first, t.nodes[i].seq})
	}
	slices.Reverse(runs)
	return runs
}
