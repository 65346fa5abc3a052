package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// maxFrontMatter bounds the YAML at the head of a file, in bytes.
const maxFrontMatter = 32 << 10

var (
	boundary = lazyregexp.New(`(?m)^-{3,}[ \t]*\r?$`)
	// ending is the end of front matter: YAML documents may end with dots, too.
	ending    = lazyregexp.New(`(?m)^(?:-{3,}|\.{3})[ \t]*\r?$`)
	paragraph = lazyregexp.New(`\n[ \t]*\r?\n`)
)

// FrontMatter splits a text into the YAML between two lines of --- at its
// beginning and the rest, without the white space around it. If the second line is missing, the
// YAML is the first paragraph, and that if it has fields only. Without the first line
// everything is the rest. YAML that is no mapping is ignored; malformed YAML,
// anchors and too much of it are errors of kind fault.Invalid.
func FrontMatter(text string) (fields map[string]any, rest string, err error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	first := boundary().FindStringIndex(text)
	if first == nil || first[0] != 0 {
		return nil, text, nil
	}
	second := ending().FindStringIndex(text[first[1]:])
	if second == nil {
		fields, rest = unclosed(text, text[first[1]:])
		return fields, rest, nil
	}
	head := text[first[1] : first[1]+second[0]]
	rest = strings.TrimSpace(text[first[1]+second[1]:])
	if len(head) > maxFrontMatter {
		return nil, rest, fault.New(fault.Invalid, fmt.Sprintf("the front matter has %d bytes; %d are read", len(head), maxFrontMatter))
	}
	fields, err = parseFields(head)
	return fields, rest, err
}

// unclosed splits a text whose front matter has no end. A line of --- before any other text is a
// line of Markdown.
func unclosed(text, after string) (fields map[string]any, rest string) {
	after = strings.TrimLeft(after, "\r\n")
	head := after
	if end := paragraph().FindStringIndex(after); end != nil {
		head, rest = after[:end[0]], strings.TrimSpace(after[end[1]:])
	}
	at, cut := 0, false // where the text begins without an empty line before it
	for line := range strings.Lines(head) {
		if !fieldLine().MatchString(line) {
			head, rest, cut = head[:at], strings.TrimSpace(after[at:]), true
			break
		}
		at += len(line)
	}
	if len(head) <= maxFrontMatter {
		read, err := parseFields(head)
		known := read["name"] != nil || read["description"] != nil
		if err == nil && len(read) > 0 && (known || !cut) {
			return read, rest
		}
	}
	return nil, text
}

// fieldLine matches a line of a mapping, or of the list or text that is its value.
var fieldLine = lazyregexp.New(`^(?:[A-Za-z_][\w-]*:(?:[ \t]|\r?\n?$)|[ \t]+\S|- )`)

