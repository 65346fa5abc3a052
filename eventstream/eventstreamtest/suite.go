// Package eventstreamtest is the conformance suite of event streams, for every
// implementation of [eventstream.Stream].
//
// # Usage
//
//	func TestConformance(t *testing.T) {
//		eventstreamtest.Run(t, func(t *testing.T) eventstream.Stream { … })
//	}
//
// # Concurrency and failure
//
// The tests run in parallel, each with a stream of its own, which the suite
// closes. It reports through t only.
package eventstreamtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

// Run runs the suite. open returns an empty stream for each test.
func Run(t *testing.T, open func(t *testing.T) eventstream.Stream) {
	run(t, open, map[string]func(*testing.T, eventstream.Stream){
		"Append":         testAppend,
		"AppendRefused":  testAppendRefused,
		"AppendCanceled": testAppendCanceled,
		"Bytes":          testBytes,
		"Status":         testStatus,
		"Cost":           testCost,
		"Read":           testRead,
		"Get":            testGet,
		"Search":         testSearch,
		"SearchPages":    testSearchPages,
		"SearchBody":     testSearchBody,
		"SearchText":     testSearchText,
		"Conversations":  testConversations,
		"WorkingDirs":    testWorkingDirs,
		"Delete":         testDelete,
		"Fork":           testFork,
		"ForkOfFork":     testForkOfFork,
		"ForkOutlives":   testForkOutlives,
		"Follow":         testFollow,
		"FollowEnds":     testFollowEnds,
		"FollowDeleted":  testFollowDeleted,
		"FollowersJoin":  testFollowersJoin,
		"Writers":        testWriters,
		"SlowReader":     testSlowReader,
		"Closed":         testClosed,
		"Model":          testModel,
	})
	RunLists(t, open)
}

// RunLists runs the part of the suite that is about lists of conversations.
func RunLists(t *testing.T, open func(t *testing.T) eventstream.Stream) {
	run(t, open, map[string]func(*testing.T, eventstream.Stream){
		"List":        testList,
		"ListOwner":   testListOwner,
		"ListFilters": testListFilters,
		"ListTitles":  testListTitles,
		"ListOrder":   testListOrder,
		"ListChanges": testListChanges,
	})
}

func run(t *testing.T, open func(t *testing.T) eventstream.Stream, tests map[string]func(*testing.T, eventstream.Stream)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, s)
		})
	}
}

func create(t testing.TB, s eventstream.Stream) event.ConversationID {
	t.Helper()
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
	return id
}

func messages(n int) []event.Event {
	evs := make([]event.Event, n)
	for i := range evs {
		evs[i] = event.NewUserMessage(fmt.Sprintf("message %d", i+1))
	}
	return evs
}

func appendAll(t testing.TB, s eventstream.Stream, id event.ConversationID, evs ...event.Event) eventstream.Seq {
	t.Helper()
	last, err := s.Append(t.Context(), id, evs...)
	must.Succeed(t, err)
	return last
}

func encodeAll(t testing.TB, first eventstream.Seq, evs ...event.Event) []eventstream.Record {
	t.Helper()
	var out []eventstream.Record
	for i, ev := range evs {
		r, err := eventstream.Encode(ev)
		must.Succeed(t, err)
		r.Seq = first + eventstream.Seq(i)
		out = append(out, r)
	}
	return out
}

func readAll(t testing.TB, s eventstream.Stream, id event.ConversationID, from eventstream.Seq) []eventstream.Record {
	t.Helper()
	var out []eventstream.Record
	for r, err := range s.Read(t.Context(), id, from) {
		must.Succeed(t, err)
		out = append(out, r)
	}
	return out
}

func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // much faster than cmp on large records
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func isKind(t testing.TB, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("got error %v of kind %s, want kind %s", err, fault.KindOf(err), kind)
	}
}

// pick returns the records of the given numbers.
func pick(recs []eventstream.Record, seqs ...int) []eventstream.Record {
	var out []eventstream.Record
	for _, n := range seqs {
		out = append(out, recs[n-1])
	}
	return out
}

// renumber returns copies numbered from 1 on.
func renumber(recs []eventstream.Record) []eventstream.Record {
	var out []eventstream.Record
	for i, r := range recs {
		r.Seq = eventstream.Seq(i + 1)
		out = append(out, r)
	}
	return out
}

func stateUpdate(t testing.TB, key string, value any) event.Event {
	t.Helper()
	ev, err := event.NewStateUpdate(key, value)
	must.Succeed(t, err)
	return ev
}

func rawRecord(id event.ID, kind string, source event.Source, ts event.Timestamp, parent event.ID, extra string) eventstream.Record {
	q := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // a string always encodes
		}
		return string(b)
	}
	return eventstream.Record{
		ID: id, Kind: kind, Source: source, Timestamp: ts, ParentID: parent,
		JSON: json.RawMessage(fmt.Sprintf(`{"id":%s,"timestamp":%s,"source":%s,"parent_id":%s%s,"kind":%s}`, q(id), q(ts), q(source), q(parent), extra, q(kind))),
	}
}
