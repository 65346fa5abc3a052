package texttools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/llm"
)

// Written is an answer without calls, read for calls that the model wrote as text. That
// happens where a server does not know the markup of its model.
type Written struct {
	Text  string           // before the calls
	Calls []event.ToolCall // nil if there are none, or if they cannot be read
	// Doubtful says that the calls may be an example for the user: they are in a code block
	// after other text, and without a mark of calls.
	Doubtful bool
	// Problem says why markup of a call is not one; "" if there is no markup.
	Problem string
}

// marker finds where markup of calls begins: of Anthropic, Hermes, Qwen, GLM, Mistral,
// DeepSeek, Kimi, harmony, Llama, MiniMax, Granite, Phi, Gemma, Nemotron, Command, InternLM,
// Seed, LFM, Apertus, LongCat, Step, Functionary, Nova, Grok, Qwen's agents and LM Studio, of
// ReAct, and of Cline. Its groups are marks that occur nowhere else, and such that prose about
// agents may have.
var marker = lazyregexp.New(`(\[TOOL_(?:CALLS|REQUEST)\]|<[｜|]tool[▁_]calls?[▁_]begin[｜|]>|<\|tool_calls_section_begin\|>|<\|tool_call(?:_start)?\|>|<\|python_tag\|>|` +
	`functools\[\s*\{|<\|START_ACTION\|>|<\|action_start\|>|<\|tools_prefix\|>|<TOOLCALL>|<longcat_tool_call>|<(?:seed|steptml):|` +
	`(?:<\|start\|>assistant)?\s?(?:<\|channel\|>(?:commentary|analysis)\s+to=|to=functions\.[\w.-]+\s?<\|channel\|>)|(?:assistant)?commentary to=functions\.[\w.-]+\s*(?:json|code)?\s*\{|` +
	`<start_function_call>|<\|tool_call>|<[｜|]DSML[｜|](?:function_calls>|tool_calls>|invoke )|<\|recipient\|>|✿FUNCTION✿:|<__function=|functions\.[\w.-]+:\d+\s*\{)|` +
	`(<(?:\w+:)?function_calls>|<invoke>|<(?:\w+:)?(?:invoke|function_?call|tool|tool_call|tool_use) name=|<(?:\w+:)?tool_calls?>|<function=|<function name=|<(?:tool_use|function_?call|tool_code)>|` + "```tool_code\n|>>>\\w[\\w.-]*\\s?\\{|" +
	`<(?:` + otherTools + `)>|` +
	`(?m:^[ \t*]*Action[ \t*]*:[ \t*]*[\w.-]+[ \t*]*\n[ \t*]*Action Input[ \t*]*:))`)

// otherTools are the tools of Cline and of other agents, by whose names models write tags.
const otherTools = "execute_command|execute_bash|execute_ipython|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_files|list_files|" +
	"list_code_definition_names|use_mcp_tool|ask_followup_question|attempt_completion|new_task|switch_mode|plan_mode_respond|update_todo_list"

// ReadWritten reads an answer that has no calls. Markup counts as calls if all of it does,
// it ends the answer, its tools are offered and their required arguments are there. Markup
// in code blocks is text.
func ReadWritten(text string, tools []llm.Tool) Written {
	offered := map[string]*signature{}
	for i := range tools {
		offered[tools[i].Name] = readSignature(tools[i].Parameters)
	}
	w := Written{Text: text}
	at, sure := markupAt(text)
	if at < 0 {
		return readBare(text, offered, tools)
	}
	r := writtenReader{offered: offered, tools: tools, rest: text[at:]}
	if r.read(); r.problem == "" && len(r.calls) > 0 {
		return Written{Text: strings.TrimRight(text[:at], spaces), Calls: r.calls}
	}
	if sure || atLineStart(text, at) {
		w.Problem = r.problem
	}
	return w
}

// markupAt returns the position of the first markup outside of code, or -1, and whether it
// is a mark that occurs nowhere else.
func markupAt(text string) (at int, sure bool) {
	for _, m := range marker().FindAllStringSubmatchIndex(text, -1) {
		if !inCode(text[:m[0]]) {
			return m[0], m[2] >= 0
		}
	}
	return -1, false
}

// inCode reports whether a code block or a code span is open at the end of text.
func inCode(text string) bool {
	if strings.Count(text, codeFence)%2 == 1 {
		return true
	}
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.Count(strings.ReplaceAll(line, codeFence, ""), "`")%2 == 1
}

