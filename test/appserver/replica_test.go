package appserver_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestOtherServer asks a server about a conversation that another one works on: requests
// and WebSockets are passed on.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	database := postgrestest.URL(t)
	one := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >made; echo x >begun; read x <go; echo two >>made"}}]}
  - reply: {text: "you said {{.LastUser}}"}
  - reply: {text: "then you said {{.LastUser}}"}
`, options{database: database})
	other := one.again(t, options{database: database})
	var sandbox struct{ ID string }
	one.owner.do(t, "POST", one.url+"/api/v1/sandboxes", nil, &sandbox)
	workspace := one.workspace(sandbox.ID)
	pipes(t, workspace, "begun", "go")
	c, _ := one.begin(t, map[string]any{"title": "Made", "sandbox_id": sandbox.ID, "initial_message": text("make it")})
	waitFor(t, filepath.Join(workspace, "begun"))

	base := other.url + "/api/v1/app-conversations/" + c.ID
	var file string
	other.owner.do(t, "GET", base+"/file?file_path=/workspace/project/made", nil, &file)
	if file != "one\n" {
		t.Errorf("the file has %q", file)
	}
	other.owner.do(t, "POST", base+"/send-message", text("hurry"), nil)
	agent := &client{http: other.owner.http, key: c.Key}
	var state struct {
		Status string `json:"execution_status"`
	}
	agent.do(t, "GET", other.url+"/api/conversations/"+c.ID, nil, &state)
	if state.Status != "running" {
		t.Errorf("the conversation is %s", state.Status)
	}
	// Who says that a server has passed the request on gets no further by it.
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/file", nil)
	must.Succeed(t, err)
	r.Header.Set("X-Deft-Passed-On", "1")
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request that claims to be passed on: %s", answer.Status)
	}
	tell(t, filepath.Join(workspace, "go"))
	all := other.follow(t, c, "finished")
	if got := acts(all); len(got) < 5 || !slices.Contains(got, "environment ObservationEvent") {
		t.Errorf("events: %v", got)
	}
	other.owner.do(t, "POST", other.url+"/api/v1/sandboxes/"+c.Sandbox+"/pause", nil, nil)
	other.owner.do(t, "DELETE", base, nil, nil)
}
