package llmtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// ask sends one chat request and returns the text of the answer, or the error
// message.
func ask(t *testing.T, srv *llmtest.Server, messages string, headers ...string) string {
	t.Helper()
	_, body, err := post(t, srv, chatPath, chatBody(messages), headers...)
	must.Succeed(t, err)
	a := decodeJSON[struct {
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message string }
	}](t, body)
	if len(a.Choices) == 0 {
		return a.Error.Message
	}
	return a.Choices[0].Message.Content
}

func say(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

// after returns a history with n assistant messages.
func after(n int) string {
	return say("hi") + strings.Repeat(`,{"role":"assistant","content":"x"},{"role":"user","content":"more"}`, n)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, parse(t, `
turns:
  - {reply: {text: one}, repeat: 2}
  - {reply: {text: side}, match: {user: title}}
  - {reply: {text: two}}
  - {reply: {text: never}, match: {model: other-*}}
`), llmtest.Options{AllowErrors: true})
	var got []string
	for _, text := range []string{"a", "b", "c", "give me a title", "d"} {
		got = append(got, ask(t, srv, say(text)))
	}
	want := []string{"one", "one", "two", "side", "no turn of the script fits the request (call 5 of the session)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"4"}, srv.Unused()); diff != "" {
		t.Errorf("unused turns (-want +got):\n%s", diff)
	}
	if errs := srv.Errors(); len(errs) != 1 {
		t.Errorf("errors: %v", errs)
	}
}