func atLineStart(text string, at int) bool {
	return strings.TrimSpace(text[strings.LastIndexByte(text[:at], '\n')+1:at]) == ""
}

// writtenReader reads calls up to the end of an answer.
type writtenReader struct {
	offered map[string]*signature
	tools   []llm.Tool
	rest    string
	calls   []event.ToolCall
	problem string
}

// aside matches text around calls that says nothing.
var aside = lazyregexp.New(`^(?:[\s;]|<[｜|]tool[▁_]calls[▁_]begin[｜|]>|<[｜|]tool[▁_]calls?[▁_]end[｜|]>|<\|tool_calls_section_(?:begin|end)\|>|<\|/?tool_call(?:_start|_end)?\|>|<\|python_tag\|>|` +
	`\[(?:TOOL_CALLS|(?:END_)?TOOL_REQUEST)\]|<\|(?:START|END)_ACTION\|>|<\|action_(?:start|end)\|>|<\|plugin\|>|<\|tools_(?:prefix|suffix)\|>|✿RESULT✿:?|` +
	`</?(?:\w+:|[｜|]DSML[｜|])?(?:TOOLCALL|longcat_tool_call|tool_use|function_?calls?|tool_code|tool_calls?|invoke)>|</tool>|` +
	`<\|(?:call|im_end|eot_id|eom_id|end|return|endoftext)\|>|</s>|<｜end▁of▁sentence｜>|<end_of_turn>|<eos>|<\|?turn\|>|<\|?tool_response\|?>|<tool_call\|>|<end_function_call>|` +
	"```(?:(?:json|python|tool_call|tool_code|xml)\\s)?)*")

// headed matches the name of a call and the text before its JSON object: of Mistral, DeepSeek,
// Kimi, Functionary, Qwen's agents, Hunyuan, ReAct, and of harmony.
var headed = lazyregexp.New(`^(?:(?:\[TOOL_CALLS\]|>>>|<\|recipient\|>\s*|✿FUNCTION✿:\s*|<\|tool_call_begin\|>\s*|<[｜|]tool[▁_]call[▁_]begin[｜|]>(?:function<[｜|]tool[▁_]sep[｜|]>)?)?` +
	`([\w.-]+)(?::\d+)?\s*(?:(?:\[CALL_ID\]\w+|\[ARGS\]|<\|content\|>|✿ARGS✿:|<\|tool_call_argument_begin\|>|<[｜|]tool[▁_]sep[｜|]>|` + "```(?:json)?" + `)\s*)*|` +
	`[ \t*]*Action[ \t*]*:[ \t*]*([\w.-]+)[ \t*]*\n[ \t*]*Action Input[ \t*]*:[\s*]*(?:` + "```(?:json)?" + `)?\s*|` +
	`(?:<\|start\|>assistant)?\s?(?:(?:<\|channel\|>)?\w+)?\s*to=([\w.-]+)\s*(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>\s*)?(?:json|code)?\s*(?:<\|message\|>)?\s*)\{`)

var (
	xmlHead    = lazyregexp.New(`^<(?:invoke name=|function=|function name=)`)
	glmCall    = lazyregexp.New(`(?s)^([\w.-]+)\s*((?:<arg_key>.*?</arg_key>\s*<arg_value>.*?</arg_value>\s*)*)(?:</tool_call>|$)`)
	glmArg     = lazyregexp.New(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	namespace  = lazyregexp.New(`<(/?)(?:[｜|]DSML[｜|]|\w+:|__)(function_calls|function|invoke|parameter|tool_calls?)\b`)
	parameters = lazyregexp.New(`(<parameter name="[^"\n]*")\s+string="(?:true|false)"`)
)

func (r *writtenReader) read() {
	for r.problem == "" {
		// Mistral's and DeepSeek's heads begin with an aside.
		if r.headed() {
			continue
		}
		before := len(r.rest)
		r.rest = r.rest[len(aside().FindString(r.rest)):]
		switch {
		case r.rest == "":
			if len(r.calls) == 0 {
				r.problem = "the call is missing"
			}
			return
		case len(r.rest) < before:
		case r.json(), r.glm(), r.gemma(), r.python(), r.tags(), r.xml():
		case len(r.calls) > 0:
			r.problem = "text follows the call"
		default:
			r.problem = "it cannot be read"
		}
	}
}

// headed reads a name with a JSON object.
func (r *writtenReader) headed() bool {
	m := headed().FindStringSubmatchIndex(r.rest)
	if m == nil {
		return false
	}
	j := jsonScan{at: m[1] - 1, start: m[1] - 1}
	j.scan(r.rest)
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			r.call(r.rest[m[g]:m[g+1]], r.rest[j.start:j.at])
		}
	}
	r.rest = r.rest[j.at:]
	return true
}

