package bash_test

import (
	"testing"
	"unicode/utf8"

	"github.com/deft-dev/deft/server/agentserver/bash"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	const r = "\uFFFD"
	for _, c := range []struct{ in, want string }{ // as Python's decode("utf-8", "replace")
		{"abc", "abc"},
		{"\xff\xfe", r + r},
		{"\xe2\x82A", r + "A"},
		{"\xe2\x82", r},
		{"\xf0\x9f\x98\x80", "😀"},
		{"\xf0\x9f\x98\xe2\x82\xac", r + "€"},
		{"\xed\xa0\x80", r + r + r},
		{"\xf0\x80\x80\x80", r + r + r + r},
		{"\xc0\xaf", r + r},
		{"\xef\xbf\xbd", r},
		{"a\x00b", "a\x00b"},
	} {
		whole := bash.Decode([]byte(c.in))
		if whole != c.want {
			t.Errorf("%q: got %q, want %q", c.in, whole, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xac\xff\xf0\x9f"), 2)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		whole := bash.Decode(in)
		if !utf8.ValidString(whole) || utf8.Valid(in) && whole != string(in) {
			t.Fatalf("%q became %q", in, whole)
		}
		if at < 0 || at > len(in) {
			return
		}
		if cut := bash.Decode(in[:at], in[at:]); cut != whole {
			t.Errorf("%q cut at %d: %q, whole %q", in, at, cut, whole)
		}
		single := make([][]byte, len(in))
		for i := range in {
			single[i] = in[i : i+1]
		}
		if bytewise := bash.Decode(single...); bytewise != whole {
			t.Errorf("%q by bytes: %q, whole %q", in, bytewise, whole)
		}
	})
}

func FuzzFileName(f *testing.F) {
	f.Add("20261121162818772038_BashCommand_ef2c2bc82aca44a6b2ac014ab16e00a8")
	f.Add("20261121162818774978_BashOutput_ef2c2bc82aca44a6b2ac014ab16e00a8_74653d8bb493487cbe04bffd127aa664")
	f.Fuzz(func(t *testing.T, name string) {
		if again, ok := bash.EntryOf(name); ok && again != name {
			t.Errorf("%q is read as %q", name, again)
		}
	})
}