// parseFields parses front matter, if it must be as it was meant.
func parseFields(head string) (map[string]any, error) {
	fields, err := parseYAML([]byte(head))
	if fault.Is(err, fault.Invalid) && errors.Is(err, errSyntax) {
		if asMeant, again := parseYAML([]byte(quoted(head))); again == nil {
			fields, err = asMeant, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // "Description" is meant as "description"
		if lower := strings.ToLower(name); fields[lower] == nil {
			fields[lower] = fields[name]
		}
	}
	return fields, err
}

// errSyntax is the cause of errors that [quoted] may avoid.
var errSyntax = errors.New("wrong syntax")

// field matches a line of a mapping, which may be the first one of an item of a list.
var field = lazyregexp.New(`^([ ]*(?:-[ ]+)?)([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t\r]*$`)

// quoted returns front matter with the values in quotes that are no YAML, as people write
// them: "description: Use when: needed", "argument-hint: [x] - y". Tabs are no indentation.
func quoted(head string) string {
	lines := levelled(strings.Split(head, "\n"))
	for i := range lines {
		m := field().FindStringSubmatch(lines[i])
		if m == nil || m[1] != "" && strings.ContainsAny(m[3][:1], "[{") { // a list that is not closed
			continue
		}
		if _, err := parseYAML([]byte(m[2] + ": " + m[3])); err == nil {
			continue
		}
		if value, err := json.Marshal(m[3]); err == nil {
			lines[i] = m[1] + m[2] + ": " + string(value)
		}
	}
	return strings.Join(lines, "\n")
}

// opener matches a line of a mapping with its indentation and its value, if it has one.
var opener = lazyregexp.New(`^( *)[A-Za-z_][\w-]*:(?:[ \t]+(\S.*?))?[ \t\r]*$`)

// levelled returns the lines of front matter with spaces as indentation. A field below a field with
// a text of its own is no part of that, so it is a field of the same level.
func levelled(lines []string) []string {
	out := make([]string, len(lines))
	moved := map[int]int{} // indentations, and what they became
	last := 0              // indentation of the line before if a deeper field is none of its own, else -1
	for i, line := range lines {
		text := strings.TrimLeft(line, " \t")
		indent := strings.ReplaceAll(line[:len(line)-len(text)], "\t", "  ")
		out[i] = indent + text
		m := opener().FindStringSubmatch(out[i])
		if m == nil {
			if text != "" {
				last = -1
			}
			continue
		}
		at := len(indent)
		maps.DeleteFunc(moved, func(from, _ int) bool { return from > at })
		if _, again := moved[at]; !again && last >= 0 && at > last {
			moved[at] = last
		}
		if to, ok := moved[at]; ok {
			at = to
			out[i] = indent[:at] + text
		}
		last = -1
		if m[2] != "" && !strings.ContainsAny(m[2][:1], "|>[{\"'") {
			last = at
		}
	}
	return out
}

func parseYAML(head []byte) (fields map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil { // hostile input finds corners of any parser
			fields, err = nil, fault.New(fault.Invalid, "the front matter is not valid YAML")
		}
	}()
	if bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head) {
		return nil, fault.New(fault.Invalid, "the front matter is not text")
	}
	file, err := parser.ParseBytes(head, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntax(err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil
	}
	var plain noReferences
	ast.Walk(&plain, file.Docs[0].Body)
	switch {
	case plain.found:
		return nil, fault.New(fault.Invalid, "the front matter must not use anchors or aliases")
	case plain.tag:
		return nil, syntax(errors.New("a value begins with an exclamation mark"))
	}
	if _, ok := file.Docs[0].Body.(*ast.MappingNode); !ok {
		return nil, nil
	}
	if err := yaml.NodeToValue(file.Docs[0].Body, &fields, yaml.AllowDuplicateMapKey()); err != nil {
		return nil, syntax(err)
	}
	return fields, nil
}

func syntax(err error) error {
	return fault.Wrap(errSyntax, fault.Invalid, "the front matter is not valid YAML: "+firstLine(err.Error()))
}

// noReferences refuses aliases, which could make a short text a long value, and tags, which would
// hide a text that begins with an exclamation mark.
type noReferences struct{ found, tag bool }

// Visit implements [ast.Visitor].
func (v *noReferences) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		v.found = true
	case *ast.TagNode:
		v.tag = true
	}
	if v.found {
		return nil
	}
	return v
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// instructions is the file of OpenHands' V0 with the instructions of a repository, at its root.
const instructions = ".openhands_instructions"

// thirdParty are files that other programs read, with the names of their skills.
var thirdParty = map[string]string{
	".cursorrules": "cursorrules",
	instructions:   "repo_legacy", // as OpenHands' V0 names it
	"agents.md":    "agents",
	"agent.md":     "agents",
	"claude.md":    "claude",
	"gemini.md":    "gemini",
}

// Parse makes a skill of a file. source is its path, with slashes, and decides
// the format: SKILL.md is AgentSkills (named like its directory, which strict
// demands), AGENTS.md and its like are taken whole, anything else is a skill
// with the name in the front matter, or name.
func Parse(source, name, text string, strict bool) (Skill, error) {
	if !utf8.ValidString(text) {
		return Skill{}, fault.New(fault.Invalid, "the file is not UTF-8 text")
	}
	base := strings.ToLower(path.Base(source))
	if known := thirdParty[base]; known != "" {
		return Skill{Name: known, Content: text, Source: &source, Version: "1.0.0"}, nil
	}
	fields, content, err := FrontMatter(text)
	if err != nil {
		return Skill{}, err
	}
	switch {
	case content == "" && len(fields) == 0:
		return Skill{}, fault.New(fault.Invalid, "the file is empty")
	case content == "":
		return Skill{}, fault.New(fault.Invalid, "there is no text after the front matter")
	}
	s := Skill{Name: name, Content: content, Source: &source, Version: "1.0.0"}
	directory := ""
	if base == "skill.md" {
		s.AgentSkills = true
		directory = path.Base(path.Dir(source))
		s.Name = directory
	}
	if given, ok := fields["name"]; ok {
		s.Name = scalar(given)
	}
	if s.AgentSkills && strict {
		if NameError(s.Name, directory) != nil {
			s.Name = plainName(s.Name)
		}
		if err := NameError(s.Name, plainName(directory)); err != nil {
			return Skill{}, err
		}
	}
	return s, s.fill(fields)
}

