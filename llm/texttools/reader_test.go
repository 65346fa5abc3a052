package texttools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/llm"
)

var someTools = []llm.Tool{
	{Name: "terminal", Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"},"reset":{"type":"boolean"}},"required":["command"]}`)},
	{Name: "edit", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"range":{"type":"array","items":{"type":"integer"}},"line":{"type":["integer","null"]},"any":{}},"required":["path","text"]}`)},
}

// heard is the output of a reader for an answer.
type heard struct {
	Text  string
	Calls []string // name and arguments
}

// read feeds pieces of at most size bytes and holds the deltas to the result.
func read(t testing.TB, answer string, size int, cut bool) heard {
	t.Helper()
	var text strings.Builder
	var deltas []string
	p := newReader(someTools, func(d llm.Delta) {
		text.WriteString(d.Text)
		if c := d.ToolCall; c != nil {
			for len(deltas) <= c.Index {
				deltas = append(deltas, "")
			}
			if c.Name != "" || c.ID != "" {
				deltas[c.Index] += c.Name + " "
			}
			deltas[c.Index] += c.Arguments
		}
	})
	for rest := answer; rest != ""; {
		n := min(size, len(rest))
		p.feed(rest[:n])
		rest = rest[n:]
	}
	p.end(cut)
	h := heard{Text: p.text.String()}
	for _, c := range p.calls {
		h.Calls = append(h.Calls, c.Name+" "+c.Arguments)
	}
	if h.Text != text.String() || !cmp.Equal(h.Calls, deltas) {
		t.Errorf("deltas say %q %q, the answer %+v", text.String(), deltas, h)
	}
	return h
}

var answers = map[string]struct {
	in   string
	cut  bool
	want heard
}{
	"text":            {in: "a < b, `x` and ```go\nf()\n```\n", want: heard{Text: "a < b, `x` and ```go\nf()\n```\n"}},
	"as told":         {in: "Look.\n\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>", want: heard{"Look.", []string{`terminal {"command":"ls"}`}}},
	"stopped":         {in: "<function=terminal>\n<parameter=command>ls</parameter>\n", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"stopped early":   {in: "<function=terminal><parameter=command>ls", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"cut":             {in: "<function=terminal><parameter=command>rm -rf /tmp/x", cut: true, want: heard{"", []string{`terminal {"command":"rm -rf /tmp/x`}}},
	"cut before":      {in: "a <function=termi", cut: true, want: heard{Text: "a <function=termi"}},
	"many lines":      {in: "<function=edit><parameter=path>a</parameter>\n<parameter=text>\n\tx\n\n</parameter></function>", want: heard{"", []string{`edit {"path":"a","text":"\tx\n"}`}}},
	"types":           {in: "<function=edit><parameter=path>1</parameter><parameter=range>[1, 2]</parameter><parameter=line>7</parameter><parameter=any>7</parameter></function>", want: heard{"", []string{`edit {"path":"1","range":[1, 2],"line":7,"any":"7"}`}}},
	"types that fail": {in: "<function=terminal><parameter=command>x</parameter><parameter=timeout>soon</parameter><parameter=reset>True</parameter></function>", want: heard{"", []string{`terminal {"command":"x","timeout":"soon","reset":true}`}}},
	"null":            {in: "<function=edit><parameter=line>None</parameter></function>", want: heard{"", []string{`edit {"line":null}`}}},
	"prose around":    {in: "One.\n<function=terminal><parameter=command>a</parameter></function>\nTwo.\n<function=terminal><parameter=command>b</parameter></function>\n Three. ", want: heard{"One.\n\nTwo.\n\nThree. ", []string{`terminal {"command":"a"}`, `terminal {"command":"b"}`}}},
	"no end between":  {in: "<function=terminal><parameter=command>a</parameter>\n<function=terminal><parameter=command>b</parameter></function>", want: heard{"", []string{`terminal {"command":"a"}`, `terminal {"command":"b"}`}}},
	"no value end":    {in: "<function=edit><parameter=path>a\n<parameter=text>b</parameter></function>", want: heard{"", []string{`edit {"path":"a","text":"b"}`}}},
	"tags in a value": {in: "<function=edit><parameter=path>a</parameter><parameter=text>use <parameter=x>1</parameter> so</parameter></function>", want: heard{"", []string{`edit {"path":"a","text":"use <parameter=x>1</parameter> so"}`}}},
	"twice":           {in: "<function=terminal><parameter=command>a</parameter><parameter=command>b</parameter></function>", want: heard{"", []string{`terminal {"command":"a"}`}}},
	"no parameter":    {in: "<function=terminal>ls -la</function>", want: heard{"", []string{`terminal {"command":"ls -la"}`}}},
	"nothing":         {in: "<function=edit></function>", want: heard{"", []string{`edit {}`}}},
	"JSON inside":     {in: "<function=terminal>{\"command\": \"ls\"}</function>", want: heard{"", []string{`terminal {"command": "ls"}`}}},
	"quoted names":    {in: "<function=\"terminal\"><parameter name='command'>ls</parameter></function>", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"invoke":          {in: "<function_calls>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"wrapped":         {in: "<tool_call>\n<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"JSON in a tag":   {in: "ok <tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"echo }\\\"\"}}\n</tool_call>", want: heard{"ok", []string{`terminal {"command": "echo }\""}`}}},
	"half in a tag":   {in: "<tool_call>{\"name\": \"terminal\", \"arguments\": {\"command\": \"ec", cut: true, want: heard{"", []string{`terminal {"command": "ec`}}},
	"JSON in a fence": {in: "```json\n{\"name\":\"terminal\",\"parameters\":{\"command\":\"ls\"}}\n```\n", want: heard{"", []string{`terminal {"command":"ls"}`}}},
	"other fence":     {in: "So:\n```json\n{\"name\":\"deft\",\"args\":{}}\n```\nSee?", want: heard{Text: "So:\n```json\n{\"name\":\"deft\",\"args\":{}}\n```\nSee?"}},
	"unknown name":    {in: "<function=bash><parameter=command>ls</parameter><parameter=n>1</parameter></function>", want: heard{"", []string{`bash {"command":"ls","n":"1"}`}}},
	"XML escapes":     {in: "<function=terminal><parameter=command>a &lt; b &amp;&amp; c &gt; &quot;d&quot;</parameter></function>", want: heard{"", []string{`terminal {"command":"a < b && c > \"d\""}`}}},
	"HTML is kept":    {in: "<function=terminal><parameter=command><b>a &lt; b</b></parameter></function>", want: heard{"", []string{`terminal {"command":"<b>a &lt; b</b>"}`}}},
	"& is kept":       {in: "<function=terminal><parameter=command>Tom &amp; Jerry</parameter></function>", want: heard{"", []string{`terminal {"command":"Tom &amp; Jerry"}`}}},
	"CDATA":           {in: "<function=terminal><parameter=command><![CDATA[a < b]]></parameter></function>", want: heard{"", []string{`terminal {"command":"a < b"}`}}},
	"made up":         {in: "<function=terminal><parameter=command>a</parameter></function>\n\nEXECUTION RESULT of [terminal]:\nok\n<function=terminal><parameter=command>b</parameter></function>", want: heard{"", []string{`terminal {"command":"a"}`}}},
	"made up inside":  {in: "<function=terminal><parameter=command>a</parameter>\nEXECUTION RESULT of [terminal]: ok", want: heard{"", []string{`terminal {"command":"a"}`}}},
	"no head":         {in: "I write <function=\nx> here and <function=> there <invoke name=", want: heard{Text: "I write <function=\nx> here and <function=> there <invoke name="}},
	"braces":          {in: "<function=terminal>{ ls; }</function>", want: heard{"", []string{`terminal {"command":"{ ls; }"}`}}},
}

func TestReader(t *testing.T) {
	t.Parallel()
	for name, tt := range answers {
		for _, size := range []int{1, 3, 7, 1 << 20} {
			if diff := cmp.Diff(tt.want, read(t, tt.in, size, tt.cut)); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", name, size, diff)
			}
		}
	}
}

// TestArgumentStream checks the deltas of a call's arguments.
func TestArgumentStream(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ pieces, want []string }{
		"a text":         {[]string{"<function=terminal>\n<parameter=command>\ngo ", "test ./...", " && x <y", "\n</parameter>\n</function"}, []string{`{"command":"go`, ` test ./...`, ` && x <y`, `"}`}},
		"escapes":        {[]string{"<function=terminal><parameter=command>a &lt;", " b", "</parameter></function>"}, []string{`{"command":"a`, ` < b"}`}},
		"typed":          {[]string{"<function=edit><parameter=path>a</parameter>", "<parameter=line>1", "2</parameter><parameter=text>", "x", "</parameter></function>"}, []string{`{"path":"a`, `","line":`, `12,"text":"`, `x`, `"}`}},
		"half a letter":  {[]string{"<function=terminal><parameter=command>\xc3", "\xa9", " ", "\xc3\xa9 ", "</parameter></function>"}, []string{`{"command":"`, `é`, ` é`, ` "}`}},
		"a tag in it":    {[]string{"<function=edit><parameter=text>a <par", "ent> </parameter> b", "</parameter></function>"}, []string{`{"text":"a`, ` <parent>`, ` </parameter> b"}`}},
		"JSON":           {[]string{`<function=edit>{"path"`, `:"x"}</function>`}, []string{`{"path":"x"}`}},
		"unlike as told": {[]string{"<function=terminal>ls", " -la</function>"}, []string{`{"command":"ls -la"}`}},
	} {
		var got []string
		p := newReader(someTools, func(d llm.Delta) {
			if d.ToolCall != nil && d.ToolCall.Arguments != "" {
				got = append(got, d.ToolCall.Arguments)
			}
		})
		for _, piece := range tt.pieces {
			p.feed(piece)
		}
		p.end(false)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRoundTrip encodes calls as in a history and reads them again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{}`, `{"command":"ls"}`, `{"command":"a\nb\n\n","timeout":1.5,"reset":true}`, `{"command":" x "}`,
		`{"command":"say \"<b>\" && 'x' > y"}`, `{"command":"\n"}`,
	} {
		var b strings.Builder
		writeCall(&b, "terminal", args)
		if diff := cmp.Diff(heard{Calls: []string{"terminal " + args}}, read(t, b.String(), 5, false)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// FuzzReader checks that the result does not depend on how the answer is split,
// and that calls are JSON unless the answer is cut off.
func FuzzReader(f *testing.F) {
	for _, tt := range answers {
		f.Add(tt.in, uint8(3), tt.cut)
	}
	for _, value := range []string{
		"\n<![CDATA[x]]>", "a &amp;&amp; b", "&lt;&amp;", "a & &lt;", " \u00a0\xe2\x80", "\n\n", "</parameter> x", "<parameter=command>", "</functio", "\n<parameter=timeout>1",
	} {
		f.Add("<function=terminal>\n<parameter=command>"+value+"</parameter>\n<parameter=timeout> 1 </parameter><parameter=reset>"+value+"</parameter>", uint8(1), true)
	}
	f.Add("```{\"name\":\"terminal\",\"arguments\":{}}", uint8(2), true)
	f.Fuzz(func(t *testing.T, in string, size uint8, cut bool) {
		whole := read(t, in, 1<<30, cut)
		if diff := cmp.Diff(whole, read(t, in, int(size)+1, cut)); diff != "" {
			t.Errorf("in pieces of %d (-whole +pieces):\n%s", int(size)+1, diff)
		}
		for _, c := range whole.Calls {
			args := c[strings.Index(c, " {")+1:] // a name may hold spaces
			if !cut && !strings.HasPrefix(args, `{"`) && !json.Valid([]byte(args)) && !strings.Contains(in, `"name"`) {
				t.Errorf("arguments %q", c)
			}
		}
		if strings.Contains(whole.Text, "<function=terminal>") {
			t.Errorf("call markup in the text %q", whole.Text)
		}
	})
}
