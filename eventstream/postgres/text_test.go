package postgres

import "testing"

// FuzzText stores any text as one that PostgreSQL takes, and gets it back.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", `\`, `\"x"`, "nul\x00", "\xff\xfe", "é 𝄞 �", `C:\dir`} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		stored := encodeText(s)
		if !storable(stored) {
			t.Fatalf("%q is stored as %q", s, stored)
		}
		if back, err := decodeText(stored); err != nil || back != s {
			t.Fatalf("%q is stored as %q, which gives %q, %v", s, stored, back, err)
		}
		if raw, err := decodeBytes([]byte(stored)); err != nil || string(raw) != s {
			t.Fatalf("%q is stored as %q, which gives %q, %v", s, stored, raw, err)
		}
		if (encodeText(other) == stored) != (other == s) {
			t.Fatalf("%q and %q are both stored as %q", s, other, stored)
		}
		_, _ = decodeText(other) // rows of others may be an error, but never a crash
	})
}
