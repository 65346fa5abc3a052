package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
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
		"hooks":        {`"hook_config":{"PreToolUse":[{"hooks":[{"command":"true"}]}]}`, ""},
		"no hooks":     {`"hook_config":{"PreToolUse":[]}`, ""},
		"marketplace":  {`"agent":{"kind":"Agent","llm":{"model":"openai/mock"},"agent_context":{"registered_marketplaces":[{"name":"m","source":"/nowhere"}]}}`, ""}, // for load_plugin only
		"marketplaces": {`"agent":{"kind":"Agent","llm":{"model":"openai/mock"},"agent_context":{"registered_marketplaces":[{"name":"m","source":"/nowhere","auto_load":true}]}}`, "marketplace m: "},
		"inert":        {`"agent_definitions":[{"name":"a","description":"d","system_prompt":"p"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, []*llm.Response{says("done")}, nil)
			ask := h.serve(t)
			id := h.began(t, ask, c.more)
			_, events := ask("GET", "/"+string(id)+"/events/search?kind=ConversationStateUpdateEvent", "")
			if got := strings.Contains(events, `"key":"warnings"`); got != (c.want != "") || !strings.Contains(events, c.want) {
				t.Errorf("want %q in %s", c.want, events)
			}
		})
	}
}

// TestPlugins starts a conversation with a plugin: the agent has its parts, and the
// conversation has its hooks.
func TestPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{
		"skills/s1/SKILL.md": "---\nname: s1\ndescription: d\n---\nb",
		".mcp.json":          `{"mcpServers":{"web":{"url":"https://h/"}}}`,
		"agents/a1.md":       "---\nname: a1\ndescription: d\n---\np",
		"hooks/hooks.json":   `{"PreToolUse":[{"hooks":[{"command":"true"}]}]}`,
	})
	h := setup(t, []*llm.Response{says("done")}, nil)
	ask := h.serve(t)
	const own = `"agent":{"kind":"Agent","llm":{"model":"openai/mock"},"tools":[{"name":"task_tool_set"}]},"agent_definitions":[{"name":"a1","description":"the request's","system_prompt":"p"}],`
	id := h.began(t, ask, own+`"plugins":[{"source":"`+dir+`"}]`)
	_, events := ask("GET", "/"+string(id)+"/events/search?kind=ConversationStateUpdateEvent", "")
	if strings.Contains(events, `"key":"warnings"`) {
		t.Errorf("parts have no effect: %s", events)
	}
	if _, info := ask("GET", "/"+string(id), ""); !strings.Contains(info, `"pre_tool_use":[{"matcher":"*","hooks":[{`) {
		t.Errorf("the conversation has no hook of the plugin: %s", info)
	}
	_, got := ask("GET", "/"+string(id)+"/equipment", "")
	if !strings.Contains(got, `"s1"`) {
		t.Errorf("the agent has no skill of the plugin: %s", got)
	}
	status, answer := ask("POST", "", h.body(t, `"plugins":[{"source":"`+dir+`","repo_path":"none"}]`))
	if status != 422 || !strings.Contains(answer, "cannot be loaded") || !strings.Contains(answer, `"plugins"`) {
		t.Errorf("no such directory: %d %s", status, answer)
	}
}

// TestMarketplaces starts a conversation with the plugins and skills that a marketplace gives to each,
// and loads a further plugin into it.
func TestMarketplaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testtree.Write(t, dir, map[string]string{
		".claude-plugin/marketplace.json": `{"name":"shop","owner":{"name":"o"},
			"plugins":[{"name":"first","source":"./first"},{"name":"second","source":"./second"},{"name":"third","source":"/etc"}],
			"skills":[{"name":"alone","source":"./alone"},{"name":"unasked","source":"./alone"}]}`,
		"first/skills/s1/SKILL.md": "---\nname: s1\ndescription: d\n---\nb",
		"alone/SKILL.md":           "---\nname: alone\ndescription: d\n---\nb",
		"second/.mcp.json":         `{"mcpServers":{"web":{"url":"https://h/"}}}`,
		"second/commands/do.md":    "Do it.",
		"second/agents/a2.md":      "---\nname: a2\ndescription: d\n---\np",
		"second/hooks/hooks.json":  `{"Stop":[{"hooks":[{"command":"true"}]}]}`,
	})
	h := setup(t, []*llm.Response{says("done"), says("again")}, nil)
	ask := h.serve(t)
	of := func(markets string) string {
		return `"agent":{"kind":"Agent","llm":{"model":"openai/mock"},"tools":[{"name":"task_tool_set"}],"agent_context":{"registered_marketplaces":[` + markets + `]}}`
	}
	shop := `{"name":"shop","source":"` + dir + `","auto_load":["first","alone","gone"]}`
	for name, c := range map[string]struct{ markets, want string }{
		"twice":   {shop + "," + shop, "Duplicate marketplace registration: shop"},
		"escapes": {`{"name":"m","source":"` + dir + `","repo_path":"../x"}`, "repo_path must be a path within the repository"},
		"remote":  {`{"name":"m","source":"` + dir + `","auto_load":["third"]}`, ""},
	} {
		if status, answer := ask("POST", "", h.body(t, of(c.markets))); (status == 422) != (c.want != "") || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	id := h.began(t, ask, of(shop))
	one := "/" + string(id)
	has := func(path, want string, there bool) {
		t.Helper()
		if _, got := ask("GET", one+path, ""); strings.Contains(got, want) != there {
			t.Errorf("%s has %q: %t, want %t: %s", path, want, !there, there, got)
		}
	}
	has("/equipment", `"s1"`, true)
	has("/equipment", `"alone"`, true)
	has("/equipment", `"unasked"`, false)
	has("/equipment", `second:do`, false)
	has("/events/search?kind=ConversationStateUpdateEvent", "it has no plugin and no skill gone", true)
	has("", `"stop":[{`, false)
	for _, c := range []struct {
		ref    string
		status int
		want   string
	}{
		{"", 400, "plugin-name@marketplace-name"},
		{"second@", 400, "plugin-name@marketplace-name"},
		{"second@other", 404, "there is no marketplace other"},
		{"none@shop", 404, "no marketplace has a plugin none"},
		{"third", 400, "leads out of the marketplace"},
		{"second@shop", 200, "true"},
		{"second", 200, "true"}, // again
	} {
		if status, answer := ask("POST", one+"/load_plugin", `{"plugin_ref":"`+c.ref+`"}`); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%q: %d %s", c.ref, status, answer)
		}
	}
	has("/equipment", `second:do`, true)
	has("/equipment", `"s1"`, true)
	has("", `"web":{`, true)
	_, info := ask("GET", one, "")
	if n := strings.Count(info, `"command":"true"`); n != 1 {
		t.Errorf("%d hooks of the plugin: %s", n, info)
	}
	if status, answer := ask("POST", one+"/events", `{"role":"user","content":[{"type":"text","text":"go on"}],"run":true}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
}

// TestSecretsEncrypted opens the sealed secrets of a start request only where it says
// that they are sealed.
func TestSecretsEncrypted(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, nil)
	sealed, err := f.ring.Seal([]byte("the-api-key"))
	must.Succeed(t, err)
	for encrypted, want := range map[bool]string{true: "the-api-key", false: sealed} {
		doc, err := schema.Parse([]byte(`{"kind":"Agent","llm":{"model":"openai/mock","usage_id":"agent","api_key":"` + sealed + `"},"tools":[]}`))
		must.Succeed(t, err)
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
