package historycache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/llm/internal/historycache"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	form := &historycache.Form{System: `"system":{"parts":[`, EndSystem: `]},`, Turns: `"contents":[`, Blocks: "parts"}
	for want, system := range map[string]int{
		`"contents":[{"role":"user","parts":[1,2]},{"role":"model","parts":[3]},{"role":"user","parts":[4]}]`:                          0,
		`"system":{"parts":[0]},"contents":[{"role":"user","parts":[1,2]},{"role":"model","parts":[3]},{"role":"user","parts":[4]}]`:   1,
		`"system":{"parts":[0,0]},"contents":[{"role":"user","parts":[1,2]},{"role":"model","parts":[3]},{"role":"user","parts":[4]}]`: 2,
	} {
		var w historycache.Turns
		var dst []byte
		for range system {
			dst, w = w.BeginSystem(dst, form)
			dst = append(dst, '0')
		}
		for i, role := range []string{"user", "user", "model", "user"} {
			dst, w = w.Begin(dst, form, role)
			dst = append(dst, byte('1'+i))
		}
		if diff := cmp.Diff(want, string(w.End(dst))); diff != "" {
			t.Errorf("%d blocks of the system (-want +got):\n%s", system, diff)
		}
	}
}
