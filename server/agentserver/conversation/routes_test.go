package conversation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	h := setup(t, []*llm.Response{shell("block"), says("done")}, func(o *session.Options) { o.MaxRuns = 1 })
	ask := h.serve(t)
	id, gone := event.NewConversationID(), event.NewConversationID()
	body := fmt.Sprintf(`{"conversation_id":%q,"autotitle":false,"workspace":{"working_dir":%q},
"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"k"},"tools":[{"name":"terminal"}]}}`, id, h.work)
	one := "/" + string(id)
	other := strings.ReplaceAll(body, string(id), string(event.NewConversationID()))
	for i, s := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"POST", "", body, 201, `"execution_status":"idle"`},
		{"POST", "", body, 200, `"execution_status":"idle"`},
		{"POST", "", "{", 422, `"json_invalid"`},
		{"POST", "", "{}", 422, `["body","workspace"]`},
		{"POST", one + "/events", `{"role":"nobody","content":[]}`, 422, "literal_error"},
		{"POST", one + "/events", `{"role":"assistant","content":[]}`, 422, "Only user messages"},
		{"POST", one + "/events", `{"content":[{"type":"video","text":"x"}]}`, 422, `["body","content",0,"TextContent","type"]`},
		{"POST", one + "/events", `{"content":[{"type":"text","text":""},{"type":"text"}]}`, 422, `{"detail":[{"type":"missing","loc":["body","content",1,"TextContent","text"],"msg":"Field required","input":{"type":"text"}},`},
		{"POST", one + "/events", `{"content":[{"type":"text","text":null}]}`, 422, `{"type":"string_type","loc":["body","content",0,"TextContent","text"]`},
		{"POST", one + "/events", `{"content":[{"type":"image"}]}`, 422, `["body","content",0,"ImageContent","image_urls"]`},
		{"POST", "", strings.Replace(body, "{", `{"initial_message":{"content":[{"type":"text"}]},`, 1), 422, `["body","initial_message","content",0,"TextContent","text"]`},
		{"POST", "", strings.Replace(body, "{", `{"initial_message":{"role":"nobody"},`, 1), 422, `"initial_message","role"`},
		{"POST", "", strings.Replace(body, "{", `{"initial_message":{"role":"system"},`, 1), 422, "Only user messages"},
		{"POST", one + "/events", `{"role":"user","content":[{"type":"text","text":"go"}],"run":true}`, 200, "true"},
		{"BLOCK", "", "", 0, ""},
		{"GET", one + "/events/search?kind=", "", 200, `{"items":[],`},
		{"GET", one + "?include_skills=maybe", "", 422, "bool_parsing"},
		{"GET", "/search?include_skills=maybe", "", 422, "bool_parsing"},
		{"POST", one + "/run", "", 409, "already running"},
		{"POST", "", other, 201, ""},
		{"POST", "", strings.Replace(strings.ReplaceAll(body, string(id), string(event.NewConversationID())), "{", `{"initial_message":{"content":[{"type":"text","text":"hi"}]},`, 1), 429, `{"detail":"Conversation run limit reached. Retry the request later."}`},
		{"PATCH", one, `{"title":""}`, 422, `["body","title"]`},
		{"PATCH", one, `{"title":" a title ","tags":{"a":"b"}}`, 200, "true"},
		{"GET", one, "", 200, `"title":"a title"`},
		{"GET", one + "0", "", 422, "uuid_parsing"},
		{"GET", "/" + string(gone), "", 404, "Conversation not found"},
		{"GET", one + "/questions", "", 200, `{"always":[],"preset":"never","questions":[]}`},
		{"GET", one + "/limits", "", 200, `{"max_iterations":500,"max_budget_per_task":0}`},
		{"POST", one + "/limits", `{"max_iterations":0,"max_budget_per_task":-1}`, 422, `["body","max_budget_per_task"]`},
		{"POST", one + "/limits", `{"max_iterations":9,"max_budget_per_task":1}`, 409, "while the agent works"},
		{"POST", one + "/answers", `{"answers":{"a":{"choice":"maybe"}}}`, 422, `["body","answers","a","choice"]`},
		{"POST", one + "/answers", `{"answers":{"a":{"choice":"once"}}}`, 409, "does not wait for an answer any more"},
		{"POST", one + "/confirm", `{"confirm":"sometimes"}`, 422, `["body","confirm"]`},
		{"POST", one + "/confirm", `{}`, 422, "Field required"},
		{"GET", one + "/equipment", "", 200, `"parameters":{"type":"object"`},
		{"GET", one + "/equipment", "", 200, `"skills":[],"warnings":[`},
		{"GET", "/" + string(gone) + "/equipment", "", 404, "Conversation not found"},
		{"GET", one + "/prompts", "", 200, `{"prompts":[],"warnings":[]}`},
		{"GET", "/" + string(gone) + "/prompts", "", 404, "Conversation not found"},
		{"GET", "?ids=" + string(id) + "&ids=" + string(gone), "", 200, `,null]`},
		{"GET", "", "", 422, `["query","ids"]`},
		{"GET", "/count?status=running", "", 200, "1"},
		{"GET", "/search?limit=1", "", 200, `"next_page_id":"`},
		{"GET", "/search?limit=0", "", 422, `["query","limit"]`},
		{"GET", "/search?status=tired", "", 422, `["query","status"]`},
		{"POST", one + "/confirmation_policy", `{"policy":{"kind":"Nobody"}}`, 422, ""},
		{"POST", one + "/navigate", `{}`, 409, ""},
		{"POST", one + "/navigate", ``, 422, `["body"]`},
		{"POST", one + "/navigate", `{"event_id":null}`, 409, ""},
		{"POST", one + "/goal/resume", "", 400, "no_resumable_goal"},
		{"POST", one + "/switch_profile", `{"profile_name":"none"}`, 404, ""},
		{"POST", one + "/interrupt", "", 200, "true"},
		{"DELETE", one, "", 200, "true"},
		{"DELETE", one, "", 404, "Conversation not found"},
		{"GET", one + "/events/search", "", 404, ""},
		{"POST", one + "/events", `{"role":"user","content":[]}`, 404, ""},
	} {
		if s.method == "BLOCK" {
			<-h.started
			continue
		}
		status, answer := ask(s.method, s.path, s.body)
		if status != s.status || !strings.Contains(answer, s.has) {
			t.Errorf("%d: %s %s: %d %.300s, want %d with %s", i, s.method, s.path, status, answer, s.status, s.has)
		}
		if status >= http.StatusBadRequest && !json.Valid([]byte(answer)) || status >= 400 && !strings.HasPrefix(answer, `{"detail":`) {
			t.Errorf("%d: the error is %.300s", i, answer)
		}
	}
}

