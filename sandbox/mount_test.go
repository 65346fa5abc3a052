package sandbox_test

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestMount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sandbox.Mount{
		"/a:/b":            {Source: "/a", Target: "/b", Mode: "rw"},
		"/a:/b:ro":         {Source: "/a", Target: "/b", Mode: "ro"},
		"/a/x y:/b/:rw":    {Source: "/a/x y", Target: "/b/", Mode: "rw"},
		"/a:/b:overlay":    {Source: "/a", Target: "/b", Mode: "overlay"},
		"cache.1:/c":       {Source: "cache.1", Target: "/c", Mode: "rw"},
		"":                 {},
		"/a":               {},
		"/a:b":             {},
		"/a:/":             {},
		"/a:/b/../c":       {},
		"a/b:/c":           {},
		"..:/c":            {},
		":/c":              {},
		"/a:/b:rx":         {},
		"/a:/b:ro:z":       {},
		"cache:/c:overlay": {},
		"/a,b:/c":          {},
		"/a\\:/c":          {},
	} {
		var got sandbox.Mount
		err := got.UnmarshalText([]byte(text))
		if want == (sandbox.Mount{}) {
			if !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
				t.Errorf("%q: %+v, %v, want an error of kind invalid with a hint", text, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// FuzzMount: a parsed mount reads the same from its text.
func FuzzMount(f *testing.F) {
	for _, s := range []string{"/a:/b", "/a:/b:ro", "v:/c:rw", ":::", "/:/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m, again sandbox.Mount
		if m.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(m.String())); err != nil || again != m {
			t.Errorf("%q: %+v, %+v, %v", text, m, again, err)
		}
	})
}
