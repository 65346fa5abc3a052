package texttools

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// signature is the parameters in a tool's schema.
type signature struct {
	types    map[string][]string
	only     string // the one required parameter, if it is a text
	required []string
}

func readSignature(schema []byte) *signature {
	s := &signature{types: map[string][]string{}}
	root := gjson.ParseBytes(schema)
	root.Get("properties").ForEach(func(name, p gjson.Result) bool {
		s.types[name.Str] = typesOf(p)
		return true
	})
	for _, r := range root.Get("required").Array() {
		s.required = append(s.required, r.Str)
	}
	if len(s.required) == 1 && slices.Contains(s.types[s.required[0]], "string") {
		s.only = s.required[0]
	}
	return s
}

var (
	// missedEnd matches a call that begins before the end of the previous one.
	missedEnd = lazyregexp.New(`(?:^|</parameter>)\s*(<(?:function=|function name=|invoke name=)[^<>\n]+>)`)
	paramHead = lazyregexp.New(`<parameter(?:=|\s+name=)([^<>\n]{1,128})>`)
	// afterValue matches the text after the end of a value.
	afterValue = lazyregexp.New(`^\s*(?:$|<parameter[= ])`)
)

const paramEnd = "</parameter>"

// nextCall splits the body of a call from further calls in it.
func nextCall(body string) (here, name, rest string) {
	m := missedEnd().FindStringSubmatchIndex(body)
	if m == nil {
		return body, "", ""
	}
	for _, h := range heads {
		if strings.HasPrefix(body[m[2]:], h) {
			if head := headAt(body[m[2]:], h, true); head.kind == markCall {
				return body[:m[2]], head.name, body[m[2]+head.length:]
			}
		}
	}
	return body, "", ""
}

// arguments returns the JSON object of a call's body. If the call was cut off,
// the object is cut off, too.
func (s *signature) arguments(body string, cut bool) string {
	body = strings.TrimSpace(body)
	// Arguments as JSON. Malformed ones are left to package tool.
	if strings.HasPrefix(body, `{"`) || strings.HasPrefix(body, "{") && gjson.Valid(body) {
		return body
	}
	out := []byte{'{'}
	given := map[string]bool{}
	add := func(name, value string) {
		if given[name] {
			return
		}
		given[name] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(historycache.AppendString(out, name), ':')
		out = s.appendValue(out, name, value)
	}
	rest := body
	for {
		m := paramHead().FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		name := strings.Trim(rest[m[2]:m[3]], " \t\r\"'")
		var value string
		value, rest = s.value(rest[m[1]:])
		add(name, value)
	}
	if len(given) == 0 && body != "" && s.only != "" {
		add(s.only, body)
	}
	if cut {
		return strings.TrimSuffix(string(out), `"`)
	}
	return string(append(out, '}'))
}

// value splits a value from the text after it. A value may itself contain tags
// of calls: it ends at the first end tag that is followed by another parameter
// or nothing. Without an end tag, it ends at the next known parameter.
func (s *signature) value(text string) (value, rest string) {
	first := -1
	for at := 0; ; {
		i := strings.Index(text[at:], paramEnd)
		if i < 0 {
			break
		}
		end := at + i
		at = end + len(paramEnd)
		if first < 0 {
			first = end
		}
		if afterValue().MatchString(text[at:]) {
			first = end
			break
		}
	}
	end, skip := len(text), 0
	if first >= 0 {
		end, skip = first, len(paramEnd)
	}
	for _, m := range paramHead().FindAllStringSubmatchIndex(text[:end], -1) {
		name := strings.Trim(text[m[2]:m[3]], " \t\r\"'")
		if _, known := s.types[name]; known && m[0] > 0 && text[m[0]-1] == '\n' && !strings.Contains(text[:m[0]], paramEnd) {
			end, skip = m[0], 0
			break
		}
	}
	return text[:end], text[end+skip:]
}

// appendValue converts a value to its type in the schema: strings stay strings,
// and valid JSON of another type becomes that.
func (s *signature) appendValue(dst []byte, name, value string) []byte {
	types := s.types[name]
	word := strings.TrimSpace(value)
	switch lower := strings.ToLower(word); {
	case s.isText(name):
	case slices.Contains(types, "boolean") && (lower == "true" || lower == "false"):
		return append(dst, lower...)
	case slices.Contains(types, "null") && (lower == "null" || lower == "none"):
		return append(dst, "null"...)
	case gjson.Valid(word) && fits(gjson.Parse(word), types):
		return append(dst, word...)
	}
	value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	return historycache.AppendString(dst, plain(value))
}

// isText reports whether a value is always a string.
func (s *signature) isText(name string) bool {
	types := s.types[name]
	return slices.Contains(types, "string") || len(types) == 0
}

func fits(v gjson.Result, types []string) bool {
	switch v.Type {
	case gjson.Number:
		return slices.Contains(types, "number") || slices.Contains(types, "integer")
	case gjson.JSON:
		return v.IsArray() && slices.Contains(types, "array") || v.IsObject() && slices.Contains(types, "object")
	}
	return false
}

var (
	entities   = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&amp;", "&")
	noEntities = strings.NewReplacer("&lt;", "", "&gt;", "", "&quot;", "", "&apos;", "", "&#39;", "", "&amp;", "")
)

// plain removes additions that models make because the format resembles XML: CDATA
// sections, and escapes in a value that is escaped throughout. Text that is only
// partly escaped, such as HTML, is not changed, and neither is a single &amp;,
// which is ambiguous.
func plain(value string) string {
	if inner, ok := strings.CutPrefix(value, cdata); ok {
		if inner, ok = strings.CutSuffix(inner, "]]>"); ok {
			return inner
		}
	}
	return unescaped(value)
}

// unescaped removes the escapes of a value that is escaped throughout.
func unescaped(value string) string {
	escaped := strings.Contains(value, "&lt;") || strings.Contains(value, "&gt;") || strings.Contains(value, "&amp;&amp;")
	if !escaped || strings.ContainsAny(noEntities.Replace(value), "<>&") {
		return value
	}
	return entities.Replace(value)
}
