package arguments_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/session/internal/arguments"
)

// texts feeds pieces and joins the parts of each argument.
func texts(pieces ...string) map[string]string {
	var r arguments.Reader
	got := map[string]string{}
	for _, piece := range pieces {
		r.Feed(piece, func(field, part string) { got[field] += part })
	}
	return got
}

func TestReader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want map[string]string
	}{
		"texts":            {`{"command": "create","path":"/a.go" , "file_text":"one\ntwo \"x\" \\ \/"}`, map[string]string{"command": "create", "path": "/a.go", "file_text": "one\ntwo \"x\" \\ /"}},
		"unfinished":       {`{"path":"/a.go","file_text":"pack`, map[string]string{"path": "/a.go", "file_text": "pack"}},
		"other values":     {`{"n": 12, "list":["x,\"]",{"a":1}],"t":true,"path":"p","o":{"path":"no"},"z":null}`, map[string]string{"path": "p"}},
		"a pair":           {`{"a":"\ud83d\ude00é\u00e9"}`, map[string]string{"a": "😀éé"}},
		"half of a pair":   {`{"a":"x\ud83dy\ude00"}`, map[string]string{"a": "x\ufffdy\ufffd"}},
		"no object":        {`["a"]`, map[string]string{}},
		"a bad digit":      {`{"a":"b\u00zz","c":"d"}`, map[string]string{"a": "b"}},
		"a bad mark":       {`{"a" "b"}`, map[string]string{}},
		"behind the end":   {`{"a":1}{"b":"c"}`, map[string]string{}},
		"a name too long":  {`{"` + strings.Repeat("x", 200) + `":"v"}`, map[string]string{}},
		"nothing":          {``, map[string]string{}},
		"an empty text":    {`{"a":"","b":"c"}`, map[string]string{"b": "c"}},
		"two of one name":  {`{"a":"b","a":"c"}`, map[string]string{"a": "bc"}},
		"an empty object":  {`{}`, map[string]string{}},
		"a text, then end": {`{"a":"b"}`, map[string]string{"a": "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, texts(test.in)); diff != "" {
				t.Errorf("in one piece (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, texts(strings.Split(test.in, "")...)); diff != "" {
				t.Errorf("by the character (-want +got):\n%s", diff)
			}
		})
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	var r arguments.Reader
	ignore := func(string, string) {}
	for _, step := range []struct{ piece, want string }{{`{"path`, ""}, {`":"/a`, "path"}, {`"`, ""}, {`,"file_text":"`, "file_text"}, {`x"}`, ""}} {
		if r.Feed(step.piece, ignore); r.Field() != step.want {
			t.Errorf("after %q the field is %q, want %q", step.piece, r.Field(), step.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(`{"a":"b\ud83d\ude00","n":[1,{"x":"y"}],"c":"d"}`, 3)
	f.Add(`{"a":"b`, 1)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		cut = max(0, min(cut, len(in)))
		got := texts(in[:cut], in[cut:])
		var want map[string]any
		if !utf8.ValidString(in) || strings.Contains(in, `\`) || json.Unmarshal([]byte(in), &want) != nil {
			return
		}
		for name, text := range want {
			s, ok := text.(string)
			if ok && len(name) <= 100 && strings.Count(in, `"`+name+`"`) == 1 && got[name] != s {
				t.Errorf("%q is %q, want %q", name, got[name], s)
			}
		}
	})
}
