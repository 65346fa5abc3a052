package appserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// deployment is a server with a scripted LLM, and its owner.
type deployment struct {
	*server
	llm   *llmtest.Server
	owner *client
}

// deploy starts a server whose users' LLM follows a script. When the test ends, all
// conversations are deleted, with their sandboxes' processes.
func deploy(t *testing.T, script string, o options) deployment {
	t.Helper()
	parsed, err := llmtest.Parse([]byte(script))
	must.Succeed(t, err)
	llm := llmtest.Start(t, parsed)
	o.env = append(o.env, "LLM_MODEL=openai/scripted", "LLM_BASE_URL="+llm.URL+"/v1", "LLM_API_KEY=k")
	s := start(t, o)
	d := deployment{s, llm, newClient(t, s)}
	t.Cleanup(func() { d.deleteAll(t) })
	return d
}

// again starts another server on the database of one, by default in its directory.
func (d deployment) again(t *testing.T, o options) deployment {
	t.Helper()
	if o.dir == "" {
		o.dir = d.data
	}
	o.env = append(o.env, "LLM_MODEL=openai/scripted", "LLM_BASE_URL="+d.llm.URL+"/v1", "LLM_API_KEY=k")
	s := start(t, o)
	d = deployment{s, d.llm, newClient(t, s)}
	t.Cleanup(func() { d.deleteAll(t) })
	return d
}

// conversation is the server's description of one.
type conversation struct {
	ID        string `json:"id"`
	Sandbox   string `json:"sandbox_id"`
	SandboxIs string `json:"sandbox_status"`
	Status    string `json:"execution_status"`
	Title     string `json:"title"`
	URL       string `json:"conversation_url"`
	Key       string `json:"session_api_key"`
	Public    bool   `json:"public"`
}

// deleteAll deletes the conversations, if the server is still there.
func (d deployment) deleteAll(t *testing.T) {
	t.Helper()
	select {
	case <-d.ended:
		return
	default:
	}
	var found struct{ Items []conversation }
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/search", nil, &found)
	for _, c := range found.Items {
		waittest.Until(t, "the deletion of a conversation that another server may be starting", func() bool {
			status, answer := d.owner.send(t, "DELETE", d.url+"/api/v1/app-conversations/"+c.ID, nil)
			if status >= 300 && status != http.StatusConflict && status != http.StatusNotFound {
				t.Errorf("delete a conversation: %d %s", status, answer)
			}
			return status != http.StatusConflict
		})
	}
}

// text is a message of the user.
func text(says string) map[string]any {
	return map[string]any{"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": says}}}
}

// task is a start task.
type task struct {
	ID           string `json:"id"`
	Sandbox      string `json:"sandbox_id"`
	Status       string `json:"status"`
	Detail       string `json:"detail"`
	Conversation string `json:"app_conversation_id"`
	Log          string `json:"setup_log"`
}

// begin starts a conversation and returns it when it is ready, and the states of its
// start task.
func (d deployment) begin(t *testing.T, request map[string]any) (c conversation, states []string) {
	t.Helper()
	var tasks []task
	d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", request, &tasks)
	for _, one := range tasks {
		states = append(states, one.Status)
	}
	last := tasks[len(tasks)-1]
	if last.Status != "READY" {
		t.Fatalf("the start of the conversation: %+v", last)
	}
	return d.conversation(t, last.Conversation), states
}

// until asks for a start task until it is as wanted.
func (d deployment) until(t *testing.T, id string, wanted func(task) bool) (found task) {
	t.Helper()
	waittest.Until(t, "the state of a start task", func() bool {
		var all []*task
		d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks?ids="+id, nil, &all)
		if all[0] == nil {
			t.Fatal("the start task is gone")
		}
		if found = *all[0]; wanted(found) {
			return true
		}
		if found.Status == "ERROR" {
			t.Fatalf("the start task: %+v", found)
		}
		return false
	})
	return found
}

// started waits until the start of a conversation has ended.
func (d deployment) started(t *testing.T, id string) {
	t.Helper()
	var tasks struct{ Items []task }
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks/search?conversation_id__eq="+id, nil, &tasks)
	if len(tasks.Items) != 1 {
		t.Fatalf("%d start tasks of conversation %s", len(tasks.Items), id)
	}
	d.until(t, tasks.Items[0].ID, func(one task) bool { return one.Status == "READY" })
}

// conversation returns the server's description of a conversation.
func (d deployment) conversation(t *testing.T, id string) conversation {
	t.Helper()
	var found []*conversation
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations?ids="+id, nil, &found)
	if len(found) != 1 || found[0] == nil {
		t.Fatalf("there is no conversation %s", id)
	}
	return *found[0]
}

// seen is an event, as far as tests look at it.
type seen struct {
	Kind        string          `json:"kind"`
	Source      string          `json:"source"`
	Key         string          `json:"key"`
	Value       json.RawMessage `json:"value"`
	Observation struct {
		Content []struct{ Text string } `json:"content"`
		Code    *int                    `json:"exit_code"`
	} `json:"observation"`
}

// status returns the execution status that an event sets, "" for none.
func (e seen) status() (now string) {
	if e.Kind == "ConversationStateUpdateEvent" && e.Key == "execution_status" {
		_ = json.Unmarshal(e.Value, &now) // a status is a string
	}
	return now
}

// follow reads the events of a conversation from its WebSocket, from the first one on,
// until it has been in states, in their order.
func (d deployment) follow(t *testing.T, c conversation, until ...string) (all []seen) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := "ws" + strings.TrimPrefix(d.url, "http") + "/sockets/events/" + c.ID + "?resend_mode=all"
	ws, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Session-Api-Key": {c.Key}}})
	must.Succeed(t, err)
	if answer.Body != nil {
		answer.Body.Close()
	}
	defer ws.CloseNow()
	ws.SetReadLimit(16 << 20)
	for {
		_, raw, err := ws.Read(ctx)
		if err != nil {
			t.Fatalf("after %d events: %v", len(all), err)
		}
		var e seen
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		all = append(all, e)
		if e.status() != until[0] {
			continue
		}
		if until = until[1:]; len(until) == 0 {
			return all
		}
	}
}

// acts are the kinds of the events of user, agent and environment.
func acts(all []seen) (out []string) {
	for _, e := range all {
		switch e.Kind {
		case "ActionEvent", "ObservationEvent", "AgentErrorEvent", "MessageEvent":
			out = append(out, e.Source+" "+e.Kind)
		}
	}
	return out
}
