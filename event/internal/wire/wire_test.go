package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/event/internal/wire"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

var documents = []string{
	`null`, `true`, ` false `, `0`, `-0.5e+10`, `1E-7`, `""`, `"\u00e9\ud83d\ude00\n"`, `[]`, `[1,[2,{"a":[]}],"]"]`,
	`{}`, `{"a":{"b":"}\""},"c":null}`, "\t{ \"a\" : [ 1 , 2 ] }\r\n", `"12345678\\"`, `"1234567"`,
	`nul`, `01`, `1.`, `.5`, `1e`, `-`, `+1`, `"`, `"\x"`, `"\u12g4"`, `"\u12`, "\"\n\"", `[1,]`, `[,]`, `{,}`, `{"a"}`, `{"a":}`,
	`{"a":1,}`, `{a:1}`, `1 2`, `[`, `{`, `[1}`, ``, ` `, "\"\xff\"", `"\`, `tru`, `{"a":1 "b":2}`,
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
}

// Check agrees with encoding/json on valid JSON, and wants UTF-8 too.
func FuzzCheck(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := json.Valid(b) && utf8.Valid(b)
		if err := wire.Check(b); (err == nil) != want {
			t.Fatalf("Check says %v, encoding/json says %v: %q", err, want, b)
		}
		if !want {
			return
		}
		members, err := wire.Members(b, nil)
		var ref map[string]json.RawMessage
		if json.Unmarshal(b, &ref) != nil || ref == nil {
			if err == nil {
				t.Fatalf("members of what is no object: %q", b)
			}
			return
		}
		got := make(map[string]json.RawMessage)
		for _, m := range members {
			got[string(m.Name)] = m.Value
		}
		if diff := cmp.Diff(ref, got); diff != "" {
			t.Fatalf("(-encoding/json +ours):\n%s", diff)
		}
	})
}

// Strings are read and written as encoding/json does, its escaping of markup
// aside.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "1234567\n", "\x00\x1f\x7f\"\\", "é漢😀\u2028<&>", "\xff\xc3(", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := wire.Append(nil, s)
		must.Succeed(t, err)
		var ref string
		if err := json.Unmarshal(out, &ref); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && ref != want {
			t.Fatalf("%q became %q", s, ref)
		}
		std, err := json.Marshal(s)
		must.Succeed(t, err)
		var fromStd, wantStd string
		must.Succeed(t, wire.Decode(std, &fromStd))
		must.Succeed(t, json.Unmarshal(std, &wantStd))
		if fromStd != wantStd || ref != wantStd {
			t.Fatalf("%q: decoded %q and %q, encoding/json %q", s, fromStd, ref, wantStd)
		}
	})
}

type inner struct {
	A string `json:"a"`
	B int    `json:"b,omitempty"`
}

type outer struct {
	inner
	Skipped  int `json:"-"`
	hidden   int
	NoTag    bool
	Float    float64        `json:"float"`
	Small    float32        `json:"small"`
	Unsigned uint8          `json:"unsigned"`
	Bytes    []byte         `json:"bytes"`
	Array    [2]int         `json:"array"`
	Time     time.Time      `json:"time,omitzero"`
	Any      any            `json:"any"`
	Map      map[string]int `json:"map"`
	IntKeys  map[int]string `json:"int_keys,omitempty"`
	Ptr      *inner         `json:"ptr"`
	List     []inner        `json:"list,omitzero"`
	Number   json.Number    `json:"number"`
	A        string         `json:"a"` // shadows inner.A
}

type quoted struct {
	N int `json:"n,string"`
}

type embedsPointer struct {
	*inner
	C int `json:"c"`
}

// Types outside the vocabulary are written and read as encoding/json does.
func TestLikeStandard(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&outer{Number: "1"},
		&outer{inner: inner{B: 1}, hidden: 1, NoTag: true, Float: 1e21, Small: 0.1, Unsigned: 255, Bytes: []byte{1, 2}, Array: [2]int{1, 2},
			Time: time.Date(2026, 11, 21, 0, 0, 0, 5, time.UTC), Any: []any{1.5, "x", nil}, Map: map[string]int{"b": 1, "a": 2},
			IntKeys: map[int]string{2: "b", 1: "a"}, Ptr: &inner{}, List: []inner{}, Number: "15e3", A: "a"},
		&quoted{5},
		&embedsPointer{inner: &inner{A: "x"}, C: 1},
		&embedsPointer{},
	} {
		want, err := json.Marshal(v)
		must.Succeed(t, err)
		got, err := wire.Append(nil, v)
		must.Succeed(t, err)
		var a, b any
		if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("%T\ngot  %s\nwant %s", v, got, want)
		}
	}
}

func TestDecodeLikeStandard(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"a":"x","b":3,"NoTag":true,"float":-1.5e3,"small":0.1,"unsigned":200,"bytes":"AQI=","array":[1,2],
		"time":"2026-11-21T00:00:00.000000005Z","any":{"k":[1,"x",null]},"map":{"a":1},"int_keys":{"1":"a"},
		"ptr":{"a":"y"},"list":[{"a":"1"},{"b":2},null],"number":1e400,"unknown":{"deep":[[]]},"-":1}`)
	var want, got outer
	must.Succeed(t, json.Unmarshal(raw, &want))
	must.Succeed(t, wire.Check(raw))
	must.Succeed(t, wire.Decode(raw, &got))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{})); diff != "" {
		t.Errorf("(-encoding/json +ours):\n%s", diff)
	}
}

func TestDecodeMismatch(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"a":1}`, `{"b":"1"}`, `{"b":1.5}`, `{"NoTag":1}`, `{"float":"x"}`, `{"map":[]}`, `{"map":{"a":"x"}}`, `{"list":{}}`,
		`{"list":[1]}`, `{"ptr":[]}`, `[]`, `"x"`, `{"unsigned":256}`, `{"time":1}`, `{"float":1e999}`,
	} {
		var v outer
		if err := wire.Decode([]byte(raw), &v); err == nil {
			t.Errorf("%s decodes to %+v", raw, v)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	for _, v := range []any{math.NaN(), json.RawMessage(`{`), []json.RawMessage{json.RawMessage("\"\xff\"")}, make(chan int)} {
		if out, err := wire.Append(nil, v); err == nil {
			t.Errorf("%T encodes to %s", v, out)
		}
	}
}

func TestRawOnOneLine(t *testing.T) {
	t.Parallel()
	out, err := wire.Append([]byte("x"), json.RawMessage("{\n  \"a\": \"\\n <b>\"\n}"))
	must.Succeed(t, err)
	if want := `x{"a":"\n <b>"}`; !bytes.Equal(out, []byte(want)) {
		t.Errorf("got %s, want %s", out, want)
	}
}
