package texttools_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm/texttools"
)

// TestReadUnmarked has calls as models write them whose server takes their marks out, or who
// remember the forms of other programs: each is the whole answer, or ends it.
func TestReadUnmarked(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"py bare":                 `terminal(command="ls -la")`,
		"py fence":                "```python\nterminal(command=\"ls -la\")\n```",
		"py two":                  "terminal(command=\"ls -la\")\nfinish(message=\"x\")",
		"py positional":           `terminal("ls -la")`,
		"py object":               `terminal({"command":"ls -la"})`,
		"py functions. object":    `functions.terminal({"command":"ls -la"})`,
		"js object":               `functions.terminal({command: "ls -la"})`,
		"print(py)":               `print(terminal(command="ls -la"))`,
		"await":                   `await terminal(command="ls -la")`,
		"functionary3":            ">>>terminal\n{\"command\":\"ls -la\"}",
		"functionary3 all":        ">>>all\nI look.>>>terminal\n{\"command\":\"ls -la\"}",
		"functionary2":            "<|from|>assistant\n<|recipient|>terminal\n<|content|>{\"command\":\"ls -la\"}",
		"tag of tool":             "<terminal>\n<command>ls -la</command>\n</terminal>",
		"tag of tool json":        `<terminal>{"command":"ls -la"}</terminal>`,
		"tag of tool plain":       `<terminal>ls -la</terminal>`,
		"tag of tool parameters":  "<terminal>\n<parameter name=\"command\">ls -la</parameter>\n</terminal>",
		"key object":              `{"terminal":{"command":"ls -la"}}`,
		"key object list":         `[{"terminal":{"command":"ls -la"}}]`,
		"key object fence":        "```json\n{\"terminal\":{\"command\":\"ls -la\"}}\n```",
		"flat tool":               `{"tool":"terminal","command":"ls -la"}`,
		"flat name":               `{"name":"terminal","command":"ls -la"}`,
		"flat action":             `{"action":"terminal","command":"ls -la","thought":"I look"}`,
		"tool_use xml":            "<tool_use>\n<name>terminal</name>\n<input>{\"command\":\"ls -la\"}</input>\n</tool_use>",
		"tool_use server":         "<tool_use>\n<tool_name>terminal</tool_name>\n<arguments>{\"command\":\"ls -la\"}</arguments>\n</tool_use>",
		"tool_use xml children":   "<tool_use>\n<name>terminal</name>\n<input>\n<command>ls -la</command>\n</input>\n</tool_use>",
		"tool_use xml parameters": "<tool_use>\n<name>terminal</name>\n<parameters>\n<command>ls -la</command>\n</parameters>\n</tool_use>",
		"tool_call xml":           "<tool_call>\n<name>terminal</name>\n<arguments>{\"command\":\"ls -la\"}</arguments>\n</tool_call>",
		"function_call py":        `<function_call>terminal(command="ls -la")</function_call>`,
		"function_call attr":      `<function_call name="terminal">{"command":"ls -la"}</function_call>`,
		"claude2":                 "<function_calls>\n<invoke>\n<tool_name>terminal</tool_name>\n<parameters>\n<command>ls -la</command>\n</parameters>\n</invoke>\n</function_calls>",
		"olmo3":                   "<function_calls>\nterminal(command=\"ls -la\")\n</function_calls>",
		"olmo3 two":               "<function_calls>\nterminal(command=\"ls -la\")\nfinish(message=\"x\")\n</function_calls>",
		"hunyuan":                 "<tool_calls>\n<tool_call>terminal\n```json\n{\"command\":\"ls -la\"}\n```\n</tool_call>\n</tool_calls>",
		"grok":                    "<xai:function_call name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</xai:function_call>",
		"tool attr":               "<tool name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</tool>",
		"tool_call attr":          "<tool_call name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</tool_call>",
		"nova":                    "<__function=terminal>\n<__parameter=command>\nls -la\n</__parameter>\n</__function>",
		"qwen2 agent":             "✿FUNCTION✿: terminal\n✿ARGS✿: {\"command\":\"ls -la\"}\n✿RESULT✿",
		"glm4":                    "terminal\n{\"command\":\"ls -la\"}",
		"mistral stripped":        `terminal{"command":"ls -la"}`,
		"mistral stripped args":   `terminal[ARGS]{"command":"ls -la"}`,
		"kimi stripped":           `functions.terminal:0{"command":"ls -la"}`,
		"kimi stripped text":      `I look. functions.terminal:0{"command":"ls -la"}`,
		"glm stripped":            "terminal\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>",
		"harmony stripped":        `analysisWe need to look.assistantcommentary to=functions.terminal json{"command":"ls -la"}`,
		"harmony stripped2":       `commentary to=functions.terminal json{"command":"ls -la"}`,
		"harmony code":            `<|start|>assistant<|channel|>commentary to=functions.terminal code<|message|>{"command":"ls -la"}<|call|>`,
		"gemini leak":             `call:default_api:terminal{command:ls -la}`,
		"gemma4 stripped":         `call:terminal{command:ls -la}`,
		"command-r":               "Action: ```json\n[{\"tool_name\":\"terminal\",\"parameters\":{\"command\":\"ls -la\"}}]\n```",
		"react paren":             `Action: terminal({"command":"ls -la"})`,
		"json tool_call":          `{"tool_call":{"name":"terminal","arguments":{"command":"ls -la"}}}`,
		"json kwargs":             `{"tool":"terminal","kwargs":{"command":"ls -la"}}`,
		"json params":             `{"tool":"terminal","params":{"command":"ls -la"}}`,
		"json tool_name":          `{"tool_name":"terminal","tool_args":{"command":"ls -la"}}`,
		"json ; lines":            `{"name":"terminal","arguments":{"command":"ls -la"}}; {"name":"finish","arguments":{"message":"x"}}`,
		"xml fence":               "```xml\n<terminal>\n<command>ls -la</command>\n</terminal>\n```",
		"xml fence invoke":        "```xml\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>\n```",
		"hermes fence":            "```\n<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls -la\"}}</tool_call>\n```",
		"tool tag pair":           "<tool>terminal</tool>\n<args>{\"command\":\"ls -la\"}</args>",
		"tool tag pair2":          "<tool>terminal</tool>\n<command>ls -la</command>",
		"ipython":                 `<|python_tag|>terminal.call(command="ls -la")<|eom_id|>`,
		"dsml2":                   "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"terminal\">\n<｜DSML｜parameter name=\"command\" string=\"true\">ls -la</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
		"dsml ascii":              "<|DSML|invoke name=\"terminal\">\n<|DSML|parameter name=\"command\" string=\"true\">ls -la</|DSML|parameter>\n</|DSML|invoke>",
		"invoke tags":             "<invoke name=\"terminal\">\n<command>ls -la</command>\n</invoke>",
	} {
		got := texttools.ReadWritten(in, offered)
		if len(got.Calls) == 0 || got.Calls[0].Name+" "+got.Calls[0].Arguments != ls || got.Doubtful {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, in := range map[string]string{ // perhaps examples
		"py after text":       "I look.\n\nterminal(command=\"ls -la\")",
		"py fence after text": "I look.\n```python\nterminal(command=\"ls -la\")\n```",
		"tag of tool text":    "I look.\n<terminal>\n<command>ls -la</command>\n<timeout>5</timeout></terminal>",
	} {
		if got := texttools.ReadWritten(in, offered); len(got.Calls) != 1 || !got.Doubtful || got.Text != "I look." {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, tt := range map[string]struct{ in, problem string }{
		"cline":              {"<execute_command>\n<command>ls -la</command>\n<requires_approval>false</requires_approval>\n</execute_command>", `there is no tool "execute_command"`},
		"cline completion":   {"<attempt_completion>\n<result>done</result>\n</attempt_completion>", `there is no tool "attempt_completion"`},
		"bracket tool call":  {`[Tool call: terminal({"command":"ls -la"})]`, `it cannot be read`},
		"bracket tool call2": {`[tool_call: terminal {"command":"ls -la"}]`, `it cannot be read`},
		"json raw newline":   {"{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\n-la\"}}", `its JSON is not complete or not valid`},
	} {
		if got := texttools.ReadWritten(tt.in, offered); got.Problem != tt.problem || got.Calls != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, in := range map[string]string{ // text
		"react bracket":   `Action: terminal[ls -la]`,
		"json fence tool": "```terminal\n{\"command\":\"ls -la\"}\n```",
		"html escaped":    `&lt;tool_call&gt;{"name":"terminal","arguments":{"command":"ls -la"}}&lt;/tool_call&gt;`,
		"yaml":            "tool: terminal\ncommand: ls -la",
		"xml doc":         "<project>\n<name>x</name>\n</project>",
		"html":            `<html><body>x</body></html>`,
		"json":            `{"finish":{"a":1}}`,
		"json plan":       `{"plan":{"title":"x"}}`,
		"json name":       `{"name":"terminal","version":"1.0"}`,
		"json conf":       `{"tool":"eslint","command":"x"}`,
		"call prose":      `You can call terminal(command="ls") from it.`,
		"call prose line": "Use it so:\n\n    terminal(command=\"ls\")\n\nand so on.",
		"py def":          "```python\nterminal(command=\"ls\")\nprint(1)\n```",
		"doctest":         ">>> terminal\n{1: 2}",
		"word":            `terminal`,
		"finish.":         `finish`,
		"prose tag":       `The <terminal> element.`,
		"finish word":     `finish(): done`,
	} {
		if got := texttools.ReadWritten(in, offered); got.Problem != "" || got.Calls != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReadUnmarkedArguments has arguments of every kind in these forms.
func TestReadUnmarkedArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<terminal>\n<command>\ncat <<E\n<a>&amp;</a>\nE\n</command>\n<timeout>5</timeout>\n</terminal>": `terminal {"command":"cat <<E\n<a>&amp;</a>\nE","timeout":5}`,
		`terminal({command: 'it\'s', timeout: 5, reset: true})`:                                          `terminal {"command":"it's","timeout":5,"reset":true}`,
		`{"action":"terminal","command":"ls -la","thought":"I look","timeout":5}`:                        `terminal {"command":"ls -la","timeout":5}`,
		`{"plan":{"items":[{"a":1}]}}`:                                                                   `plan {"items":[{"a":1}]}`,
		"<terminal><command>a</command></terminal>\n<finish><message>b</message></finish>":               `terminal {"command":"a"} finish {"message":"b"}`,
	} {
		var calls []string
		for _, c := range texttools.ReadWritten(in, offered).Calls {
			calls = append(calls, c.Name+" "+c.Arguments)
		}
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
