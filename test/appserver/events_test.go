package appserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEventPages reads the events of a conversation in both directions from one of them on, which
// page_id names, as a link to it does; asks for its place; and for an event that is not there.
func TestEventPages(t *testing.T) {
	t.Parallel()
	d := join(t, `{turns: []}`)
	const base = "/api/v1/app-conversations"
	name := func(n int) string { return fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", n) }
	var events []any
	for n := 1; n <= 30; n++ {
		events = append(events, userMessage(name(n), fmt.Sprintf("message %d", n)))
	}
	status, raw := d.owner.sendRaw(t, d.url+base+"/import?title=Long", bytes.NewReader(trajectory(t, events...)))
	var made conversation
	if err := json.Unmarshal(raw, &made); status != http.StatusCreated || err != nil {
		t.Fatalf("%d: %s: %v", status, raw, err)
	}
	d.owner.do(t, "PATCH", d.url+base+"/"+made.ID, map[string]any{"public": true}, &made)
	own, shared := "/api/v1/conversation/"+made.ID+"/events/", "/api/shared-events/"
	for _, at := range []string{own, shared} {
		type page struct {
			Items []struct{ ID string }
			Next  *string `json:"next_page_id"`
		}
		ask := func(query string) (numbers []int, next string) {
			t.Helper()
			var p page
			d.owner.do(t, "GET", d.url+at+"search?conversation_id="+made.ID+"&"+query, nil, &p)
			for _, item := range p.Items {
				n := 0
				if _, err := fmt.Sscanf(item.ID, "aaaaaaaa-0000-4000-8000-%d", &n); err == nil {
					numbers = append(numbers, n)
				}
			}
			if p.Next != nil {
				next = *p.Next
			}
			return numbers, next
		}
		all := func(query, from string) (numbers []int) {
			for {
				some, next := ask(query + "&limit=7&page_id=" + from)
				if numbers = append(numbers, some...); next == "" {
					return numbers
				}
				from = next
			}
		}
		var up []int
		for n := 12; n <= 30; n++ {
			up = append(up, n)
		}
		if diff := cmp.Diff(up, all("sort_order=TIMESTAMP", name(12))); diff != "" {
			t.Errorf("%s: newer events (-want +got):\n%s", at, diff)
		}
		var down []int
		for n := 1; n <= 12; n++ {
			down = append(down, n)
		}
		slices.Reverse(down)
		if diff := cmp.Diff(down, all("sort_order=TIMESTAMP_DESC", name(12))); diff != "" {
			t.Errorf("%s: older events (-want +got):\n%s", at, diff)
		}
		var place struct {
			At     int
			Active [][2]int
		}
		d.owner.do(t, "GET", d.url+at+"place?conversation_id="+made.ID+"&event_id="+name(12), nil, &place)
		if place.At < 12 || len(place.Active) != 1 || place.Active[0][0] != 1 || place.Active[0][1] < 30 {
			t.Errorf("%s: the place is %+v", at, place)
		}
		for _, query := range []string{"search?sort_order=TIMESTAMP&page_id=" + name(99), "search?sort_order=TIMESTAMP_DESC&page_id=" + name(99), "search?page_id=x", "place?event_id=" + name(99)} {
			status, answer := d.owner.send(t, "GET", d.url+at+query+"&conversation_id="+made.ID, nil)
			if status != http.StatusNotFound || !strings.Contains(string(answer), "Event not found") {
				t.Errorf("%s%s: %d: %s", at, query, status, answer)
			}
		}
		if status, answer := d.owner.send(t, "GET", d.url+at+"place?conversation_id="+made.ID, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("%splace without an event: %d: %s", at, status, answer)
		}
	}
}
