package conversation_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// TestRefusals wants the statuses, the places and the forms of the reference
// for requests that do not fit.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	ask := h.serve(t)
	id := event.NewConversationID()
	body := fmt.Sprintf(`{"conversation_id":%q,"workspace":{"working_dir":%q},
"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"k"},"tools":[]}}`, id, h.work)
	with := func(more string) string {
		return strings.Replace(strings.ReplaceAll(body, string(id), string(event.NewConversationID())), "{", "{"+more+",", 1)
	}
	one := "/" + string(id)
	for _, s := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"POST", "", body, 201, ""},
		{"POST", "", strings.Replace(with(`"user_id":"u"`), `"workspace":{`, `"workspace":{"type":"local",`, 1), 201, `"kind":"LocalWorkspace"`},
		{"POST", "", with(`"tags":{"a":null}`), 422, `["body","tags","a"]`},
		{"POST", "", with(`"agent_profile_id":"x"`), 422, `"loc":["body"]`},
		{"POST", "", `{"workspace":{"working_dir":"x"},"agent_profile_id":"x"}`, 422, `["body","agent_profile_id"]`},
		{"POST", "", with(`"confirmation_policy":{"kind":"No"}`), 422, `["body","confirmation_policy"]`},
		{"POST", "", with(`"security_analyzer":{"kind":"No"}`), 422, `["body","security_analyzer"]`},
		{"POST", "", with(`"secrets":{"A":5}`), 422, `["body","secrets","A"]`},
		{"GET", "/nobody", "", 422, "found `n` at 1"},
		{"PATCH", one, `{"tags":{"a":null}}`, 422, `["body","tags","a"]`},
		{"PATCH", one, `{"tags":null}`, 200, "true"},
		{"POST", one + "/secrets", `{"secrets":{"A":5}}`, 422, `["body","secrets","A"]`},
		{"POST", one + "/confirmation_policy", `{"policy":{"kind":"No"}}`, 422, `["body","policy"]`},
		{"POST", one + "/confirmation_policy", `{"policy":{"kind":"ConfirmRisky","threshold":"UNKNOWN"}}`, 422, "cannot be UNKNOWN"},
		{"POST", one + "/security_analyzer", `{"security_analyzer":{}}`, 422, `["body","security_analyzer"]`},
		{"POST", one + "/secrets", `{"secrets":{"A":"plain","B":{"value":"v"}}}`, 200, "true"},
		{"POST", one + "/confirmation_policy", `{"policy":{"kind":"ConfirmRisky","threshold":"SOME"}}`, 422, `["body","policy","threshold"]`},
		{"POST", one + "/security_analyzer", `{}`, 422, `"input":{}`},
		{"POST", one + "/events/respond_to_confirmation", `{"accept":null}`, 422, `"bool_type"`},
		{"POST", one + "/ask_agent", `{"question":null}`, 422, `"string_type"`},
		{"POST", one + "/goal", `{"objective":null}`, 422, `"string_type"`},
		{"POST", one + "/children", `{"task":null}`, 422, `"string_type"`},
		{"POST", one + "/fork", `{"reset_metrics":null}`, 422, `"bool_type"`},
		{"PATCH", one, `{"title":""}`, 422, `"string_too_short"`},
		{"PATCH", "/nobody", `{"title":""}`, 422, `["path","conversation_id"]`},
		{"POST", one + "/switch_profile", `{"a":1}`, 422, `["body","profile_name"],"msg":"Field required","input":null`},
		{"POST", one + "/switch_profile", `[]`, 422, `["body","profile_name"],"msg":"Field required"`},
		{"POST", one + "/switch_profile", `{`, 422, `"json_invalid"`},
		{"POST", "", with(`"hook_config":{"x":1}`), 422, `["body","hook_config","x"]`},
		{"POST", one + "/switch_profile", `{"profile_name":null}`, 422, `["body","profile_name"]`},
		{"POST", one + "/switch_acp_model", `{"model":5}`, 422, `["body","model"]`},
		{"POST", one + "/switch_acp_model", `{"model":"x"}`, 400, "only supported for ACP"},
		{"POST", one + "/load_plugin", `{"plugin_ref":"x"}`, 400, "registered_marketplaces"},
		{"POST", one + "/fork", `{"title":"` + strings.Repeat("x", 201) + `"}`, 422, `"string_too_long"`},
		{"POST", one + "/goal/resume", "", 400, `{"detail":"no_resumable_goal"}`},
		{"POST", one + "/navigate", `{}`, 200, `"leaf_event_id":null`},
	} {
		status, answer := ask(s.method, s.path, s.body)
		if status != s.status || !strings.Contains(answer, s.has) {
			t.Errorf("%s %s %.80s: %d %.300s, want %d with %s", s.method, s.path, s.body, status, answer, s.status, s.has)
		}
	}
}

