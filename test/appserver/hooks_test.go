package appserver_test

import (
	"net/http"
	"strings"
	"testing"
)

// projectHooks is the answer about the hooks of a conversation.
type projectHooks struct {
	InForce map[string][]any `json:"hook_config"`
	Project struct {
		SHA256  string           `json:"sha256"`
		Hooks   map[string][]any `json:"hook_config"`
		Answer  string           `json:"answer"`
		Problem string           `json:"problem"`
	} `json:"project"`
}

// TestProjectHooks: the hooks of a repository run in conversations about it once the user has
// allowed them, from the first message on, and not in those of others.
func TestProjectHooks(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{
		".openhands/hooks.json": `{"hooks":{
			"SessionStart": [{"hooks": [{"command": "echo begun"}]}],
			"PreToolUse": [{"matcher": "terminal", "hooks": [{"command": "sh ./no-push.sh"}]}]}}`,
		"no-push.sh": "#!/bin/sh\ngrep -q 'push origin main' || exit 0\necho 'nothing is pushed to main' >&2\nexit 2\n",
		"README":     "hello\n",
	})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo git push origin main"}}]}
  - reply: {text: it is done}
`, options{env: env})
	start := map[string]any{"title": "Push", "selected_repository": url, "initial_message": text("push")}
	first, _ := d.begin(t, start)
	if ran := kindsOf(d.follow(t, first, "finished"), "HookExecutionEvent"); ran != 0 {
		t.Errorf("%d hooks ran that nobody has allowed", ran)
	}
	inside := &client{http: d.owner.http, key: first.Key}
	of := func(c conversation) string { return d.url + "/api/conversations/" + c.ID + "/hooks" }
	var asked projectHooks
	inside.do(t, "GET", of(first), nil, &asked)
	if asked.InForce != nil || asked.Project.Answer != "" || len(asked.Project.Hooks["pre_tool_use"]) != 1 {
		t.Fatalf("the question: %+v", asked)
	}
	if status, raw := inside.send(t, "POST", of(first), map[string]any{"sha256": "0", "allow": true}); status != http.StatusConflict || !strings.Contains(string(raw), "has changed since") {
		t.Errorf("an answer about another content: %d %s", status, raw)
	}
	if status, _ := inside.send(t, "POST", of(first), map[string]any{"allow": true}); status != http.StatusUnprocessableEntity {
		t.Errorf("an answer about nothing: %d", status)
	}
	inside.do(t, "POST", of(first), map[string]any{"sha256": asked.Project.SHA256, "allow": true}, nil)

	second, _ := d.begin(t, start)
	events := d.follow(t, second, "finished")
	if ran := kindsOf(events, "HookExecutionEvent"); ran != 2 || kindsOf(events, "UserRejectObservation") != 1 { // one at the beginning, one before the call
		t.Errorf("%d hooks ran, want 2 and a refusal: %v", ran, acts(events))
	}
	var inForce projectHooks
	(&client{http: d.owner.http, key: second.Key}).do(t, "GET", of(second), nil, &inForce)
	if len(inForce.InForce["pre_tool_use"]) != 1 || inForce.Project.Answer != "allowed" {
		t.Errorf("in force: %+v", inForce)
	}
}

// kindsOf counts the events of a kind.
func kindsOf(all []seen, kind string) (n int) {
	for _, e := range all {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
