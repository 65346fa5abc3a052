package eventstreamtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func testRead(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	evs := messages(2500) // more than a store is likely to fetch at once
	appendAll(t, s, id, evs...)
	want := encodeAll(t, 1, evs...)
	for _, from := range []eventstream.Seq{-5, 0, 1} {
		same(t, "all", want, readAll(t, s, id, from))
	}
	same(t, "rest", want[1233:], readAll(t, s, id, 1234))
	same(t, "last", want[2499:], readAll(t, s, id, 2500))
	same(t, "beyond", 0, len(readAll(t, s, id, 2501)))

	n := 0
	for range s.Read(t.Context(), id, 1) {
		if n++; n == 10 {
			break
		}
	}
	same(t, "stopped", 10, n)

	for _, err := range s.Read(t.Context(), event.NewConversationID(), 1) {
		isKind(t, err, fault.NotFound)
		n++
	}
	same(t, "unknown conversation yields one error", 11, n)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Read(ctx, id, 1) {
		cancel()
		last = err
	}
	isKind(t, last, fault.Canceled)
}

func testGet(t *testing.T, s eventstream.Stream) {
	id, other := create(t, s), create(t, s)
	evs := messages(3)
	appendAll(t, s, id, evs...)
	for _, want := range encodeAll(t, 1, evs...) {
		got, err := s.Get(t.Context(), id, want.ID)
		must.Succeed(t, err)
		same(t, "get", want, got)
	}
	_, err := s.Get(t.Context(), other, evs[0].Meta().ID)
	isKind(t, err, fault.NotFound)
	_, err = s.Get(t.Context(), id, "")
	isKind(t, err, fault.NotFound)
	_, err = s.Get(t.Context(), event.NewConversationID(), evs[0].Meta().ID)
	isKind(t, err, fault.NotFound)
}

// mixed appends events of several kinds, sources and times and returns their
// records.
func mixed(t *testing.T, s eventstream.Stream, id event.ConversationID) []eventstream.Record {
	t.Helper()
	at := func(ev event.Event, ts event.Timestamp) event.Event {
		ev.Meta().Timestamp = ts
		return ev
	}
	agent := &event.MessageEvent{Base: event.NewBase(event.SourceAgent), LLMMessage: event.Message{
		Role: event.RoleAssistant, Content: event.Texts("Straße"), ReasoningContent: "because ZEBRA",
	}}
	extended := event.NewUserMessage("plain")
	extended.ExtendedContent = event.List[event.Content]{event.Text("knowledge: Giraffe")}
	evs := []event.Event{
		at(event.NewUserMessage("Hello World"), "2026-01-01T00:00:01.000000"),
		at(agent, "2026-01-01T00:00:02.000000"),
		at(&event.PauseEvent{Base: event.NewBase(event.SourceUser)}, "2026-01-01T00:00:03.000000"),
		at(stateUpdate(t, "note", "hello world"), "2026-01-01T00:00:04.000000"),
		at(extended, "2026-01-01T00:00:02.500000"), // times may step back
		at(&event.PauseEvent{Base: event.NewBase(event.SourceAgent)}, "2026-01-01T00:00:06.000000"),
	}
	appendAll(t, s, id, evs...)
	return encodeAll(t, 1, evs...)
}

func testSearch(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	recs := mixed(t, s, id)
	for name, tc := range map[string]struct {
		q    eventstream.Query
		want []int
	}{
		"all":            {eventstream.Query{}, []int{1, 2, 3, 4, 5, 6}},
		"descending":     {eventstream.Query{Order: eventstream.Descending}, []int{6, 5, 4, 3, 2, 1}},
		"kind":           {eventstream.Query{Kinds: []string{"PauseEvent"}}, []int{3, 6}},
		"kinds":          {eventstream.Query{Kinds: []string{"PauseEvent", "MessageEvent"}}, []int{1, 2, 3, 5, 6}},
		"unknown kind":   {eventstream.Query{Kinds: []string{"x') OR 1 --"}}, nil},
		"source":         {eventstream.Query{Source: event.SourceAgent}, []int{2, 6}},
		"kind, source":   {eventstream.Query{Kinds: []string{"MessageEvent"}, Source: event.SourceUser}, []int{1, 5}},
		"unknown source": {eventstream.Query{Source: "hook"}, nil},
		"from":           {eventstream.Query{From: "2026-01-01T00:00:03.000000"}, []int{3, 4, 6}},
		"before":         {eventstream.Query{Before: "2026-01-01T00:00:03.000000"}, []int{1, 2, 5}},
		"between":        {eventstream.Query{From: "2026-01-01T00:00:02.000000", Before: "2026-01-01T00:00:04.000000"}, []int{2, 3, 5}},
		"page":           {eventstream.Query{PageID: recs[3].ID}, []int{4, 5, 6}},
		"page down":      {eventstream.Query{PageID: recs[3].ID, Order: eventstream.Descending}, []int{4, 3, 2, 1}},
		"unknown page":   {eventstream.Query{PageID: "nope", Order: eventstream.Descending}, []int{6, 5, 4, 3, 2, 1}},
		"page and kind":  {eventstream.Query{PageID: recs[3].ID, Kinds: []string{"PauseEvent"}}, []int{6}},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := s.Search(t.Context(), id, tc.q)
			must.Succeed(t, err)
			same(t, "records", pick(recs, tc.want...), page.Records)
			same(t, "next", event.ID(""), page.NextID)
			if tc.q.PageID != "" {
				return
			}
			n, err := s.Count(t.Context(), id, tc.q)
			must.Succeed(t, err)
			same(t, "count", len(tc.want), n)
		})
	}
	_, err := s.Search(t.Context(), event.NewConversationID(), eventstream.Query{})
	isKind(t, err, fault.NotFound)
	_, err = s.Count(t.Context(), event.NewConversationID(), eventstream.Query{})
	isKind(t, err, fault.NotFound)
}

