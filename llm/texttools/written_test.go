package texttools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/texttools"
)

var offered = []llm.Tool{
	{Name: "terminal", Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"},"reset":{"type":"boolean"}},"required":["command"]}`)},
	{Name: "plan", Parameters: []byte(`{"type":"object","properties":{"items":{"type":"array"},"note":{"type":"string"}}}`)},
	{Name: "finish", Parameters: []byte(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
}

const ls = `terminal {"command":"ls -la"}`

// TestReadWritten has the markup of models as their servers leave it in the text.
func TestReadWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in       string
		text     string
		calls    []string
		problem  string
		doubtful bool
	}{
		"Anthropic":             {in: "Let me look.\n\n<function_calls>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>\n</function_calls>", text: "Let me look.", calls: []string{ls}},
		"Anthropic's namespace": {in: "Look:\n<NS:function_calls>\n<NS:invoke name=\"terminal\">\n<NS:parameter name=\"command\">ls -la</NS:parameter>\n</NS:invoke>\n</NS:function_calls>", text: "Look:", calls: []string{ls}},
		"Hermes":                {in: "Ok <tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}\n</tool_call><|im_end|>", text: "Ok", calls: []string{ls}},
		"Hermes, two":           {in: "<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls -la\"}}</tool_call>\n<tool_call>{\"name\":\"finish\",\"arguments\":{\"message\":\"x\"}}</tool_call>", calls: []string{ls, `finish {"message":"x"}`}},
		"Qwen":                  {in: "<tool_call>\n<function=terminal>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>", calls: []string{ls}},
		"GLM":                   {in: "Now.\n<tool_call>terminal\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>\n<arg_key>timeout</arg_key>\n<arg_value>5</arg_value>\n</tool_call>", text: "Now.", calls: []string{`terminal {"command":"ls -la","timeout":5}`}},
		"Mistral, list":         {in: `[TOOL_CALLS][{"name": "terminal", "arguments": {"command":"ls -la"}}]</s>`, calls: []string{ls}},
		"Mistral, head":         {in: `Sure[TOOL_CALLS]terminal[ARGS]{"command":"ls -la"}[TOOL_CALLS]finish{"message":"x"}`, text: "Sure", calls: []string{ls, `finish {"message":"x"}`}},
		"DeepSeek V3":           {in: "Hm.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>terminal\n```json\n{\"command\":\"ls -la\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", text: "Hm.", calls: []string{ls}},
		"DeepSeek V3.1":         {in: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>{\"command\":\"ls -la\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>{\"command\":\"ls -la\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", calls: []string{ls, ls}},
		"DeepSeek V3.2":         {in: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"terminal\">\n<｜DSML｜parameter name=\"command\" string=\"true\">ls -la</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", calls: []string{ls}},
		"Kimi":                  {in: "<|tool_calls_section_begin|><|tool_call_begin|>functions.terminal:0<|tool_call_argument_begin|>{\"command\":\"ls -la\"}<|tool_call_end|><|tool_calls_section_end|>", calls: []string{ls}},
		"harmony":               {in: "<|channel|>commentary to=functions.terminal <|constrain|>json<|message|>{\"command\":\"ls -la\"}<|call|>", calls: []string{ls}},
		"harmony, other order":  {in: "<|start|>assistant<|channel|>commentary to=functions.terminal<|message|>{\"command\":\"ls -la\"}", calls: []string{ls}},
		"Llama 3":               {in: "<|python_tag|>{\"name\": \"terminal\", \"parameters\": {\"command\":\"ls -la\"}}<|eom_id|>", calls: []string{ls}},
		"Llama 3, function":     {in: "<function=terminal>{\"command\":\"ls -la\"}</function>", calls: []string{ls}},
		"Llama 4":               {in: "[terminal(command=\"ls -la\"), finish(message='it\\'s\\n')]", calls: []string{ls, `finish {"message":"it's\n"}`}},
		"MiniMax M1":            {in: "<tool_calls>\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}\n</tool_calls>", calls: []string{ls}},
		"MiniMax M2":            {in: "<minimax:tool_call>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>\n</minimax:tool_call>", calls: []string{ls}},
		"Granite":               {in: "<|tool_call|>[{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}]", calls: []string{ls}},
		"Gemma":                 {in: "Ok.\n```tool_code\nprint(default_api.terminal(command=\"ls -la\", reset=True))\n```", text: "Ok.", calls: []string{`terminal {"command":"ls -la","reset":true}`}},
		"Gemma 4":               {in: "Look.\n<|tool_call>call:terminal{command:<|\"|>echo \"a, {b}\"\n<|\"|>,timeout:5,reset:true}<tool_call|><|tool_response>", text: "Look.", calls: []string{`terminal {"command":"echo \"a, {b}\"\n","timeout":5,"reset":true}`}},
		"Gemma 4, two":          {in: "<|tool_call>call:terminal{command:<|\"|>ls -la<|\"|>}<tool_call|><|tool_call>call:finish{message:\"x\\ny\"}<tool_call|><turn|>", calls: []string{ls, `finish {"message":"x\ny"}`}},
		"Gemma 4, nested":       {in: "<|tool_call>call:plan{items:[{title:<|\"|>a<|\"|>,done:false},{<|\"|>title<|\"|>:<|\"|>1<|\"|>, n:[1, 2]}], note:word}<tool_call|>", calls: []string{`plan {"items":[{"title":"a","done":false},{"title":"1","n":[1,2]}],"note":"word"}`}},
		"Gemma 4, no end":       {in: "<|tool_call>call:terminal{command:<|\"|>ls", problem: "it cannot be read"},
		"Gemma 4, no separator": {in: "<|tool_call>call:terminal{command:<|\"|>ls<|\"|>timeout:5}<tool_call|>", problem: "it cannot be read"},
		"FunctionGemma":         {in: "<start_function_call>call:terminal{command:<escape>ls -la<escape>,timeout:5}<end_function_call>", calls: []string{`terminal {"command":"ls -la","timeout":5}`}},
		"bare JSON":             {in: "I list the files.\n\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}", text: "I list the files.", calls: []string{ls}},
		"fenced JSON":           {in: "I list the files.\n```json\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}\n```\n", text: "I list the files.", calls: []string{ls}, doubtful: true},
		"a block alone":         {in: "```json\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}\n```\n", calls: []string{ls}},
		"Phi":                   {in: `I look. functools[{"name": "terminal", "arguments": {"command":"ls -la"}}]<|end|>`, text: "I look.", calls: []string{ls}},
		"Phi 4 mini":            {in: `<|tool_call|>[{"name": "terminal", "arguments": {"command":"ls -la"}}]<|/tool_call|>`, calls: []string{ls}},
		"Jamba":                 {in: `<tool_calls>[{"name": "terminal", "arguments": {"command":"ls -la"}},{"name":"finish","arguments":"{\"message\":\"x\"}"}]</tool_calls>`, calls: []string{ls, `finish {"message":"x"}`}},
		"Hermes, no end":        {in: "<tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\":\"ls -la\"}}", calls: []string{ls}},
		"ReAct":                 {in: "Thought: I look.\nAction: terminal\nAction Input: {\"command\":\"ls -la\"}", text: "Thought: I look.", calls: []string{ls}},
		"ReAct, bold":           {in: "**Action:** terminal\n**Action Input:** {\"command\":\"ls -la\"}", calls: []string{ls}},
		"LangChain":             {in: `{"action":"terminal","action_input":{"command":"ls -la"}}`, calls: []string{ls}},
		"Nemotron":              {in: `<TOOLCALL>[{"name": "terminal", "arguments": {"command":"ls -la"}}]</TOOLCALL>`, calls: []string{ls}},
		"Command":               {in: `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"terminal","parameters":{"command":"ls -la"}}]<|END_ACTION|>`, calls: []string{ls}},
		"InternLM":              {in: `<|action_start|><|plugin|>{"name":"terminal","parameters":{"command":"ls -la"}}<|action_end|>`, calls: []string{ls}},
		"Seed":                  {in: "<seed:tool_call><function=terminal><parameter=command>ls -la</parameter></function></seed:tool_call>", calls: []string{ls}},
		"Step":                  {in: "<steptml:invoke name=\"terminal\"><steptml:parameter name=\"command\">ls -la</steptml:parameter></steptml:invoke>", calls: []string{ls}},
		"LFM":                   {in: `<|tool_call_start|>[terminal(command="ls -la")]<|tool_call_end|>`, calls: []string{ls}},
		"LongCat":               {in: `<longcat_tool_call>{"name":"terminal","arguments":{"command":"ls -la"}}</longcat_tool_call>`, calls: []string{ls}},
		"LM Studio":             {in: `[TOOL_REQUEST]{"name":"terminal","arguments":{"command":"ls -la"}}[END_TOOL_REQUEST]`, calls: []string{ls}},
		"DeepSeek, plain":       {in: `<|tool_calls_begin|><|tool_call_begin|>terminal<|tool_sep|>{"command":"ls -la"}<|tool_call_end|><|tool_calls_end|>`, calls: []string{ls}},
		"OpenAI, message":       {in: `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls -la\"}"}}]}`, calls: []string{ls}},
		"OpenAI, function_call": {in: `{"function_call": {"name":"terminal","arguments":"{\"command\":\"ls -la\"}"}}`, calls: []string{ls}},
		"OpenAI, parallel":      {in: `{"tool_uses":[{"recipient_name":"functions.terminal","parameters":{"command":"ls -la"}}]}`, calls: []string{ls}},
		"JSON with braces":      {in: `{"name":"terminal","arguments":{"command":"echo '}' \"{\""}}`, calls: []string{`terminal {"command":"echo '}' \"{\""}`}},
		"half a character":      {in: `{"name":"terminal","arguments":{"command":"a\ud83d"}}`, calls: []string{`terminal {"command":"a\ufffd"}`}},

		"unknown tool":     {in: "<tool_call>{\"name\":\"teleport\",\"arguments\":{}}</tool_call>", problem: `there is no tool "teleport"`},
		"missing argument": {in: "<tool_call>{\"name\":\"terminal\",\"arguments\":{}}</tool_call>", problem: `the argument "command" is missing`},
		"half a call":      {in: "<tool_call>{\"name\":\"terminal\",\"arguments\":{\"comm", problem: "its JSON is not complete or not valid"},
		"text after it":    {in: "<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}</tool_call>\nThe result is:\nfoo", problem: "text follows the call"},
		"a head alone":     {in: "Now I run it.<|tool_calls_section_begin|>", problem: "the call is missing"},
		"broken JSON":      {in: "[TOOL_CALLS]terminal[ARGS]{\"command\": ls}", problem: "its arguments are not a complete JSON object"},

		"Phi, broken":      {in: `functools[{"name": "terminal", "arguments": {"command":"ls`, problem: "its JSON is not complete or not valid"},
		"ReAct, plain":     {in: "Action: terminal\nAction Input: ls -la", problem: "it cannot be read"},
		"ReAct, invented":  {in: "Action: terminal\nAction Input: {\"command\":\"ls\"}\nObservation: a.go", problem: "text follows the call"},
		"half an object":   {in: `{"name":"terminal","arguments":{"command":"ls`, problem: "its JSON is not complete or not valid"},
		"a Python object":  {in: `{'name': 'terminal', 'arguments': {'command':'ls'}}`, problem: "its JSON is not complete or not valid"},
		"ReAct as a block": {in: "ReAct writes\n```\nAction: terminal\nAction Input: {\"command\":\"ls\"}\n```"},
		"steps":            {in: "Action: terminal tests\nResult: good"},
		"a word":           {in: "We import functools [1] for it."},
		"broken, another":  {in: `{"name":"deft","arguments":{`},

		"plain text":           {in: "The tests pass now."},
		"JSON of something":    {in: "Here:\n{\"name\": \"deft\", \"arguments\": {}}"},
		"JSON as an example":   {in: "A call is\n```json\n{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}\n```\nand nothing else."},
		"markup in a block":    {in: "Hermes writes\n```\n<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}</tool_call>\n```"},
		"markup in a span":     {in: "Hermes writes `<tool_call>{…}</tool_call>`, Mistral `[TOOL_CALLS]`."},
		"markup in a sentence": {in: "Hermes writes <tool_call> before a call."},
		"Python":               {in: "```python\n[terminal_size(columns=3)]\n```"},
		"list":                 {in: "[x] done\n[ ] open"},
		"an empty answer":      {in: ""},
		"an address":           {in: "to=functions are described there"},
		"list of numbers":      {in: "[1, 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.ReplaceAll(tt.in, "NS:", "ant"+"ml:")
			got := texttools.ReadWritten(in, offered)
			var calls []string
			for _, c := range got.Calls {
				calls = append(calls, fmt.Sprintf("%s %s", c.Name, c.Arguments))
			}
			if diff := cmp.Diff(tt.calls, calls); diff != "" || got.Problem != tt.problem || got.Doubtful != tt.doubtful {
				t.Errorf("problem %q, want %q; doubtful %v; calls (-want +got):\n%s", got.Problem, tt.problem, got.Doubtful, diff)
			}
			if want := tt.text; tt.calls != nil && got.Text != want || tt.calls == nil && got.Text != in {
				t.Errorf("text %q, want %q", got.Text, want)
			}
		})
	}
}

// FuzzReadWritten reads any text without a panic, and calls only offered tools.
func FuzzReadWritten(f *testing.F) {
	for _, s := range []string{"<tool_call>{\"name\":\"terminal\"", "[TOOL_CALLS]terminal{", "<｜tool▁calls▁begin｜>", "[terminal(command='", "```tool_code\nterminal(command=[", "call:terminal{command:<escape>", "<|tool_call>call:terminal{command:[{a:<|\"|>", "{[", "to=functions.a<|channel|>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range texttools.ReadWritten(text, offered).Calls {
			if c.Name != "terminal" && c.Name != "finish" && c.Name != "plan" {
				t.Errorf("a call of %q", c.Name)
			}
		}
	})
}