// json reads an object or a list of them.
func (r *writtenReader) json() bool {
	if phi, ok := strings.CutPrefix(r.rest, "functools["); ok {
		r.rest = "[" + phi
	}
	if r.rest[0] != '{' && r.rest[0] != '[' {
		return false
	}
	var j jsonScan
	j.scan(r.rest)
	whole := r.rest[:j.at]
	if !gjson.Valid(whole) {
		if !namedCall().MatchString(r.rest) {
			return false
		}
		r.problem = brokenJSON
		return true
	}
	r.rest = r.rest[j.at:]
	for _, one := range listed(gjson.Parse(whole)) {
		name, arguments, ok := callOf(one.Raw)
		if !ok {
			name, arguments, ok = r.flat(one)
		}
		if !ok {
			r.problem = `it is not JSON with a "name" and "arguments"`
			return true
		}
		r.call(name, arguments)
	}
	return true
}

// listed returns the calls of a list, of a whole message in OpenAI's form, or of its parallel tool.
func listed(root gjson.Result) []gjson.Result {
	for _, key := range []string{"tool_calls", "tool_uses"} {
		if list := root.Get(key); list.IsArray() {
			root = list
		}
	}
	if root.IsArray() {
		return root.Array()
	}
	return []gjson.Result{root}
}

// glm reads GLM's form: a name, then keys and values.
func (r *writtenReader) glm() bool {
	m := glmCall().FindStringSubmatch(r.rest)
	if m == nil {
		return false
	}
	r.rest = r.rest[len(m[0]):]
	r.typed(m[1], glmArg().FindAllStringSubmatch(m[2], -1))
	return true
}

// typed adds a call whose values get their types from the tool's schema. Each argument is
// a match with name and value.
func (r *writtenReader) typed(name string, args [][]string) {
	s := r.signature(name)
	object := []byte{'{'}
	for i, a := range args {
		if i > 0 {
			object = append(object, ',')
		}
		key := strings.TrimSpace(a[1])
		object = s.appendValue(append(appendName(object, key), ':'), key, a[2])
	}
	r.call(name, string(append(object, '}')))
}

// withoutNamespace returns tags of calls without what some models add to them.
func withoutNamespace(text string) string {
	return parameters().ReplaceAllString(namespace().ReplaceAllString(text, "<$1$2"), "$1")
}

// xml reads the forms that [New] understands.
func (r *writtenReader) xml() bool {
	text := withoutNamespace(r.rest)
	if !xmlHead().MatchString(text) {
		return false
	}
	p := newReader(r.tools, func(llm.Delta) {})
	p.feed(text)
	p.end(true)
	r.rest = p.text.String()
	if len(p.calls) == 0 {
		r.problem = "it cannot be read"
	}
	for _, c := range p.calls {
		r.call(c.Name, c.Arguments)
	}
	return true
}

// signature returns the parameters of a tool, none if it is not offered.
func (r *writtenReader) signature(name string) *signature {
	if s := r.offered[plainName(name)]; s != nil {
		return s
	}
	return &signature{}
}

// plainName is a name without the namespace of functions.
func plainName(name string) string {
	for _, prefix := range []string{"functions.", "default_api.", "default_api:"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// call adds a call, or says why it is none.
func (r *writtenReader) call(name, arguments string) {
	name = plainName(name)
	s := r.offered[name]
	switch {
	case s == nil:
		r.problem = fmt.Sprintf("there is no tool %q", name)
	case !gjson.Valid(arguments) || !gjson.Parse(arguments).IsObject():
		r.problem = "its arguments are not a complete JSON object"
	default:
		given := gjson.Parse(arguments).Map()
		if i := slices.IndexFunc(s.required, func(p string) bool { return !given[p].Exists() }); i >= 0 {
			r.problem = fmt.Sprintf("the argument %q is missing", s.required[i])
			return
		}
		r.calls = append(r.calls, event.ToolCall{Name: name, Arguments: rawjson.WellFormed(arguments), Origin: event.OriginCompletion})
	}
}