func testSearchBody(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	recs := mixed(t, s, id)
	for body, want := range map[string][]int{
		"hello":        {1},
		"WORLD":        {1},
		"stra":         {2},
		"zebra":        {2},
		"giraffe":      {5},
		"l":            {1, 5},
		"llm_message":  nil, // text is searched, not JSON
		"hello\nworld": nil,
	} {
		page, err := s.Search(t.Context(), id, eventstream.Query{Body: body})
		must.Succeed(t, err)
		same(t, body, pick(recs, want...), page.Records)
		n, err := s.Count(t.Context(), id, eventstream.Query{Body: body})
		must.Succeed(t, err)
		same(t, body+" count", len(want), n)
	}
	page, err := s.Search(t.Context(), id, eventstream.Query{Body: "hello", Kinds: []string{"PauseEvent"}})
	must.Succeed(t, err)
	same(t, "body of another kind", 0, len(page.Records))
}

func testSearchText(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	call := func(n int, kind string) event.Event {
		raw := fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-24T12:00:00.00000%d","source":"agent","kind":%q,`, event.NewID(), n, kind)
		switch kind {
		case "ActionEvent":
			raw += `"tool_name":"terminal","tool_call_id":"needle","tool_call":{"id":"needle","name":"terminal","arguments":"{}","origin":"completion"},"llm_response_id":"r","thought":[{"type":"text","text":"I look"}],"action":{"kind":"TerminalAction","command":"grep \"Zebra\" *.go"}}`
		case "ObservationEvent":
			raw += `"tool_name":"terminal","tool_call_id":"needle","action_id":"a","observation":{"kind":"TerminalObservation","content":[{"type":"text","text":"main.go: <b>giraffe</b>\nStraße"}]}}`
		default:
			raw += `"key":"stats","value":{"x":"zebra giraffe"}}`
		}
		ev, err := event.Unmarshal([]byte(raw))
		must.Succeed(t, err)
		return ev
	}
	evs := []event.Event{messages(1)[0], call(1, "ActionEvent"), call(2, "ConversationStateUpdateEvent"), call(3, "ObservationEvent")}
	appendAll(t, s, id, evs...)
	recs := encodeAll(t, 1, evs...)
	for text, want := range map[string][]int{
		"zebra": {2}, `grep "zebra"`: {2}, "i look": {2}, "GIRAFFE": {4}, "<b>giraffe": {4}, "straße": {4}, "message": {1},
		"needle": nil, "TerminalAction": nil, "stats": nil,
	} {
		for _, order := range []eventstream.Order{eventstream.Ascending, eventstream.Descending} {
			page, err := s.Search(t.Context(), id, eventstream.Query{Text: text, Order: order})
			must.Succeed(t, err)
			same(t, text, pick(recs, want...), page.Records)
		}
		n, err := s.Count(t.Context(), id, eventstream.Query{Text: text})
		must.Succeed(t, err)
		same(t, text+" count", len(want), n)
	}
	for _, q := range []eventstream.Query{{Text: "zebra", Kinds: []string{"ObservationEvent"}}, {Text: "zebra", Body: "zebra"}, {Text: "zebra", Kinds: []string{"PauseEvent"}}} {
		page, err := s.Search(t.Context(), id, q)
		must.Succeed(t, err)
		same(t, "records of other kinds", 0, len(page.Records))
	}
}

func testSearchPages(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	evs := messages(250)
	appendAll(t, s, id, evs...)
	up := encodeAll(t, 1, evs...)
	var down []eventstream.Record
	for i := range up {
		down = append(down, up[len(up)-1-i])
	}
	for _, tc := range []struct {
		q     eventstream.Query
		want  []eventstream.Record
		pages int
	}{
		{eventstream.Query{}, up, 3}, // 100 is the default
		{eventstream.Query{Limit: 50}, up, 5},
		{eventstream.Query{Limit: 249, Order: eventstream.Descending}, down, 2},
		{eventstream.Query{Limit: 250}, up, 1},
		{eventstream.Query{Limit: 99, Body: "message"}, up, 3},
		{eventstream.Query{Limit: 99, Body: "message", Order: eventstream.Descending}, down, 3},
	} {
		var got []eventstream.Record
		pages := 0
		for q := tc.q; ; pages++ {
			page, err := s.Search(t.Context(), id, q)
			must.Succeed(t, err)
			got = append(got, page.Records...)
			if q.PageID = page.NextID; q.PageID == "" {
				break
			}
		}
		same(t, "records", tc.want, got)
		same(t, "pages", tc.pages, pages+1)
	}
}
