package bash

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
)

// entry is an event in the index: the parts of its file's name, and its order once
// its file was read.
type entry struct {
	seq     uint64 // counts the events since the service was opened
	at      stamp
	id      ID
	command ID // of the command that an output belongs to
	output  bool
	// order of an output; unread until its file was read once.
	order atomic.Int32
	// kept is the event if it could not be stored.
	kept []byte
}

const unread = -1

// name is the name of the event's file, as the reference gives it
// (docs/openhands/sdk-wire.md section 10).
func (e *entry) name() string {
	if e.output {
		return e.at.name() + "_" + KindOutput + "_" + e.command.String() + "_" + e.id.String()
	}
	return e.at.name() + "_" + KindCommand + "_" + e.id.String()
}

// entryOf parses a file's name; nil if it is not an event's.
func entryOf(name string) *entry {
	at, rest, _ := strings.Cut(name, "_")
	kind, rest, _ := strings.Cut(rest, "_")
	command, id, isOutput := strings.Cut(rest, "_")
	if !isOutput {
		id = command
	}
	e := &entry{output: isOutput}
	var ok [3]bool
	e.at, ok[0] = stampOfName(at)
	e.id, ok[1] = lowerID(id)
	switch {
	case kind == KindOutput && isOutput:
		e.order.Store(unread)
		e.command, ok[2] = lowerID(command)
	case kind == KindCommand && !isOutput:
		ok[2] = true
	}
	if ok != [3]bool{true, true, true} {
		return nil
	}
	return e
}

// lowerID parses an id in lower case, as in file names.
func lowerID(s string) (ID, bool) {
	id, ok := ParseID(s)
	return id, ok && strings.IndexFunc(s, func(c rune) bool { return c >= 'A' && c <= 'F' }) < 0
}

// compare orders entries as their names sort.
func (e *entry) compare(o *entry) int {
	if c := cmp.Compare(e.at, o.at); c != 0 || e == o {
		return c
	}
	return strings.Compare(e.name(), o.name())
}

// index is the list of all events. Its slices are only appended to or replaced, so
// a reader may keep using one that it has.
type index struct {
	all       []*entry
	byID      map[ID]*entry
	byCommand map[ID][]*entry // the outputs
	next      uint64
}

func newIndex(entries []*entry) *index {
	x := &index{byID: map[ID]*entry{}, byCommand: map[ID][]*entry{}}
	slices.SortFunc(entries, (*entry).compare)
	for _, e := range entries {
		x.add(e)
	}
	return x
}

func (x *index) add(e *entry) {
	e.seq = x.next
	x.next++
	x.all = append(x.all, e)
	x.byID[e.id] = e
	if e.output {
		x.byCommand[e.command] = append(x.byCommand[e.command], e)
	}
}

// last returns the time of the newest event.
func (x *index) last() stamp {
	if len(x.all) == 0 {
		return 0
	}
	return x.all[len(x.all)-1].at
}

// cut removes the first n events and returns them.
func (x *index) cut(n int) []*entry {
	gone := x.all[:n]
	x.all = slices.Clone(x.all[n:])
	if len(x.all) == 0 {
		x.byID, x.byCommand = map[ID]*entry{}, map[ID][]*entry{}
		return gone
	}
	for _, e := range gone {
		delete(x.byID, e.id)
		if !e.output {
			continue
		}
		if left := x.byCommand[e.command]; len(left) == 1 {
			delete(x.byCommand, e.command)
		} else { // the outputs of a command are in order too
			x.byCommand[e.command] = left[1:]
		}
	}
	return gone
}

// before returns how many events are older than at.
func (x *index) before(at stamp) int { return countBefore(x.all, at) }

func countBefore(list []*entry, at stamp) int {
	return sort.Search(len(list), func(i int) bool { return list[i].at >= at })
}

// from returns the events from the seq on.
func (x *index) from(seq uint64) []*entry {
	i := sort.Search(len(x.all), func(i int) bool { return x.all[i].seq >= seq })
	return x.all[i:]
}
