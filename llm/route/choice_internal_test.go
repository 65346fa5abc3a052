package route

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm/catalog"
)

// TestUsual takes a model that the catalogue knows, with a price and tools, by the key alone of
// any provider whose address is known.
func TestUsual(t *testing.T) {
	t.Parallel()
	tried := 0
	for prefix, p := range byPrefix {
		if p.url == "" || strings.HasPrefix(p.url, "http://localhost:") {
			continue
		}
		for _, name := range p.keys {
			if name == proxyKey {
				continue
			}
			tried++
			model, variable := Usual(func(v string) string {
				if v == name {
					return "key"
				}
				return ""
			})
			e, known := catalog.Default().Lookup(model)
			if variable != name || !known || !e.Tools || e.Price == nil || e.Price.Input == 0 {
				t.Errorf("%s of %s: %s by %s, known %v: %+v", name, prefix, model, variable, known, e)
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d keys", tried)
	}
	for _, set := range []string{"", proxyKey} {
		model, _ := Usual(func(v string) string {
			if v == set {
				return "key"
			}
			return ""
		})
		if model != "" {
			t.Errorf("%s by %q", model, set)
		}
	}
}
