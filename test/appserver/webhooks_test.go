package appserver_test

import (
	"net/http"
	"testing"
)

// userMessage is an event as an Agent Server reports it.
func userMessage(id, text string) map[string]any {
	return map[string]any{
		"kind": "MessageEvent", "id": id, "timestamp": "2026-01-02T03:04:05.000006", "source": "user",
		"llm_message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}},
	}
}

// box is a sandbox as the App Server describes it.
type box struct {
	ID  string `json:"id"`
	Key string `json:"session_api_key"`
}

// TestReports reports conversations and events as an Agent Server inside a sandbox does,
// and as a hostile program with its key.
func TestReports(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := newClient(t, s)
	var mine, other box
	runs := asProgram(t, s, c)
	runs.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &mine)
	runs.do(t, "POST", s.url+"/api/v1/sandboxes", nil, &other)
	const id, hooks = "11111111222233334444555555555555", "/api/v1/webhooks"
	one := map[string]any{
		"id": "11111111-2222-3333-4444-555555555555", "title": "From inside", "created_by_user_id": "root",
		"workspace": map[string]any{"working_dir": "/etc"}, "stats": map[string]any{"usage_to_metrics": map[string]any{"agent": map[string]any{"accumulated_cost": 999}}},
	}
	costs := map[string]any{
		"kind": "ConversationStateUpdateEvent", "id": "e-cost", "timestamp": "2026-01-02T03:04:06.000006", "source": "environment",
		"key": "stats", "value": one["stats"],
	}
	events := []any{userMessage("e-1", "hello"), costs, userMessage("e-2", "again"), userMessage("e-1", "another text")}
	for _, step := range []struct {
		key, path string
		body      any
		want      int
	}{
		{"", hooks + "/conversations", one, 401},
		{"wrong", hooks + "/conversations", one, 401},
		{mine.Key, hooks + "/events/" + id, events, 401}, // not reported yet
		{mine.Key, hooks + "/conversations", map[string]any{"id": "../x"}, 422},
		{mine.Key, hooks + "/conversations", []any{}, 422},
		{mine.Key, hooks + "/conversations", one, 200},
		{mine.Key, hooks + "/conversations", map[string]any{"id": id, "title": "Later"}, 200},
		{other.Key, hooks + "/conversations", one, 401}, // it is another sandbox's
		{other.Key, hooks + "/events/" + id, events, 401},
		{mine.Key, hooks + "/events/" + id, events, 200},
		{mine.Key, hooks + "/events/" + id, events, 200}, // each is kept once
		{mine.Key, hooks + "/events/" + id, []any{map[string]any{"kind": 7}}, 422},
		{mine.Key, hooks + "/events/" + id, map[string]any{}, 422},
	} {
		p := &client{http: http.DefaultClient, key: step.key}
		if status, raw := p.send(t, "POST", s.url+step.path, step.body); status != step.want {
			t.Errorf("POST %s of %v: %d: %s, want %d", step.path, step.body, status, raw, step.want)
		}
	}
	var all []struct {
		Title   string  `json:"title"`
		Sandbox string  `json:"sandbox_id"`
		Owner   *string `json:"created_by_user_id"`
		Metrics struct {
			Cost float64 `json:"accumulated_cost"`
		} `json:"metrics"`
	}
	c.do(t, "GET", s.url+"/api/v1/app-conversations?ids="+id, nil, &all)
	if len(all) != 1 || all[0].Title != "From inside" || all[0].Sandbox != mine.ID || all[0].Metrics.Cost != 0 || (all[0].Owner != nil && *all[0].Owner == "root") {
		t.Errorf("%+v", all)
	}
	var found struct {
		Items []struct {
			ID      string `json:"id"`
			Message struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"llm_message"`
		} `json:"items"`
	}
	c.do(t, "GET", s.url+"/api/v1/conversation/"+id+"/events/search", nil, &found)
	if len(found.Items) != 2 || found.Items[0].ID != "e-1" || found.Items[0].Message.Content[0].Text != "hello" || found.Items[1].ID != "e-2" {
		t.Errorf("%+v", found.Items)
	}
}

// TestReportsOfOwnConversations reports events of a conversation that the App Server runs
// itself: they may be repeated, not added.
func TestReportsOfOwnConversations(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := newClient(t, s)
	var mine box
	asProgram(t, s, c).do(t, "POST", s.url+"/api/v1/sandboxes", nil, &mine)
	agent := &client{http: http.DefaultClient, key: mine.Key}
	var made struct {
		ID string `json:"id"`
	}
	agent.do(t, "POST", s.url+"/api/conversations", map[string]any{
		"agent":     map[string]any{"kind": "Agent", "llm": map[string]any{"model": "openai/none", "usage_id": "agent"}},
		"workspace": map[string]any{"working_dir": "/workspace/project"},
	}, &made)
	agent.do(t, "POST", s.url+"/api/conversations/"+made.ID+"/events", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "kept"}}, "run": false,
	}, nil)
	events := func() (all struct {
		Items []map[string]any `json:"items"`
	}) {
		c.do(t, "GET", s.url+"/api/v1/conversation/"+made.ID+"/events/search", nil, &all)
		return all
	}
	before := events().Items
	if len(before) == 0 {
		t.Fatal("there are no events: the test tests nothing")
	}
	hook := s.url + "/api/v1/webhooks/events/" + made.ID
	if status, raw := agent.send(t, "POST", hook, before); status != 200 {
		t.Errorf("events that are there: %d: %s", status, raw)
	}
	if status, raw := agent.send(t, "POST", hook, []any{userMessage("forged", "x")}); status != 409 {
		t.Errorf("a new event: %d: %s, want 409", status, raw)
	}
	agent.do(t, "POST", s.url+"/api/v1/webhooks/conversations", map[string]any{"id": made.ID, "title": "forged"}, nil)
	if after := events().Items; len(after) != len(before) {
		t.Errorf("%d events, had %d", len(after), len(before))
	}
	var all []struct {
		Title *string `json:"title"`
	}
	c.do(t, "GET", s.url+"/api/v1/app-conversations?ids="+made.ID, nil, &all)
	if len(all) != 1 || (all[0].Title != nil && *all[0].Title == "forged") {
		t.Errorf("%+v", all)
	}
}
