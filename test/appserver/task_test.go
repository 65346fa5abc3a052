package appserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/postgrestest"
)

const taskScript = `
turns:
  - match: {user: do the whole}
    reply: {tool_calls: [{name: task, arguments: {prompt: do the part, description: the part}}]}
  - match: {user: do the part}
    reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >>made; echo x >begun; read x <go; echo two >>made; cat made"}}]}
  - match: {user: do the part}
    reply: {tool_calls: [{name: finish, arguments: {message: the part is done}}]}
  - match: {user: do the whole}
    reply: {text: the whole is done}
`

// takenOver is with two other servers on the database when the first one is killed.
const takenOver = "taken over"

// TestTask: a server that is killed while a sub-agent works goes on with it, in each kind of
// sandbox and with each database. The key of the sandbox reaches the sub-agent.
func TestTask(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(t *testing.T) options{
		"process": func(*testing.T) options { return options{} },
		"docker": func(t *testing.T) options {
			return options{args: []string{"--sandbox", "docker", "--image", image, "--pull", "never"}, env: []string{"DOCKER_HOST=" + engine(t)}}
		},
		"postgres": func(t *testing.T) options { return options{database: postgrestest.URL(t)} },
		takenOver:  func(t *testing.T) options { return options{database: postgrestest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := of(t)
			one := deploy(t, taskScript, o)
			var sandbox struct {
				ID string `json:"id"`
			}
			one.owner.do(t, "POST", one.url+"/api/v1/sandboxes", nil, &sandbox)
			workspace := one.workspace(sandbox.ID)
			pipes(t, workspace, "begun", "go")
			c, _ := one.begin(t, map[string]any{"title": "Whole", "sandbox_id": sandbox.ID, "initial_message": text("do the whole")})
			waitFor(t, filepath.Join(workspace, "begun"))
			var known struct {
				Children []string `json:"sub_conversation_ids"`
			}
			page := &client{http: one.owner.http, key: c.Key}
			page.do(t, "GET", one.url+"/api/conversations/"+c.ID, nil, &known)
			if len(known.Children) != 1 {
				t.Fatalf("the children are %v", known.Children)
			}
			child := one.url + "/api/conversations/" + known.Children[0]
			var described struct {
				Title  string `json:"title"`
				Status string `json:"execution_status"`
			}
			page.do(t, "GET", child, nil, &described)
			if described.Title != "the part" || described.Status != "running" {
				t.Errorf("the sub-agent: %+v", described)
			}
			if status, raw := page.send(t, "GET", child+"/events/search", nil); status != http.StatusOK {
				t.Errorf("its events: %d: %.200s", status, raw)
			}
			var again deployment
			if name == takenOver { // one of them is told of the parent, one of the sub-agent
				one.again(t, o)
				again = one.again(t, o)
			}
			one.kill(t)
			if name != takenOver {
				again = one.again(t, o)
			}
			tell(t, filepath.Join(workspace, "go"))
			all := again.follow(t, c, "finished")
			want := []string{"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent"}
			if diff := cmp.Diff(want, acts(all)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := observed(all); got != "the part is done" {
				t.Errorf("the result is %q", got)
			}
			made, err := os.ReadFile(filepath.Join(workspace, "made"))
			if err != nil || string(made) != "one\ntwo\n" {
				t.Errorf("the command has made %q, %v", made, err)
			}
		})
	}
}
