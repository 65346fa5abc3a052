package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// TestNavigateAnywhere moves HEAD to every stored event, as the reference can.
func TestNavigateAnywhere(t *testing.T) {
	t.Parallel()
	h := setup(t, []*llm.Response{says("done")}, nil)
	c := h.begin(t)
	send(t, c, "go")
	ask := h.serve(t)
	one := "/" + string(c.ID())
	code, body := ask("GET", one+"/events/search", "")
	var page struct {
		Items []struct {
			ID     event.ID `json:"id"`
			Parent event.ID `json:"parent_id"`
			Kind   string   `json:"kind"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(code, err)
	}
	updates := 0
	for _, ev := range page.Items {
		want := ev.ID
		if ev.Kind == "ConversationStateUpdateEvent" {
			want = ev.Parent
			updates++
		}
		leaf := `"leaf_event_id":"` + string(want) + `"`
		if want == "" || want == event.Root {
			leaf = `"leaf_event_id":null`
		}
		code, body := ask("POST", one+"/navigate", `{"event_id":"`+string(ev.ID)+`"}`)
		if code != 200 || !strings.Contains(body, leaf) {
			t.Errorf("%s: %d without %s: %s", ev.Kind, code, leaf, body)
		}
	}
	if updates == 0 {
		t.Error("no state update was stored")
	}
	for _, id := range []string{"", "none", strings.ToUpper(string(page.Items[1].ID))} {
		if code, body := ask("POST", one+"/navigate", `{"event_id":"`+id+`"}`); code != 404 || body != `{"detail":"Unknown event_id: `+id+`"}` {
			t.Errorf("%q: %d %s", id, code, body)
		}
	}
}

// TestEmptyFilters: a filter without a value selects the same as at the reference.
func TestEmptyFilters(t *testing.T) {
	t.Parallel()
	h := setup(t, []*llm.Response{says("done")}, nil)
	c := h.begin(t)
	send(t, c, "go")
	ask := h.serve(t)
	for query, want := range map[string]string{ // the count, or a part of the violation
		"kind=MessageEvent": "2", "body=": "2", "kind=MessageEvent&body=": "2", "source=user&body=": "1",
		"kind=ActionEvent&body=": "0", "kind=&body=": "0", "source=": "0", "kind=MessageEvent&source=": "0", "kind=": "0",
		"kind=MessageEvent&limit=0": "2", "kind=MessageEvent&sort_order=": "2", "timestamp__lt=": "timestamp__lt",
	} {
		if _, got := ask("GET", "/"+string(c.ID())+"/events/count?"+query, ""); got != want && !(len(want) > 1 && strings.Contains(got, want)) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for query, want := range map[string]int{"body=": 2, "source=": 0, "body=&kind=": 0, "body=&kind=MessageEvent": 2} {
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		_, got := ask("GET", "/"+string(c.ID())+"/events/search?"+query, "")
		if err := json.Unmarshal([]byte(got), &page); err != nil || len(page.Items) != want {
			t.Errorf("%s: %s, want %d events", query, got, want)
		}
	}
}
