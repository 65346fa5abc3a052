package llmtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	messagesPath  = "/v1/messages"
	geminiPath    = "/v1beta/models/gemini-2.5-pro:generateContent"
)

func chatBody(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
func messagesBody(messages string) string {
	return `{"model":"m","max_tokens":10,"messages":[` + messages + `]}`
}
func inputBody(items string) string  { return `{"model":"m","store":false,"input":[` + items + `]}` }
func geminiBody(items string) string { return `{"contents":[` + items + `]}` }

const (
	chatUser      = `{"role":"user","content":"hi"}`
	chatCall      = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	chatA         = `{"role":"tool","tool_call_id":"a","content":"1"}`
	chatB         = `{"role":"tool","tool_call_id":"b","content":"2"}`
	messagesCall  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}},{"type":"tool_use","id":"b","name":"ls","input":{}}]}`
	resultA       = `{"type":"tool_result","tool_use_id":"a","content":"1"}`
	resultB       = `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"2"}]}`
	itemCall      = `{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"}`
	itemOutput    = `{"type":"function_call_output","call_id":"a","output":"1"}`
	geminiUser    = `{"role":"user","parts":[{"text":"hi"}]}`
	geminiCall    = `{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}`
	geminiResult  = `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"1"}}}]}`
	messagesThink = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01Th0xyz","name":"ls","input":{}}]}`
)

func userBlocks(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }

// TestChecks checks requests that providers refuse (want is part of the
// message) or take (want is "").
func TestChecks(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct{ path, body, want string }{
		{chatPath, chatBody(chatUser), ""},
		{chatPath, chatBody(chatUser + "," + chatCall + "," + chatB + "," + chatA), ""},
		{chatPath, `[]`, "could not parse"},
		{chatPath, `{"model":`, "could not parse"},
		{chatPath, strings.Repeat(`{"a":[`, 6000), "could not parse"},
		{chatPath, `{"messages":[` + chatUser + `]}`, "must provide a model"},
		{chatPath, chatBody(""), "empty array"},
		{chatPath, `{"model":"m"}`, "Missing required parameter: 'messages'"},
		{chatPath, chatBody(`{"role":"robot","content":"x"}`), "Invalid value: 'robot'"},
		{chatPath, chatBody(`{"role":"user","content":null}`), "expected a string, got null"},
		{chatPath, chatBody(`{"role":"user","content":[]}`), "empty array"},
		{chatPath, chatBody(`{"role":"user","content":[{"type":"video"}]}`), "Invalid value: 'video'"},
		{chatPath, chatBody(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), "image_url.url"},
		{chatPath, chatBody(chatUser + `,{"role":"assistant","content":null}`), "expected a string, got null"},
		{chatPath, chatBody(chatUser + "," + chatCall + "," + chatA), "did not have response messages: b"},
		{chatPath, chatBody(chatUser + "," + chatCall + "," + chatA + "," + chatUser + "," + chatB), "did not have response messages: b"},
		{chatPath, chatBody(chatUser + "," + chatCall + "," + chatA + "," + chatA + "," + chatB), "answered twice"},
		{chatPath, chatBody(chatUser + "," + chatA), "must be a response to a preceeding message"},
		{chatPath, chatBody(chatUser + `,{"role":"assistant","tool_calls":[]}`), "tool_calls': empty array"},
		{chatPath, chatBody(chatUser + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"a b","arguments":"{}"}}]}`), "does not match pattern"},
		{chatPath, chatBody(chatUser + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":{}}}]}`), "expected a string, but got an object"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"tools":[]}`, "'tools': empty array"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"tools":[{"type":"function","function":{"name":"a.b"}}]}`, "does not match pattern"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"string"}}}]}`, "Invalid schema for function 'ls'"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{"a":1}}}}]}`, "is not of type"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"tool_choice":"auto"}`, "only allowed when 'tools'"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"stream_options":{"include_usage":true}}`, "only allowed when 'stream'"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"max_tokens":0}`, "below minimum"},
		{chatPath, `{"model":"m","messages":[` + chatUser + `],"temperature":3}`, "Invalid 'temperature'"},
		{chatPath, `{"model":"gpt-5","messages":[` + chatUser + `],"max_tokens":5}`, "Use 'max_completion_tokens'"},

		{responsesPath, inputBody(chatUser), ""},
		{responsesPath, inputBody(chatUser + "," + itemCall + "," + itemOutput), ""},
		{responsesPath, `{"model":"m"}`, "Missing required parameter: 'input'"},
		{responsesPath, inputBody(""), "empty array"},
		{responsesPath, inputBody(chatUser + "," + itemCall), "No tool output found for function call a"},
		{responsesPath, inputBody(chatUser + "," + itemOutput), "No tool call found"},
		{responsesPath, inputBody(chatUser + "," + itemCall + "," + itemOutput + "," + itemOutput), "Duplicate function call output"},
		{responsesPath, inputBody(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "Invalid value: 'output_text'"},
		{responsesPath, inputBody(chatUser + `,{"type":"reasoning","id":"rs_1","summary":[]}`), "without its required following item"},
		{responsesPath, inputBody(chatUser + `,{"type":"reasoning","id":"rs_1","summary":[]},` + itemCall + "," + itemOutput), "not persisted"},
		{responsesPath, inputBody(chatUser + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},` + itemCall + "," + itemOutput), "could not be verified"},
		{responsesPath, inputBody(`{"type":"robot"}`), "Invalid value: 'robot'"},
		{responsesPath, `{"model":"m","input":"x","max_output_tokens":1}`, "below minimum"},
		{responsesPath, `{"model":"m","input":"x","previous_response_id":"resp_1"}`, "not found"},
		{responsesPath, `{"model":"m","input":"x","tools":[{"type":"function","name":"ls","parameters":[]}]}`, "Invalid schema"},

		{messagesPath, messagesBody(chatUser), ""},
		{messagesPath, messagesBody(chatUser + "," + messagesCall + "," + userBlocks(resultB+","+resultA+`,{"type":"text","text":"go on"}`)), ""},
		{messagesPath, `{"model":"m","messages":[` + chatUser + `]}`, "max_tokens: Field required"},
		{messagesPath, `{"model":"m","max_tokens":1.5,"messages":[` + chatUser + `]}`, "valid integer"},
		{messagesPath, messagesBody(""), "at least one message"},
		{messagesPath, messagesBody(`{"role":"system","content":"x"}`), "top-level `system`"},
		{messagesPath, messagesBody(`{"role":"assistant","content":"x"}`), "first message must use"},
		{messagesPath, messagesBody(chatUser + "," + chatUser), "roles must alternate"},
		{messagesPath, messagesBody(`{"role":"user","content":""}`), "non-empty content"},
		{messagesPath, messagesBody(userBlocks(`{"type":"text","text":""}`)), "text content blocks must be non-empty"},
		{messagesPath, messagesBody(userBlocks(`{"type":"tool_use","id":"a","name":"ls","input":{}}`)), "cannot be in `user` messages"},
		{messagesPath, messagesBody(chatUser + "," + messagesCall), "without `tool_result` blocks immediately after: a, b"},
		{messagesPath, messagesBody(chatUser + "," + messagesCall + "," + userBlocks(resultA)), "immediately after: b"},
		{messagesPath, messagesBody(chatUser + "," + messagesCall + "," + userBlocks(resultA+","+resultB+","+resultB)), "single result"},
		{messagesPath, messagesBody(userBlocks(resultA)), "unexpected `tool_use_id`"},
		{messagesPath, messagesBody(chatUser + "," + messagesCall + "," + userBlocks(`{"type":"text","text":"x"},`+resultA+","+resultB)), "must come before other content"},
		{messagesPath, messagesBody(chatUser + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"forged"}]},` + chatUser), "Invalid `signature`"},
		{messagesPath, messagesBody(chatUser + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":"{}"}]}`), "valid dictionary"},
		{messagesPath, `{"model":"m","max_tokens":1,"messages":[` + chatUser + `],"tools":[{"name":"ls"}]}`, "input_schema: Field required"},
		{messagesPath, `{"model":"m","max_tokens":1,"messages":[` + chatUser + `],"tools":[{"name":"l s","input_schema":{"type":"object"}}]}`, "String should match pattern"},
		{messagesPath, `{"model":"m","max_tokens":1,"messages":[` + chatUser + `],"tools":[{"name":"ls","input_schema":{"type":"object"}},{"name":"ls","input_schema":{"type":"object"}}]}`, "must be unique"},
		{messagesPath, `{"model":"m","max_tokens":1,"messages":[` + chatUser + `],"tools":[{"name":"ls","input_schema":{"type":"array"}}]}`, "JSON schema is invalid"},
		{messagesPath, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":3000},"messages":[` + chatUser + `]}`, "must be greater than `thinking.budget_tokens`"},
		{messagesPath, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + chatUser + `,` + messagesThink + `,` + userBlocks(`{"type":"tool_result","tool_use_id":"toolu_01Th0xyz"}`) + `]}`, "Expected `thinking`"},
		{messagesPath, messagesBody(userBlocks(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`)), "A maximum of 4 blocks with cache_control"},

		{geminiPath, geminiBody(geminiUser), ""},
		{geminiPath, geminiBody(geminiUser + "," + geminiCall + "," + geminiResult), ""},
		{geminiPath, geminiBody(""), "contents is not specified"},
		{geminiPath, geminiBody(`{"role":"robot","parts":[{"text":"x"}]}`), "valid role"},
		{geminiPath, geminiBody(`{"role":"user","parts":[]}`), "must not be empty"},
		{geminiPath, geminiBody(`{"role":"user","parts":[{}]}`), "required oneof field 'data'"},
		{geminiPath, geminiBody(geminiUser + "," + geminiCall), "number of function response parts"},
		{geminiPath, geminiBody(geminiUser + "," + geminiCall + "," + geminiUser), "number of function response parts"},
		{geminiPath, geminiBody(geminiResult), "number of function response parts"},
		{geminiPath, geminiBody(geminiCall + "," + geminiResult), "immediately after a user turn"},
		{geminiPath, `{"contents":[` + geminiUser + `],"tools":[{"functionDeclarations":[{"name":"1"}]}]}`, "Invalid function name"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			srv := llmtest.StartWith(t, parse(t, "turns: [{reply: {text: fine}}]"), llmtest.Options{AllowErrors: true})
			res, body, err := post(t, srv, tc.path, tc.body)
			must.Succeed(t, err)
			got := decodeJSON[struct{ Error struct{ Message string } }](t, body).Error.Message
			switch {
			case tc.want == "" && (res.StatusCode != 200 || len(srv.Errors()) != 0):
				t.Errorf("refused: %s", body)
			case tc.want != "" && (res.StatusCode != 400 || !strings.Contains(got, tc.want) || len(srv.Errors()) != 1):
				t.Errorf("status %d, message %q, want %q", res.StatusCode, got, tc.want)
			}
		})
	}
}

func TestLenient(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, "{lenient: true, turns: [{repeat: forever, reply: {text: fine}}]}"))
	for path, body := range map[string]string{
		chatPath: chatBody(chatUser + "," + chatCall), messagesPath: `{"messages":[{"role":"assistant"}]}`,
		responsesPath: inputBody(itemOutput), geminiPath: `{}`,
	} {
		if res, body, err := post(t, srv, path, body); err != nil || res.StatusCode != 200 {
			t.Errorf("%s: %v %s", path, err, body)
		}
	}
}