// TestPastTheForm sends bodies that could get past their form to their user: keys
// in other cases, keys given twice, and deep nesting beside the fields. Only
// checked fields are used, and only fields of that name.
func TestPastTheForm(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	ask := h.serve(t)
	one, long := "/"+string(h.begin(t).ID()), strings.Repeat("x", 2001)
	deep := `"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200)
	body := strings.TrimSuffix(h.body(t, ""), "}")
	directory := fmt.Sprintf(`"workspace":{"working_dir":%q,"kind":"LocalWorkspace"}`, h.work)
	for more, has := range map[string]string{
		`"Workspace":null`: directory, `"Workspace":{"working_dir":""}`: directory, `"Workspace":{"kind":"RemoteWorkspace"}`: directory,
		`"Tags":{"No":"x"}`: `"tags":{}`, `"Tags":{"a":null}`: `"tags":{}`, `"tags":{"a":null},"tags":{"a":"b"}`: `"tags":{"a":"b"}`,
		`"Max_iterations":0`: `"max_iterations":500`, `"Prompt":"` + long + `"`: directory,
		`"Worktree":true,"Worktree_options":{"base":"moon"}`: directory,
		`"Conversation_id":"x"`:                              directory, `"Parent_conversation_id":"x"`: `"parent_conversation_id":null`,
		`"Agent_profile_id":"x"`: directory, `"Conversation_runtime":"moon"`: directory,
		`"confirmation_policy":{"kind":"AlwaysConfirm","Kind":"NeverConfirm"}`:               `"confirmation_policy":{"kind":"AlwaysConfirm"}`,
		`"confirmation_policy":{"kind":"No"},"confirmation_policy":{"kind":"AlwaysConfirm"}`: `"confirmation_policy":{"kind":"AlwaysConfirm"}`,
		`"security_analyzer":{"KIND":"x","kind":"LLMSecurityAnalyzer"}`:                      `"security_analyzer":{"kind":"LLMSecurityAnalyzer"}`,
		`"secrets":{"A":{"value":"a","kind":"StaticSecret","Kind":"LookupSecret"}}`:          directory,
		`"Initial_message":{"role":"nobody"}`:                                                `"execution_status":"idle"`,
		`"Agent_cls":"x","agent_cls":"y","sandbox_cls":"y"`:                                  directory,
	} {
		if status, answer := ask("POST", "", body+","+more+"}"); status != 201 || !strings.Contains(answer, has) {
			t.Errorf("%.80s: %d %.900s, want 201 with %s", more, status, answer, has)
		}
	}
	for _, s := range []struct{ method, path, in, other string }{
		{"POST", "/events", `"role":"nobody"`, `"Role":"nobody"`},
		{"POST", "/events", `"content":[{"type":"video"}]`, `"Content":[{"type":"video"}]`},
		{"POST", "/events", `"content":[{"type":"image"}]`, `"Content":[{"type":"image"}]`},
		{"POST", "/events/respond_to_confirmation", `"accept":null`, `"accept":false,"Accept":null`},
		{"PATCH", "", `"title":"` + long + `"`, `"Title":"` + long + `"`},
		{"PATCH", "", `"tags":{"No":"x"}`, `"Tags":{"No":"x"}`},
		{"POST", "/fork", `"title":"` + long + `"`, `"Title":"` + long + `"`},
		{"POST", "/fork", `"tags":{"a":null}`, `"Tags":{"a":null}`},
	} {
		for _, body := range []string{"{" + s.in + "}", "{" + s.in + "," + deep + "}", "{" + s.other + "," + s.in + "}"} {
			if status, answer := ask(s.method, one+s.path, body); status != 422 {
				t.Errorf("%s %s %.80s: %d %.300s", s.method, s.path, body, status, answer)
			}
		}
		if status, answer := ask(s.method, one+s.path, "{"+s.other+"}"); status/100 != 2 {
			t.Errorf("%s %s %.80s: %d %.300s", s.method, s.path, s.other, status, answer)
		}
	}
	if _, answer := ask("GET", one, ""); strings.Contains(answer, "xxx") || !strings.Contains(answer, `"tags":{}`) {
		t.Errorf("keys in other cases were used: %s", answer)
	}
}

// childFiles has a worktree where tree says so.
type childFiles struct {
	session.PlainDirectories
	tree string
}

func (f childFiles) AddWorktree(_ context.Context, dir string, _ event.ConversationID, _ *session.WorktreeOptions) (string, string, error) {
	return f.tree, dir + f.tree, os.MkdirAll(dir+f.tree, 0o700)
}

// TestChildIsolation wants how a child works, not how it was asked to.
func TestChildIsolation(t *testing.T) {
	t.Parallel()
	for want, tree := range map[string]string{"shared": "", "worktree": "/tree"} {
		h := setup(t, []*llm.Response{says("done")}, func(o *session.Options) { o.Files = childFiles{tree: tree} })
		ask := h.serve(t)
		status, answer := ask("POST", "/"+string(h.begin(t).ID())+"/children", `{"task":"a part"}`)
		if status != 201 || !strings.Contains(answer, `"isolation":"`+want+`"`) {
			t.Errorf("%s: %d %s", want, status, answer)
		}
	}
}
