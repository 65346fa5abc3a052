package llmtest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/rawjson"
)

// maxDepth limits the nesting of a request body.
const maxDepth = 10_000

// decoding converts one request body to a [Request], and records the first
// error that a real provider would report.
type decoding struct {
	req     *Request
	problem *apiError
	system  []string
}

// fail records a refusal with status 400. param is OpenAI's "param" of it.
func (d *decoding) fail(param, format string, args ...any) {
	if d.problem == nil {
		d.problem = &apiError{kind: BadRequest, param: param, message: fmt.Sprintf(format, args...)}
	}
}

// parseBody checks that body is one JSON object of limited depth.
func parseBody(body string) (object, *apiError) {
	bad := &apiError{kind: BadRequest, message: "We could not parse the JSON body of your request. The body must be a JSON object."}
	// Counting brackets first avoids the exact pass for usual bodies.
	if strings.Count(body, "[")+strings.Count(body, "{") > maxDepth && tooDeep(body) {
		return object{}, bad
	}
	if !gjson.Valid(body) {
		return object{}, bad
	}
	root := gjson.Parse(body)
	if !root.IsObject() {
		return object{}, bad
	}
	fields := make(map[string]gjson.Result)
	root.ForEach(func(key, value gjson.Result) bool {
		fields[key.Str] = value
		return true
	})
	return object{raw: body, fields: fields}, nil
}

// object is a request body whose fields were found in one pass: searching the
// text for each field would read the whole history again.
type object struct {
	raw    string
	fields map[string]gjson.Result
}

// Get returns a field; it does not exist if the object has none.
func (o object) Get(name string) gjson.Result { return o.fields[name] }

func tooDeep(body string) bool {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// decode reads a request body of the given protocol. A lenient server reports
// only broken, a strict one also problem.
func decode(req *Request) (problem, broken *apiError) {
	root, broken := parseBody(req.Body)
	if broken != nil {
		return nil, broken
	}
	d := &decoding{req: req}
	switch req.Protocol {
	case OpenAIChat:
		d.chat(root)
	case OpenAIResponses:
		d.responses(root)
	case Anthropic:
		d.anthropic(root)
	case Gemini:
		d.gemini(root)
	}
	d.unicode()
	req.System = strings.Join(d.system, "\n")
	req.count()
	if req.Session == "" {
		req.Session = sessionOf(root)
	}
	return d.problem, nil
}

// unicode refuses escapes of half a character, in the arguments of calls as well.
func (d *decoding) unicode() {
	texts := []string{d.req.Body}
	for _, m := range d.req.Messages {
		for _, c := range m.ToolCalls {
			texts = append(texts, c.Arguments)
		}
	}
	for _, t := range texts {
		if rawjson.WellFormed(t) != t {
			d.fail("", "The request body is not valid JSON: no low surrogate in string")
		}
	}
}

func sessionOf(root object) string {
	if key := root.Get("prompt_cache_key"); key.Type == gjson.String && key.Str != "" {
		return key.Str
	}
	if user := root.Get("metadata").Get("user_id"); user.Type == gjson.String {
		return user.Str
	}
	return ""
}

var (
	openAIName    = name{regexp.MustCompile(`^[a-zA-Z0-9_-]+$`), 64}
	anthropicName = name{regexp.MustCompile(`^[a-zA-Z0-9_-]+$`), 128}
	geminiName    = name{regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]*$`), 128}
	plainID       = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// schemaProblem returns the error in the JSON Schema of a tool's parameters, or
// "".
func schemaProblem(schema gjson.Result) string {
	if !schema.IsObject() {
		return fmt.Sprintf("schema must be an object, got %s", kindOf(schema))
	}
	if t := schema.Get("type"); !strings.EqualFold(t.String(), "object") {
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'", orNone(t))
	}
	if p := schema.Get("properties"); p.Exists() {
		if !p.IsObject() {
			return fmt.Sprintf("'properties' must be an object, got %s", kindOf(p))
		}
		bad := ""
		p.ForEach(func(key, value gjson.Result) bool {
			if !value.IsObject() && !value.IsBool() {
				bad = fmt.Sprintf("property %q is not of type 'object', 'boolean'", key.Str)
			}
			return bad == ""
		})
		if bad != "" {
			return bad
		}
	}
	return requiredProblem(schema)
}

func requiredProblem(schema gjson.Result) string {
	required := schema.Get("required")
	if !required.Exists() {
		return ""
	}
	if !required.IsArray() {
		return fmt.Sprintf("'required' must be an array, got %s", kindOf(required))
	}
	for _, name := range required.Array() {
		if name.Type != gjson.String {
			return "'required' must hold strings"
		}
	}
	return ""
}

func orNone(r gjson.Result) string {
	if !r.Exists() || r.Type == gjson.Null {
		return "None"
	}
	return r.String()
}

// kindOf returns a JSON value's type as in OpenAI's errors.
func kindOf(r gjson.Result) string {
	switch {
	case !r.Exists() || r.Type == gjson.Null:
		return "null"
	case r.IsArray():
		return "an array"
	case r.IsObject():
		return "an object"
	case r.IsBool():
		return "a boolean"
	case r.Type == gjson.Number:
		return "a number"
	}
	return "a string"
}

// present reports whether a field exists and is not null.
func present(r gjson.Result) bool { return r.Exists() && r.Type != gjson.Null }

// model reads the fields that all JSON bodies with a model have.
func (d *decoding) model(root object) {
	m := root.Get("model")
	d.req.Model, d.req.Stream = m.String(), root.Get("stream").Bool()
	if m.Type != gjson.String || m.Str == "" {
		d.fail("model", "you must provide a model parameter")
	}
	if s := root.Get("stream"); present(s) && !s.IsBool() {
		d.fail("stream", "Invalid type for 'stream': expected a boolean, but got %s instead.", kindOf(s))
	}
}

// name is the rule for names of tools. The length is checked separately,
// because a counted repetition makes a large regular expression.
type name struct {
	pattern *regexp.Regexp
	most    int
}

// MatchString reports whether the provider accepts s.
func (n name) MatchString(s string) bool { return len(s) <= n.most && n.pattern.MatchString(s) }