// TestQueueRoutes checks what clients get who read and change the messages that wait.
func TestQueueRoutes(t *testing.T) {
	t.Parallel()
	h := setup(t, []*llm.Response{shell("block")}, nil)
	ask := h.serve(t)
	c := h.begin(t)
	must.Succeed(t, c.Send(t.Context(), session.Message{Role: event.RoleUser, Content: event.Texts("go"), Run: true}))
	<-h.started
	path := "/" + string(c.ID()) + "/queue"
	status, raw := ask("POST", path, `{"text":"first"}`)
	var first session.Queued
	if err := json.Unmarshal([]byte(raw), &first); err != nil || status != 201 || first.Text != "first" {
		t.Fatal(status, raw, err)
	}
	one := path + "/" + string(first.ID)
	for _, s := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"POST", path, `{"text":" "}`, 422, "a message needs a text"},
		{"POST", path, `{"text":"` + strings.Repeat("x", 300<<10) + `"}`, 422, "no room for more"},
		{"POST", path, `{}`, 422, `["body","text"]`},
		{"GET", path, "", 200, `{"messages":[{"id":"` + string(first.ID) + `","text":"first"}]}`},
		{"PUT", one, `{"text":"1st"}`, 200, "true"},
		{"PUT", one, `{"text":""}`, 422, "a message needs a text"},
		{"GET", path, "", 200, `"text":"1st"`},
		{"POST", one + "/send", "", 200, "true"},
		{"POST", one + "/send", "", 404, "it was sent or removed"},
		{"PUT", one, `{"text":"late"}`, 404, "it was sent or removed"},
		{"DELETE", one, "", 404, "it was sent or removed"},
		{"GET", path, "", 200, `{"messages":[]}`},
		{"POST", "/" + string(event.NewConversationID()) + "/queue", `{"text":"x"}`, 404, "Conversation not found"},
	} {
		if status, raw := ask(s.method, s.path, s.body); status != s.status || !strings.Contains(raw, s.has) {
			t.Errorf("%s %s: %d %s, want %d with %s", s.method, s.path, status, raw, s.status, s.has)
		}
	}
}