// letters are written for others that names may not have.
var letters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "à", "a", "á", "a", "â", "a", "ã", "a", "å", "a", "ç", "c",
	"è", "e", "é", "e", "ê", "e", "ë", "e", "ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "ø", "o",
	"ù", "u", "ú", "u", "û", "u", "ý", "y", "\u0308", "e", "\u0301", "", "\u0300", "", "\u0302", "")

// notInNames matches the characters between the words of a name.
var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// plainName writes a name with capitals, umlauts or spaces as names of skills are.
func plainName(name string) string {
	return strings.Trim(notInNames().ReplaceAllString(letters.Replace(strings.ToLower(name)), "-"), "-")
}

// fill takes the fields of the front matter.
func (s *Skill) fill(fields map[string]any) error {
	var wrong []error
	take := func(to **string, key string) {
		if v, ok := fields[key]; ok && v != nil {
			text := scalar(v)
			*to = &text
		}
	}
	take(&s.Description, "description")
	take(&s.License, "license")
	take(&s.Compatibility, "compatibility")
	if v := either(fields, "metadata", "metadata"); v != nil {
		m, ok := v.(map[string]any)
		if !ok {
			wrong = append(wrong, fault.New(fault.Invalid, "metadata must be a mapping"))
		}
		s.Metadata = map[string]string{}
		for k, v := range m {
			s.Metadata[k] = scalar(v)
		}
	}
	if v := either(fields, "allowed-tools", "allowed_tools"); v != nil {
		list, ok := texts(v, " ")
		if !ok {
			wrong = append(wrong, fault.New(fault.Invalid, "allowed-tools must be a text or a list"))
		}
		s.AllowedTools = list
	}
	if v := either(fields, "disable-model-invocation", "disable_model_invocation"); v != nil {
		s.DisableModelInvocation = truth(v)
	}
	if v := fields["mcp_tools"]; v != nil && !s.AgentSkills {
		raw, err := json.Marshal(v)
		if _, ok := v.(map[string]any); !ok || err != nil {
			wrong = append(wrong, fault.New(fault.Invalid, "mcp_tools must be a mapping"))
		} else {
			s.MCPTools = raw
		}
	}
	wrong = append(wrong, s.trigger(fields))
	s.settle()
	return errors.Join(wrong...)
}

// trigger decides when the skill is used: paths before inputs before triggers.
func (s *Skill) trigger(fields map[string]any) error {
	words := []string{}
	if v, ok := fields["triggers"]; ok && v != nil {
		list, ok := texts(v, ",")
		if !ok {
			return fault.New(fault.Invalid, "triggers must be a text or a list")
		}
		words = append(words, list...)
	}
	if v := fields["paths"]; v != nil {
		globs, ok := texts(v, ",")
		if !ok {
			return fault.New(fault.Invalid, "paths must be a text or a list")
		}
		if len(globs) > 0 {
			s.Trigger = &Trigger{Type: Path, Words: globs}
			return nil
		}
	}
	if v, ok := fields["inputs"]; ok {
		list, isList := v.([]any)
		if !isList && v != nil {
			return fault.New(fault.Invalid, "inputs must be a list")
		}
		for _, one := range list {
			m, ok := one.(map[string]any)
			if !ok || m["name"] == nil || m["description"] == nil {
				return fault.New(fault.Invalid, "each input needs a name and a description")
			}
			s.Inputs = append(s.Inputs, Input{Name: scalar(m["name"]), Description: scalar(m["description"])})
		}
		if own := "/" + s.Name; !slices.Contains(words, own) {
			words = append(words, own)
		}
		s.Trigger = &Trigger{Type: Task, Words: words}
		return nil
	}
	if len(words) > 0 {
		s.Trigger = &Trigger{Type: Keyword, Words: words}
	}
	return nil
}

func either(fields map[string]any, a, b string) any {
	if v, ok := fields[a]; ok {
		return v
	}
	return fields[b]
}

// scalar is the text of a YAML value.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

// item is the text of an item of a list of texts: one with a colon was read as a mapping.
func item(v any) string {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for key, value := range m {
			return strings.TrimSpace(key + ": " + scalar(value))
		}
	}
	return scalar(v)
}

// texts reads a list, or a text of several parts.
func texts(v any, separator string) ([]string, bool) {
	var parts []string
	switch v := v.(type) {
	case string:
		if separator == " " {
			return strings.Fields(v), true
		}
		parts = strings.Split(v, separator)
	case []any:
		for _, one := range v {
			parts = append(parts, item(one))
		}
	default:
		return nil, false
	}
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out, true
}

func truth(v any) bool {
	switch strings.ToLower(scalar(v)) {
	case "true", "yes", "on", "1", "y", "t":
		return true
	}
	return false
}