func TestExhausted(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, parse(t, "turns: [{reply: {text: one}}]"), llmtest.Options{AllowErrors: true})
	ask(t, srv, say("x"))
	res, body, err := post(t, srv, messagesPath, messagesBody(chatUser))
	if err != nil || res.StatusCode != 500 || !strings.Contains(body, "script exhausted after 1 turns") || res.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %v %s", err, res, body)
	}
	withDefault := llmtest.Start(t, parse(t, "{turns: [{reply: {text: one}}], default: {reply: {text: over}}}"))
	for _, want := range []string{"one", "over", "over"} {
		if got := ask(t, withDefault, say("x")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, `{per_session: true, turns: [{reply: {text: "1 {{.Session}}"}}, {reply: {text: "2 {{.Session}}"}}]}`))
	var got []string
	for _, s := range []string{"a", "b", "a", "b"} {
		got = append(got, ask(t, srv, say("x"), "X-Litellm-Session-Id", s))
	}
	if diff := cmp.Diff([]string{"1 a", "1 b", "2 a", "2 b"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	for _, field := range []string{`"prompt_cache_key":"c"`, `"metadata":{"user_id":"d"}`} {
		_, body, err := post(t, srv, chatPath, `{"model":"m",`+field+`,"messages":[`+chatUser+`]}`)
		if err != nil || !strings.Contains(body, `"content":"1 `) {
			t.Errorf("%s: %v %s", field, err, body)
		}
	}
}

// TestByHistory makes requests in any order, as restarted clients do.
func TestByHistory(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, parse(t, `
by_history: true
turns:
  - {reply: {text: zero}}
  - {match: {system: title}, reply: {text: a title}}
  - {reply: {text: one or two}, repeat: 2}
  - {reply: {text: three}, fault: {kind: server_error, times: 1}}
`), llmtest.Options{AllowErrors: true})
	for _, q := range []struct {
		messages, want string
	}{
		{after(0), "zero"},
		{after(0), "zero"},
		{after(2), "one or two"},
		{`{"role":"system","content":"make a title"},` + after(1), "a title"},
		{`{"role":"system","content":"make a title"},` + after(1), "a title"},
		{after(1), "one or two"},
		{after(3), "The server had an error while processing your request. Sorry about that!"},
		{after(3), "three"},
		{after(3), "three"},
		{after(4), "script exhausted: the request holds 4 assistant messages, and the script has 4 turns"},
	} {
		if got := ask(t, srv, q.messages); got != q.want {
			t.Errorf("got %q, want %q", got, q.want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	history := `{"role":"system","content":"you are Deft"},` + chatUser + "," + chatCall + "," + chatA + "," + chatB
	body := `{"model":"gpt-test","tools":[{"type":"function","function":{"name":"ls"}}],"messages":[` + history + `]}`
	for match, want := range map[string]bool{
		"model: gpt-*": true, "model: o*": false,
		"protocol: openai-chat": true, "protocol: gemini": false,
		"stream: false": true, "stream: true": false,
		"user: hi": true, "user: ho": false, "user_regexp: ^h.$": true, "user_regexp: ^x": false,
		"tool_result: '2'": true, "tool_result: '1'": false,
		"system: Deft": true, "system: Daft": false,
		"tools: [ls]": true, "tools: [ls, cat]": false,
		"headers: {X-Test: yes}": true, "headers: {x-test: ''}": true, "headers: {X-Test: no}": false, "headers: {X-None: ''}": false,
		"call: 1": true, "call: 2": false, "tool_results: 2": true, "tool_results: 1": false,
		"assistant_turns: 1": true, "assistant_turns: 0": false, "session: s": true, "session: r": false,
	} {
		t.Run(match, func(t *testing.T) {
			t.Parallel()
			match = strings.ReplaceAll(match, ": yes", ": 'yes'")
			match = strings.ReplaceAll(match, ": no}", ": 'no'}")
			srv := llmtest.Start(t, parse(t, "turns: [{match: {"+match+"}, reply: {text: fits}}]\ndefault: {reply: {text: differs}}"))
			_, got, err := post(t, srv, chatPath, body, "X-Test", "yes please", "X-Litellm-Session-Id", "s")
			if err != nil || strings.Contains(got, `"fits"`) != want {
				t.Errorf("%v %s", err, got)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	srv := llmtest.StartWith(t, parse(t, `
turns:
  - reply: {text: '{{.Model}} {{.Call}} {{.LastUser}} {{.AssistantTurns}} {{len .ToolResults}} {{json .LastToolResult}} {{.Header "X-Test"}}'}
  - reply:
      tool_calls:
        - {id: 'id-{{.Call}}', name: edit, arguments: {text: '{{.LastUser}}', list: ['{{find "h(.)" .LastUser}}'], n: 3}}
  - reply: {text: '{{.Nope}}'}
`), llmtest.Options{AllowErrors: true})
	history := chatUser + "," + chatCall + "," + chatA + "," + chatB
	if got, want := ask(t, srv, history, "X-Test", "v"), `m 1 hi 1 2 "2" v`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	quoted := `quote " and \ h!`
	_, body, err := post(t, srv, messagesPath, messagesBody(say(quoted)))
	must.Succeed(t, err)
	call := decodeJSON[struct {
		Content []struct {
			ID    string
			Input map[string]any
		}
	}](t, body).Content[0]
	if diff := cmp.Diff(map[string]any{"text": quoted, "list": []any{"!"}, "n": 3.0}, call.Input); diff != "" || call.ID != "id-2" {
		t.Errorf("call %q (-want +got):\n%s", call.ID, diff)
	}
	if got := ask(t, srv, chatUser); !strings.Contains(got, "turn 3 of the script: text:") {
		t.Errorf("got %q", got)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, "{api_key: k, models: [m], turns: [{repeat: forever, reply: {text: in}}]}"))
	if got := ask(t, srv, chatUser, "Authorization", "Bearer x"); got != "Incorrect API key provided." {
		t.Errorf("wrong key: %q", got)
	}
	if got := ask(t, srv, chatUser, "Authorization", "Bearer k"); got != "in" {
		t.Errorf("right key: %q", got)
	}
	_, body, err := post(t, srv, geminiPath+"?key=k", geminiBody(geminiUser))
	if err != nil || !strings.Contains(body, `"NOT_FOUND"`) {
		t.Errorf("wrong model: %v %s", err, body)
	}
}
