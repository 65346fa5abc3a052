package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation"
)

func TestStartRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	for name, c := range map[string]struct{ more, loc string }{
		"id":         {`"conversation_id":"x"`, "[body conversation_id]"},
		"parent":     {`"parent_conversation_id":"../etc"`, "[body parent_conversation_id]"},
		"iterations": {`"max_iterations":0`, "[body max_iterations]"},
		"tag":        {`"tags":{"No":"x"}`, "[body tags]"},
		"tag value":  {`"tags":{"a":"` + strings.Repeat("x", 257) + `"}`, "[body tags]"},
		"runtime":    {`"conversation_runtime":"docker"`, "[body conversation_runtime]"},
		"two agents": {`"agent_profile_id":"` + string(event.NewConversationID()) + `"`, "[body]"},
		"no agent":   {`"agent":null`, "[body]"},
		"prompt":     {`"prompt":"` + strings.Repeat("x", 2001) + `"`, "[body prompt]"},
		"nul":        {`"workspace":{"working_dir":"/tmp/\u0000"}`, "[body workspace working_dir]"},
		"worktree":   {`"worktree_options":{"base":"moon"}`, "[body worktree_options base]"},
		"ref":        {`"worktree_options":{"base":"ref","ref":"--upload-pack=x"}`, "[body worktree_options ref]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := h.serve(t)("POST", "", h.body(t, c.more))
			var said struct{ Detail schema.Violations }
			if err := json.Unmarshal([]byte(answer), &said); err != nil || status != 422 || len(said.Detail) == 0 {
				t.Fatalf("got %d %s: %v", status, answer, err)
			}
			if got := fmt.Sprint(said.Detail[0].Loc); got != c.loc {
				t.Errorf("loc %s, want %s", got, c.loc)
			}
		})
	}
	if n, err := h.All().Count(t.Context(), eventstream.ListQuery{}); n != 0 || err != nil {
		t.Errorf("%d conversations: %v", n, err)
	}
}

// TestUnavailableParts tells the client which parts of its request have no
// effect.
func TestUnavailableParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, want string }{
		"nothing":      {`"tags":{}`, ""},
		"hooks":        {`"hook_config":{"PreToolUse":[{"hooks":[{"command":"true"}]}]}`, "hook_config: this server does not run hooks"},
		"no hooks":     {`"hook_config":{"PreToolUse":[]}`, ""},
		"plugins":      {`"plugins":[{"source":"github:a/b"}]`, "plugins: this server does not load"},
		"marketplaces": {`"agent":{"kind":"Agent","llm":{"model":"openai/mock"},"agent_context":{"registered_marketplaces":[{"name":"m","source":"github:a/b"}]}}`, "registered_marketplaces: this server has no"},
		"inert":        {`"agent_definitions":[{"name":"a","description":"d","system_prompt":"p"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, []*llm.Response{says("done")}, nil)
			ask := h.serve(t)
			status, answer := ask("POST", "", h.body(t, c.more))
			var made struct{ ID event.ConversationID }
			if err := json.Unmarshal([]byte(answer), &made); err != nil || status != 201 {
				t.Fatalf("%d %s: %v", status, answer, err)
			}
			conv, err := h.Get(t.Context(), made.ID)
			if err != nil {
				t.Fatal(err)
			}
			send(t, conv, "go")
			_, events := ask("GET", "/"+string(made.ID)+"/events/search?kind=ConversationStateUpdateEvent", "")
			if got := strings.Contains(events, `"key":"warnings"`); got != (c.want != "") || !strings.Contains(events, c.want) {
				t.Errorf("want %q in %s", c.want, events)
			}
		})
	}
}

// TestSecretsEncrypted opens the sealed secrets of a start request only where it says
// that they are sealed.
func TestSecretsEncrypted(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, nil)
	sealed, err := f.ring.Seal([]byte("the-api-key"))
	if err != nil {
		t.Fatal(err)
	}
	for encrypted, want := range map[bool]string{true: "the-api-key", false: sealed} {
		doc, err := schema.Parse([]byte(`{"kind":"Agent","llm":{"model":"openai/mock","usage_id":"agent","api_key":"` + sealed + `"},"tools":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		r := conversation.NewStartRequest()
		r.Workspace.WorkingDir = f.work
		r.Agent, r.SecretsEncrypted = doc.(*schema.Map), encrypted
		if _, _, err := f.service.Start(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if key := string(f.agent.LLM.APIKey); key != want {
			t.Errorf("secrets_encrypted %v: the key is %q, want %q", encrypted, key, want)
		}
	}
}

// TestObservabilityHeaders checks the headers by the reference's rules: the span's
// name in the body counts over the header, and any text is a list of tags.
func TestObservabilityHeaders(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	ask := h.serve(t)
	for _, c := range []struct {
		header, value, more string
		want                int
	}{
		{"Metadata", `nope`, "", 422}, {"Metadata", `[]`, "", 422}, {"Metadata", `{"a":{}}`, "", 422}, {"Metadata", `{"a":[1,1.5]}`, "", 422},
		{"Metadata", `{"a":1,"b":["x"]}`, "", 201}, {"Metadata", ``, "", 201},
		{"Span-Name", "a b", "", 422}, {"Span-Name", "a.b", "", 201}, {"Span-Name", "a b", `"observability_span_name":"a"`, 201},
		{"Tags", "a, b,,", "", 201}, {"Parent-Span-Context", "any", "", 201},
	} {
		status, answer := ask("POST", "", h.body(t, c.more), "X-OpenHands-Observability-"+c.header, c.value)
		if status != c.want {
			t.Errorf("%s: %q with %q: %d, want %d: %s", c.header, c.value, c.more, status, c.want, answer)
		}
	}
}
