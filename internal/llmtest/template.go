package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// TemplateData is the data of templates in a reply: {{.LastUser}}, {{.Call}}
// and so on. In addition to the functions of text/template there are json, find
// (first match of a regular expression, or its first group) and contains.
type TemplateData struct{ *Request }

// Header returns a header of the request; credentials read "[redacted]".
func (d TemplateData) Header(name string) string { return d.Headers.Get(name) }

var templateFuncs = template.FuncMap{
	"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
	"contains": func(sub, s string) bool { return strings.Contains(s, sub) },
	"find": func(expr, s string) (string, error) {
		re, err := regexp.Compile(expr)
		if err != nil {
			return "", err
		}
		m := re.FindStringSubmatch(s)
		switch len(m) {
		case 0:
			return "", nil
		case 1:
			return m[0], nil
		default:
			return m[1], nil
		}
	},
}

// textTemplate is a string that may be a template.
type textTemplate struct {
	constant string
	tmpl     *template.Template // nil: constant
}

func compileText(s string) (*textTemplate, error) {
	if !strings.Contains(s, "{{") {
		return &textTemplate{constant: s}, nil
	}
	t, err := template.New("reply").Option("missingkey=error").Funcs(templateFuncs).Parse(s)
	if err != nil {
		return nil, err
	}
	return &textTemplate{tmpl: t}, nil
}

func (t *textTemplate) render(req *Request) (string, error) {
	if t.tmpl == nil {
		return t.constant, nil
	}
	var b strings.Builder
	if err := t.tmpl.Execute(&b, TemplateData{req}); err != nil {
		return "", err
	}
	return b.String(), nil
}

// compileTree replaces the templates in v's strings by *textTemplate. dynamic
// is false if there are none.
func compileTree(v any) (out any, dynamic bool, err error) {
	switch v := v.(type) {
	case string:
		t, err := compileText(v)
		if err != nil {
			return nil, false, err
		}
		return t, t.tmpl != nil, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			c, d, err := compileTree(e)
			if err != nil {
				return nil, false, fmt.Errorf("%s: %w", k, err)
			}
			m[k], dynamic = c, dynamic || d
		}
		return m, dynamic, nil
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			c, d, err := compileTree(e)
			if err != nil {
				return nil, false, fmt.Errorf("[%d]: %w", i, err)
			}
			l[i], dynamic = c, dynamic || d
		}
		return l, dynamic, nil
	}
	return v, false, nil
}

// renderTree is the counterpart of compileTree.
func renderTree(v any, req *Request) (any, error) {
	switch v := v.(type) {
	case *textTemplate:
		return v.render(req)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			r, err := renderTree(e, req)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			m[k] = r
		}
		return m, nil
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			r, err := renderTree(e, req)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			l[i] = r
		}
		return l, nil
	}
	return v, nil
}
