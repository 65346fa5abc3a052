package console

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONWriter(t *testing.T) {
	t.Parallel()
	const text = "ä \u009b31m \u200b\u200c\u200d \u202e \U000E0041 😀 \ufeff"
	raw := []byte(`{"a":"` + text + `"}`)
	var whole, pieces strings.Builder
	if _, err := NewJSONWriter(&whole).Write(raw); err != nil {
		t.Fatal(err)
	}
	w := NewJSONWriter(&pieces)
	for i := range raw {
		if n, err := w.Write(raw[i : i+1]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	const want = `{"a":"ä \u009b31m \u200b\u200c\u200d \u202e \udb40\udc41 😀 \ufeff"}`
	if whole.String() != want || pieces.String() != want {
		t.Errorf("written %s\nin pieces %s\nwant %s", &whole, &pieces, want)
	}
	var back struct{ A string }
	if err := json.Unmarshal([]byte(whole.String()), &back); err != nil || back.A != text {
		t.Errorf("reads as %q, %v", back.A, err)
	}
	if _, err := w.Write([]byte("\xff\xc3")); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimPrefix(pieces.String(), want); got != `\ufffd` {
		t.Errorf("a bad byte was written as %q", got)
	}
}

func TestInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, 0x3164, 0x2800, 0x80, 0x9B, 0x9F, 0x7F, 0x1B, 0x202E, 0x2066, 0x206A,
		0xFE00, 0xFE0F, 0xE0041, 0xE0100, 0x180E, 0x17B4, 0xFFF9, 0x1D173, 0x115F, 0xFFA0, 0x034F, 0x061C,
	} {
		for _, before := range []string{"a", "é", "б", ""} {
			if got := Line(before + string(r) + "b"); got != before+"\uFFFDb" {
				t.Errorf("U+%04X after %q is shown as %q", r, before, got)
			}
		}
	}
	for _, s := range []string{"👩\u200d💻", "❤\ufe0f\u200d🔥", "نامه\u200cای", "क्\u200dष", "1\ufe0f⃣", "日本", "naïve"} {
		if got := Line(s); got != s {
			t.Errorf("%q is shown as %q", s, got)
		}
	}
}
