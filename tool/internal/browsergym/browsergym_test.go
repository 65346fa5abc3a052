package browsergym_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/internal/browsergym"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := browsergym.Parse("```python\n# first\nclick('a12', button=\"middle\", modifiers=['Shift', \"Alt\"])\n" +
		"fill('1', \"it's\\n\\x41\\u00e9\"); scroll(-1.5, 200)\nselect_option('3', (\"red\",))\nnoop()\ntab_focus(2,)\nfill('4', '''two\nlines''', True, None)\n```\n")
	must.Succeed(t, err)
	want := []browsergym.Call{
		{Name: "click", Args: []any{"a12"}, Named: map[string]any{"button": "middle", "modifiers": []any{"Shift", "Alt"}}},
		{Name: "fill", Args: []any{"1", "it's\nAé"}},
		{Name: "scroll", Args: []any{-1.5, 200.0}},
		{Name: "select_option", Args: []any{"3", []any{"red"}}},
		{Name: "noop"},
		{Name: "tab_focus", Args: []any{2.0}},
		{Name: "fill", Args: []any{"4", "two\nlines", true, nil}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNotParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"import os": "only calls", "__import__('os').system('x')": "line 1", "click(os.environ)": "values are texts", "click('1'": "needs a comma",
		"click('1": "no closing quote", "click('a\nb')": "before its quote", "fill(f'x')": "values are texts", "click(1 + 2)": "needs a comma",
		"x = click('1')": "only calls", "noop()\nclick(": "line 2", "click('\\x4')": "is no character", "scroll(1e)": "no number",
		"click(" + strings.Repeat("[", 50): "too deeply", strings.Repeat("noop()\n", 200): "more than 100 calls",
	} {
		if _, err := browsergym.Parse(text); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("click('1', x=[1, 'a'])")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = browsergym.Parse(text) })
}
