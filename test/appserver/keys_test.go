package appserver_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestSecretKeys: with a new secret key and the former one as a previous key, conversations
// go on with their secrets, and after that without the former key. Without either the
// conversations are listed and can be read, routes that need a secret name the next step,
// and nothing is lost.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	o := options{env: []string{"OH_SECRET_KEY=the first key"}}
	d := deploy(t, `
by_history: true
turns:
  - reply: {text: done}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo it has ${#PASSPHRASE} characters"}}]}
  - reply: {text: done}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo still ${#PASSPHRASE} characters"}}]}
  - reply: {text: done}
`, o)
	secret := func(name string) (int, []byte) {
		return d.owner.send(t, "POST", d.url+"/api/v1/secrets", map[string]any{"name": name, "value": "open sesame"})
	}
	if status, said := secret("PASSPHRASE"); status != http.StatusCreated {
		t.Fatalf("%d %s", status, said)
	}
	bob := &client{http: http.DefaultClient, api: addOwner(t, d.server, "bob")}
	for _, c := range []*client{d.owner, bob} {
		c.do(t, "POST", d.url+"/api/v1/settings", map[string]any{"llm_model": "openai/scripted", "llm_base_url": d.llm.URL + "/v1", "llm_api_key": "k"}, nil)
	}
	made, _ := d.begin(t, map[string]any{"title": "Keys", "initial_message": text("begin")})
	d.follow(t, made, "finished")
	again := func(o options) {
		t.Helper()
		d.stop(t)
		d = d.again(t, o)
	}
	say := func() (int, []byte) {
		return d.owner.send(t, "POST", d.url+"/api/v1/app-conversations/"+made.ID+"/send-message", text("go on"))
	}
	runs := []string{"running", "finished"}
	goesOn := func(want string) {
		t.Helper()
		runs = append(runs, "running", "finished")
		if status, said := say(); status != http.StatusOK {
			t.Fatalf("%d %s", status, said)
		}
		found := ""
		for _, e := range d.follow(t, d.conversation(t, made.ID), runs...) {
			if len(e.Observation.Content) > 0 {
				found = e.Observation.Content[0].Text
			}
		}
		if !strings.Contains(found, want) {
			t.Errorf("the command says %q, want %q", found, want)
		}
	}

	again(options{env: []string{"OH_SECRET_KEY=the second key", "OH_PREVIOUS_SECRET_KEYS_0=the first key"}})
	goesOn("it has 11 characters")

	again(options{env: []string{"OH_SECRET_KEY=another key"}, failing: true})
	if c := d.conversation(t, made.ID); c.Title != "Keys" || c.SandboxIs != "ERROR" || c.Key != "" {
		t.Errorf("the conversation is shown as %+v", c)
	}
	var found struct{ Items []conversation }
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/search", nil, &found)
	if len(found.Items) != 1 {
		t.Errorf("listed: %+v", found)
	}
	d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks/search", nil, nil)
	d.owner.do(t, "GET", d.url+"/api/v1/sandboxes/search", nil, nil)
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+made.ID+"/events/search", nil, nil)
	for name, ask := range map[string]func() (int, []byte){
		"go on": say,
		"pause": func() (int, []byte) {
			return d.owner.send(t, "POST", d.url+"/api/v1/sandboxes/"+made.Sandbox+"/pause", nil)
		},
		"delete": func() (int, []byte) {
			return d.owner.send(t, "DELETE", d.url+"/api/v1/app-conversations/"+made.ID, nil)
		},
		"start": func() (int, []byte) {
			var tasks []task
			d.owner.do(t, "POST", d.url+"/api/v1/app-conversations/stream-start", map[string]any{"initial_message": text("begin")}, &tasks)
			last := tasks[len(tasks)-1]
			return map[string]int{"ERROR": http.StatusServiceUnavailable}[last.Status], []byte(last.Detail)
		},
		"store a secret": func() (int, []byte) { return secret("OTHER") },
	} {
		if status, said := ask(); status != http.StatusServiceUnavailable || !strings.Contains(string(said), "OH_PREVIOUS_SECRET_KEYS") {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}

	again(options{env: []string{"OH_SECRET_KEY=the second key"}})
	goesOn("still 11 characters")

	// Who has asked for nothing while both keys were there has lost nothing either.
	both := options{env: []string{"OH_SECRET_KEY=the third key", "OH_PREVIOUS_SECRET_KEYS_0=the second key"}}
	again(both)
	again(options{env: []string{"OH_SECRET_KEY=the third key"}})
	for _, c := range []*client{d.owner, bob} {
		var found struct {
			Set bool `json:"llm_api_key_set"`
		}
		c.do(t, "GET", d.url+"/api/v1/settings", nil, &found)
		if !found.Set {
			t.Errorf("a key in the settings is lost with the former key of secrets")
		}
	}
	again(both) // the conversation has the second key
}
